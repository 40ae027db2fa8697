"""A server of S3's protocol on this machine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pyarrow import fs

from tests.contract.buckets import FolderOf


@pytest.fixture(scope="module")
def new_folder() -> Iterator[FolderOf]:
    """The URI of a folder in a bucket, another one at each call."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415  # takes long to load

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    file_system, _ = fs.FileSystem.from_uri(f"s3://key:secret@bucket?{options}")
    file_system.create_dir("bucket")
    numbers = itertools.count()
    yield lambda: f"s3://key:secret@bucket/{next(numbers)}/checkpoints?{options}"
    server.stop()
