"""A Delta table on S3: the server runs in this process, so a call that held Python's lock would hang."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from deltalake import DeltaTable
from pyarrow import fs

from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.delta import DeltaSink
from headgate.connectors.delta.table import table_folder
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError
from headgate.ids import CheckpointId
from tests.delta.tables import JOB, SCHEMA, Driver, rows_of
from tests.delta.test_writer import CONTEXT, STRANGE
from tests.unit.datastream.environments import environment

pytestmark = pytest.mark.slow

OPTIONS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
NewTable = Callable[[], tuple[str, dict[str, str]]]


@pytest.fixture(scope="module")
def new_table() -> Iterator[NewTable]:
    """Gives the URI and the storage options of a table in a bucket that is not there yet, another at each call."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415  # takes long to load

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    query = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    fs.FileSystem.from_uri(f"s3://key:secret@bucket?{query}")[0].create_dir("bucket")
    numbers = itertools.count()
    yield lambda: (f"s3://bucket/tables/{next(numbers)}", {**OPTIONS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"})
    server.stop()


@pytest.mark.parametrize("partition_by", [[], ["word"]])
def test_a_job_writes_each_record_once(new_table: NewTable, partition_by: list[str]) -> None:
    uri, options = new_table()
    env = environment(execution__checkpointing__interval="50 ms").set_parallelism(2)
    numbers = env.from_source(DataGeneratorSource(lambda index: index, 100, 400.0), None, "numbers")
    worded = numbers.map(lambda number: (number, STRANGE[number % len(STRANGE)]))
    worded.sink_to(DeltaSink(f"{uri}/", SCHEMA, partition_by=partition_by, storage_options=options))
    env.execute()
    expected = [{"number": number, "word": STRANGE[number % len(STRANGE)]} for number in range(100)]
    assert rows_of(uri, storage_options=options) == expected


def test_of_drivers_that_commit_the_same_at_once_one_does(new_table: NewTable) -> None:
    uri, options = new_table()
    rounds, barrier = 5, threading.Barrier(3)
    drivers = [Driver(sink=DeltaSink(uri, SCHEMA, storage_options=options)) for _ in range(3)]
    drivers[0].sink.prepare(JOB)
    prepared = [drivers[0].prepared(number, [(number, "a")]) for number in range(1, rounds + 1)]

    def commit_all(one: Driver) -> None:
        for checkpoint_id, files in enumerate(prepared, start=1):
            barrier.wait(120.0)
            one.commit(checkpoint_id, files)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(commit_all, drivers))
    assert [row["number"] for row in rows_of(uri, storage_options=options)] == list(range(1, rounds + 1))
    assert DeltaTable(uri, storage_options=options).version() == rounds


@pytest.mark.soak
def test_a_large_file_is_uploaded_in_parts(new_table: NewTable) -> None:
    uri, options = new_table()
    sink = DeltaSink(uri, SCHEMA, storage_options=options)
    sink.prepare(JOB)
    writer = sink.writer(CONTEXT)
    for first in range(0, 1_200_000, 100_000):
        writer.write([(number, str(number * 7919)) for number in range(first, first + 100_000)])
    [file] = writer.prepare_commit(CheckpointId(1))
    assert file.size_bytes > 10 << 20
    Driver(sink=sink).commit(1, [file])
    assert len(rows_of(uri, storage_options=options)) == 1_200_000


def test_a_bucket_that_is_not_there_is_named_and_no_secret(new_table: NewTable) -> None:
    uri, options = new_table()
    sink = DeltaSink(uri.replace("bucket", "nowhere"), SCHEMA, storage_options=options)
    with pytest.raises(SinkError, match=r"'s3://nowhere/tables/\d+'") as caught:
        sink.prepare(JOB)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_gone_is_named(new_table: NewTable) -> None:
    uri, options = new_table()
    driver = Driver(sink=DeltaSink(uri, SCHEMA, storage_options=options))
    driver.sink.prepare(JOB)
    writer = driver.sink.writer(CONTEXT)
    writer.write([(1, "a")])
    [file] = writer.prepare_commit(CheckpointId(1))
    table_folder(uri, options).delete_file(file.path)
    with pytest.raises(CommitLostError, match=f"{file.path}.* is gone"):
        driver.commit(1, [file])
