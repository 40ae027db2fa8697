"""The folder of a Delta table as a file system of Arrow.

`deltalake` has one too, but that holds Python's lock while it writes, and with it the process and all its slots, for as
long as the store takes to answer. So only its commits are left to it, and files are written by Arrow where it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyarrow import fs

from headgate.connectors.delta.library import DeltaStorageHandler

_S3_SCHEMES: Final = ("s3", "s3a")
_S3_NAMES: Final = {
    "access_key_id": "access_key",
    "secret_access_key": "secret_key",
    "session_token": "session_token",
    "token": "session_token",
    "default_region": "region",
    "region": "region",
    "endpoint": "endpoint_override",
    "endpoint_url": "endpoint_override",
}


def table_folder(uri: str, storage_options: Mapping[str, str]) -> fs.FileSystem:
    """Return the file system whose root is the table's folder, an absolute path or a URI. Does not connect."""
    scheme, separator, path = uri.partition("://")
    if not separator:
        return fs.SubTreeFileSystem(uri, fs.LocalFileSystem())
    if scheme in _S3_SCHEMES:
        return fs.SubTreeFileSystem(path, fs.S3FileSystem(**_s3_arguments(storage_options)))
    return fs.PyFileSystem(DeltaStorageHandler(uri, dict(storage_options)))


def _s3_arguments(storage_options: Mapping[str, str]) -> dict[str, Any]:
    """Return what deltalake calls by the names of environment variables by Arrow's names."""
    options = {name.lower().removeprefix("aws_"): value for name, value in storage_options.items()}
    arguments = {_S3_NAMES[name]: value for name, value in options.items() if name in _S3_NAMES}
    scheme, separator, host = arguments.get("endpoint_override", "").partition("://")
    if separator:
        arguments |= {"scheme": scheme, "endpoint_override": host.rstrip("/")}
    return arguments
