"""Checkpoint storage on an object store: a server of S3's protocol on this machine."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.store import CheckpointStore
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.errors import StorageError
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.ids import JobId
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.contracts.store import STORE_CHECKS
from headgate.types.typeinfo import Types
from tests.contract.buckets import FolderOf
from tests.unit.datastream.environments import environment

pytestmark = pytest.mark.slow

JOB = JobId("cd61")
RECORDS, KEYS = 200, 5
FAILED: list[int] = []


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_store(new_folder: FolderOf, check: Callable[[CheckpointStore], None]) -> None:
    check(FileSystemStore.open(new_folder(), JOB))


def test_the_folders_of_two_jobs_in_one_bucket_are_apart(new_folder: FolderOf) -> None:
    folder = new_folder()
    one, other = (FileSystemStore.open(folder, JobId(job)) for job in ("cd61", "cd61a"))
    for store in (one, other):
        store.write("chk-1/_metadata", [b"x"])
    one.delete_folder("chk-1")
    assert one.list_files("") == []
    assert other.list_files("") == ["chk-1/_metadata"]


def test_errors_name_the_place_and_never_the_key(new_folder: FolderOf) -> None:
    store = FileSystemStore.open(new_folder().replace("@bucket", "@nowhere"), JOB)
    with pytest.raises(StorageError, match=r"s3://nowhere/") as caught:
        store.write("chk-1/a", [b"x"])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "location",
    [
        "s3://key:secret@bucket/x?no_such_parameter=1",
        "s3://key:secret/with/slashes@bucket/x",
        "s3://key:secret@bucket with spaces/x?endpoint_override=http://minio",
        "s4://key:secret@bucket/x",
    ],
)
def test_a_storage_that_cannot_be_opened_is_named_without_its_password(location: str) -> None:
    with pytest.raises(StorageError, match=r"cannot open checkpoint storage 's[34]://\.\.\.@bucket") as caught:
        FileSystemStore.open(location, JOB)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


class FailingCount(KeyedProcessFunction):
    """Counts each key, and fails once, when there has been time for checkpoints."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == RECORDS * 3 // 4 and not FAILED:
            FAILED.append(value)
            raise ValueError("planned")
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


@pytest.mark.parametrize("incremental", ["false", "true"])
def test_a_job_starts_again_from_checkpoints_in_a_bucket(new_folder: FolderOf, incremental: str) -> None:
    FAILED.clear()
    env = environment(
        **{
            "execution__checkpointing__interval": "30 ms",
            "execution__checkpointing__dir": new_folder(),
            "execution__checkpointing__incremental": incremental,
            "execution__checkpointing__data-inline-threshold": "0 b",
            "restart-strategy": "fixed-delay",
            "restart-strategy__fixed-delay__delay": "0 ms",
        }
    )
    source = RateLimitedSource(NumberSequenceSource(0, RECORDS - 1), 2 * RECORDS)
    counts = env.from_source(source, None, "numbers").key_by(lambda value: value % KEYS).process(FailingCount())
    with counts.execute_and_collect() as results:
        assert Counter(results) == Counter((key, count + 1) for key in range(KEYS) for count in range(RECORDS // KEYS))
    assert FAILED
