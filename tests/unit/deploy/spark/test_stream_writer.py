"""A stream writer of PySpark in a slot: what it is given, when it is called, and what it may get wrong."""

from __future__ import annotations

import datetime as dt
import logging
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, cast

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import Row as SparkRow
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headgate.datastream.connectors.spark import SparkSink
from headgate.deploy.spark.stream_writer.call import WriteAbandoned
from headgate.deploy.spark.stream_writer.sink import PreparedMessage, first_id_of
from headgate.errors import ProgramError, SerializationError, SinkError
from headgate.functions.sink import RetriableCommitError, SinkWriter
from headgate.ids import CheckpointId, Lineage
from headgate.testing.contracts.sink import JOB, open_sink, sink_context
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.stream_writers import Staged, StagedFiles, StagedFilesSource, rows_in

NUMBERS = Types.ROW_NAMED(["number"], [Types.LONG()])


@dataclass
class Seen(WriterCommitMessage):
    """What a writer was given."""

    items: list[Any]
    task: tuple[int, int, int] = (0, 0, 0)


class Noting(DataSourceStreamWriter):
    read: ClassVar[list[Any]] = []
    """What any of them has read so far, each at once."""

    def write(self, iterator: Iterator[Any]) -> Any:
        items = []
        for item in iterator:
            Noting.read.append(item)
            items.append(item)
        task = TaskContext.get()
        assert task is not None
        return Seen(items, (task.partitionId(), task.attemptNumber(), task.taskAttemptId()))


class NotingBatches(Noting, DataSourceStreamArrowWriter):
    pass


@pytest.fixture(autouse=True)
def _clear() -> None:
    Noting.read.clear()


def writer_of(writer: DataSourceStreamWriter, schema: Any = NUMBERS, subtask: int = 0) -> SinkWriter[Any]:
    return open_sink(SparkSink.for_writer(writer, schema), sink_context(subtask=subtask))[0]


def written(writer: DataSourceStreamWriter, records: list[Any], schema: Any = NUMBERS) -> Any:
    sink = writer_of(writer, schema)
    sink.write(records)
    [prepared] = sink.prepare_commit(CheckpointId(1))
    return prepared.message


def test_a_writer_of_rows_gets_rows_of_spark_with_sparks_values() -> None:
    inner = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    names = ["inner", "tags", "counts", "price", "at", "local", "day", "raw", "nothing"]
    types = [
        inner,
        Types.LIST(Types.STRING()),
        Types.MAP(Types.STRING(), Types.LONG()),
        Types.BIG_DEC(),
        Types.INSTANT(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.STRING(),
    ]
    noon = dt.datetime(2024, 2, 29, 12)
    values = [Row(a=1, b="x"), ["p"], {"k": 2}, Decimal("1.5"), Instant(0, 0), noon, noon.date(), b"raw", None]
    record = Row(**dict(zip(names, values, strict=True)))
    [row] = written(Noting(), [record], Types.ROW_NAMED(names, types)).items
    assert isinstance(row, SparkRow)
    assert row.inner == SparkRow(a=1, b="x")
    assert (row.tags, row.counts, row.price) == (["p"], {"k": 2}, Decimal("1.5"))
    assert row["at"] == dt.datetime.fromtimestamp(0), "in the local zone, without one"
    assert (row.local, row.day, row.raw, row.nothing) == (noon, noon.date(), b"raw", None)


@pytest.mark.parametrize(
    "schema",
    [NUMBERS, pa.schema([("number", pa.int64())]), StructType([StructField("number", LongType())]), Types.LONG()],
    ids=["row type", "arrow", "struct", "one value"],
)
def test_a_schema_may_be_said_in_any_way(schema: Any) -> None:
    assert [tuple(row) for row in written(Noting(), [7], schema).items] == [(7,)]


def test_a_writer_of_batches_gets_arrow_batches_of_the_schema() -> None:
    [batch] = written(NotingBatches(), [(1,), {"number": 2}, Row(number=3)]).items
    assert (batch.schema, batch["number"].to_pylist()) == (pa.schema([("number", pa.int64())]), [1, 2, 3])


def test_arrow_batches_in_the_stream_are_passed_on_cast() -> None:
    [first, second] = written(
        NotingBatches(), [pa.record_batch({"number": pa.array([n], pa.int32())}) for n in (1, 2)]
    ).items
    assert [first["number"].to_pylist(), second["number"].to_pylist()] == [[1], [2]]
    assert first.schema.field("number").type == pa.int64()


def test_write_is_called_once_for_an_interval_and_reads_while_records_come() -> None:
    sink = writer_of(Noting())
    for first in range(0, 30_000, 1_000):
        sink.write([(number,) for number in range(first, first + 1_000)])
    assert len(Noting.read) == 30_000, "all are with the writer before the barrier"
    message = sink.prepare_commit(CheckpointId(1))[0].message
    assert [row.number for row in message.items] == list(range(30_000))
    assert sink.prepare_commit(CheckpointId(2)) == [], "without records it is not called"
    sink.write([(1,)])
    other = sink.prepare_commit(CheckpointId(3))[0].message
    assert [row.number for row in other.items] == [1], "nothing is left of the interval before"


def test_a_task_context_tells_calls_apart_and_is_there_for_the_writer_only() -> None:
    before = TaskContext.get()
    sinks = [writer_of(Noting(), subtask=subtask) for subtask in (0, 1)]
    tasks = []
    for checkpoint in (1, 2):
        for sink in sinks:  # they take turns within one process
            sink.write([(1,)])
        tasks += [sink.prepare_commit(CheckpointId(checkpoint))[0].message.task for sink in sinks]
    assert [(partition, attempt) for partition, attempt, _ in tasks] == [(0, 1), (1, 1)] * 2
    assert len({task for _, _, task in tasks}) == 4
    assert TaskContext.get() is before


class Failing(DataSourceStreamWriter):
    def __init__(self, at: int) -> None:
        self.at = at

    def write(self, iterator: Iterator[Any]) -> Any:
        for row in iterator:
            if row.number == self.at:
                raise ValueError(f"no room for {self.at}")
        raise OSError("cannot close")


@pytest.mark.parametrize(("at", "message"), [(1, "no room for 1"), (99, "cannot close")])
def test_what_a_writer_raises_comes_out_with_its_own_traceback(at: int, message: str) -> None:
    sink = writer_of(Failing(at))
    sink.write([(1,), (2,)])
    with pytest.raises((ValueError, OSError), match=message) as found:
        sink.prepare_commit(CheckpointId(1))
    assert "in write" in "".join(traceback.format_tb(found.value.__traceback__))
    sink.close()


class Hasty(DataSourceStreamWriter):
    def write(self, iterator: Iterator[Any]) -> Any:
        next(iterator)
        return Seen([])


def test_a_writer_that_returns_before_the_last_row_is_an_error_as_rows_would_be_lost() -> None:
    with pytest.raises(SinkError, match=r"Hasty\.write returned before it had read all rows"):
        written(Hasty(), [(1,), (2,)])
    written(Hasty(), [(1,)])
    sink = writer_of(Hasty())
    sink.write([(1,)] * 10_000)
    with pytest.raises(SinkError, match="those that are left would be lost"):
        sink.write([(1,)] * 10_000)


class Returning(DataSourceStreamWriter):
    def __init__(self, what: str) -> None:
        self.what = what

    def write(self, iterator: Iterator[Any]) -> Any:
        list(iterator)
        return {"nothing": None, "a lock": Seen([threading.Lock()])}[self.what]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", "must return a WriterCommitMessage, but returned None"),
        ("a lock", "the commit message of Returning.write, a Seen, cannot be pickled"),
    ],
)
def test_a_message_that_is_none_or_cannot_be_kept_is_an_error(what: str, said: str) -> None:
    with pytest.raises(SinkError, match=said):
        written(Returning(what), [(1,)])


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (Row(number="seven"), "column 'number'"),
        (Row(count=7), "the fields"),
        (Row(number=None), "column 'number' must not be null"),
        (pa.record_batch({"number": ["seven"]}), "column 'number' is int64 in the writer's schema, but string"),
        (pa.record_batch({"count": [7]}), "column 'count' is in only one of them"),
    ],
    ids=str,
)
def test_a_record_that_does_not_fit_is_an_error_that_names_the_column(record: Any, said: str) -> None:
    with pytest.raises(SerializationError, match=said):
        written(Noting(), [record], StructType([StructField("number", LongType(), nullable=False)]))


class Closing(DataSourceStreamWriter):
    ends: ClassVar[list[str]] = []

    def write(self, iterator: Iterator[Any]) -> Any:
        try:
            for row in iterator:
                Closing.ends.append(f"row {row.number}")
        except WriteAbandoned:
            Closing.ends.append("abandoned")
            raise
        finally:
            Closing.ends.append("closed")
        return Seen([])


def test_a_writer_whose_attempt_ends_is_told_and_its_thread_ends() -> None:
    Closing.ends.clear()
    threads = set(threading.enumerate())
    sink = writer_of(Closing())
    sink.write([(n,) for n in range(10_000)])
    sink.close()
    sink.close()
    assert Closing.ends[-3:] == ["row 9999", "abandoned", "closed"]
    assert set(threading.enumerate()) <= threads


# --- the sink itself


def test_options_are_text_and_found_in_any_case(tmp_path: Path) -> None:
    options = {"Path": tmp_path, "compress": True}
    sink = SparkSink.for_data_source(StagedFilesSource, NUMBERS, options=options, idempotent_commit=True)
    writer, _ = open_sink(sink, sink_context())
    writer.write([(1,)])
    sink.global_committer().commit(CheckpointId(4), writer.prepare_commit(CheckpointId(4)))
    assert rows_in(tmp_path) == [{"number": 1}]


class ReadOnly(DataSource):
    @classmethod
    def name(cls) -> str:
        return "read-only"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SparkSink.for_data_source(ReadOnly, NUMBERS), "'read-only' .ReadOnly. has no stream writer"),
        (
            lambda: SparkSink.for_data_source(cast(Any, "json"), NUMBERS),
            "takes a subclass of pyspark's DataSource, not 'json'",
        ),
        (
            lambda: SparkSink.for_writer(cast(Any, StagedFiles), NUMBERS),
            "takes a DataSourceStreamWriter, not <class 'tests.stream_writers.StagedFiles'>",
        ),
        (
            # which cloudpickle takes along, but no commit in the driver gets a copy of
            lambda: SparkSink.for_writer(Returning(cast(Any, threading)), NUMBERS),
            "the writer Returning cannot be copied: .*'module' object; .*open files and connections where it uses them",
        ),
        (
            lambda: SparkSink.for_writer(StagedFiles("x"), "a int"),
            "the schema of a Spark writer must be .*, not 'a int'",
        ),
        (lambda: SparkSink.for_writer(StagedFiles("x"), pa.schema([("n", pa.uint8())])), "Spark has no such columns"),
    ],
)
def test_what_cannot_be_driven_is_refused_when_the_sink_is_made(make: Any, said: str) -> None:
    with pytest.raises(ProgramError, match=said):
        make()


@pytest.mark.parametrize("idempotent", [False, True])
def test_without_word_that_commits_are_idempotent_a_warning_says_at_least_once(
    idempotent: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        SparkSink.for_writer(StagedFiles("x"), NUMBERS, idempotent_commit=idempotent).prepare(JOB)
    assert ("StagedFiles.commit may be called twice" in caplog.text) is not idempotent


class Counting(DataSourceStreamWriter):
    calls: ClassVar[list[tuple[str, int, int]]] = []
    fails: ClassVar[list[Exception]] = []

    def write(self, iterator: Iterator[Any]) -> Any:
        raise NotImplementedError

    def commit(self, messages: Any, batchId: int) -> None:
        self.calls.append(("commit", batchId, len(messages)))
        if self.fails:
            raise self.fails.pop()

    def abort(self, messages: Any, batchId: int) -> None:
        self.calls.append(("abort", batchId, len(messages)))


def test_one_driver_commits_a_batch_once_tries_again_what_failed_and_aborts() -> None:
    Counting.calls.clear()
    Counting.fails[:] = [OSError("no route")]
    committer = SparkSink.for_writer(Counting(), Types.STRING()).global_committer()
    messages: list[Any] = [Staged("a", 1), Staged("b", 2)]  # as releases without lineages have kept them
    with pytest.raises(RetriableCommitError, match=r"Counting\.commit of batch 3 raised OSError: no route"):
        committer.commit(CheckpointId(3), messages)
    for checkpoint_id in (3, 3, 4):
        committer.commit(CheckpointId(checkpoint_id), messages)
    committer.abort(CheckpointId(5), messages[:1])
    assert Counting.calls == [("commit", 3, 2), ("commit", 3, 2), ("commit", 4, 2), ("abort", 5, 1)]


def test_batch_ids_grow_from_one_lineage_to_the_next_and_a_snapshot_is_committed_under_its_own() -> None:
    Counting.calls.clear()
    sink = SparkSink.for_writer(Counting(), Types.STRING())
    (held,), (own,) = (
        [PreparedMessage(Staged(str(began_ms), 1), first_id_of(Lineage("ab" * 16, began_ms)))]
        for began_ms in (1_700_000_000_000, 1_700_000_000_010)
    )
    later = sink.global_committer()
    later.commit(CheckpointId(70), [held])
    later.commit(CheckpointId(1), [own])
    ids = [batch_id for _, batch_id, _ in Counting.calls]
    assert 2**50 < ids[0] < ids[1] < 2**63
    sink.global_committer().commit(CheckpointId(70), [held])
    assert Counting.calls[2] == Counting.calls[0]


def test_a_struct_keeps_its_names_for_the_writer() -> None:
    schema = StructType([StructField("Größe", LongType()), StructField("word", StringType())])
    [row] = written(Noting(), [(1, "x")], schema).items
    assert row.asDict() == {"Größe": 1, "word": "x"}
