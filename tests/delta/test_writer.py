"""What subtasks write into a Delta table: columns, partitions, files, and records that do not fit."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Types
from headgate.connectors.delta import DeltaSink
from headgate.errors import SerializationError, SinkError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import sink_context
from headgate.types.instant import Instant
from headgate.types.row import Row
from tests.delta.tables import JOB, SCHEMA, Driver, query, rows_of

CONTEXT = sink_context(JOB)
EVERY_TYPE = pa.schema(
    [
        ("number", pa.int64()),
        ("small", pa.int8()),
        ("short", pa.int16()),
        ("int", pa.int32()),
        ("flag", pa.bool_()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("price", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("instant", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("list", pa.list_(pa.int64())),
        ("struct", pa.struct([("a", pa.int64())])),
    ]
)
NOW = datetime.datetime(2024, 2, 29, 12, 30, 1, 123457)
RECORD = {
    "number": 1,
    "small": -128,
    "short": 300,
    "int": -70_000,
    "flag": True,
    "float": 0.5,
    "double": 0.1,
    "price": Decimal("12.30"),
    "day": NOW.date(),
    "instant": NOW.replace(tzinfo=datetime.UTC),
    "local": NOW,
    "text": "Ünïcode\n",
    "bytes": b"\x00\xff",
    "list": [1, None],
    "struct": {"a": 1},
}
NOTHING: dict[str, Any] = dict.fromkeys(RECORD) | {"number": 2}


def written(sink: DeltaSink, records: list[Any]) -> list[Any]:
    """Have the records written and committed; return the files."""
    sink.prepare(JOB)
    driver = Driver(sink=sink)
    files = driver.prepared(1, records)
    driver.commit(1, files)
    return files


def test_every_type_is_read_as_it_was_written(tmp_path: Path) -> None:
    written(DeltaSink(tmp_path, EVERY_TYPE), [RECORD, NOTHING])
    assert rows_of(tmp_path) == [RECORD, NOTHING]
    assert query(tmp_path, "SELECT number FROM t WHERE day = '2024-02-29' AND text > 'U'") == [{"number": 1}]


def test_kinds_of_one_type_are_that_type(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("number", pa.int64()),
            ("large", pa.large_string()),
            ("coded", pa.dictionary(pa.int32(), pa.string())),
            ("nanos", pa.timestamp("ns", tz="Europe/Rome")),
            ("millis", pa.timestamp("ms")),
            ("date", pa.date64()),
        ]
    )
    written(DeltaSink(tmp_path, schema), [(1, "a", "b", NOW.replace(tzinfo=datetime.UTC), NOW, NOW.date())])
    assert list(rows_of(tmp_path)[0].values()) == [1, "a", "b", NOW.replace(tzinfo=datetime.UTC), NOW, NOW.date()]


def test_instants_have_microseconds(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, Types.ROW_NAMED(["number", "at"], [Types.LONG(), Types.INSTANT()]))
    written(sink, [(1, Instant(1_709_209_801, 123_457_000)), (2, None)])
    assert [row["at"] for row in rows_of(tmp_path)] == [NOW.replace(tzinfo=datetime.UTC), None]
    with pytest.raises(SerializationError, match=r"column 'at' has the type.*would lose data"):
        sink.writer(CONTEXT).write([(1, Instant(0, 1))])


def test_records_are_rows_dicts_and_tuples(tmp_path: Path) -> None:
    named = Row("word", "number")
    written(DeltaSink(tmp_path, SCHEMA), [named("a", 1), Row(2, "b"), {"word": "c", "number": 3}, (4, None), [5, "e"]])
    assert [tuple(row.values()) for row in rows_of(tmp_path)] == [(1, "a"), (2, "b"), (3, "c"), (4, None), (5, "e")]


def test_arrow_batches_are_rows(tmp_path: Path) -> None:
    one = pa.RecordBatch.from_pydict({"word": ["b", "a"], "number": pa.array([2, 1], pa.int32())})
    none = pa.RecordBatch.from_pydict({"number": pa.array([], pa.int64()), "word": pa.array([], pa.string())})
    written(DeltaSink(tmp_path, SCHEMA, partition_by="word"), [one, none])
    assert rows_of(tmp_path) == [{"number": 1, "word": "a"}, {"number": 2, "word": "b"}]


STRANGE = [
    "Rome",
    "São /a%20b",
    "a+b c=d:e?#&",
    "x\\y\"'*<>|",
    "..",
    ".",
    "_hidden",
    "日本",
    "line\nend",
    " ",
    "%",
    None,
]


@pytest.mark.parametrize("columns", ["name", "strange col/%=é"])
def test_partitions_may_have_any_name(tmp_path: Path, columns: str) -> None:
    schema = pa.schema([("number", pa.int64()), (columns, pa.string())])
    records = list(enumerate(STRANGE))
    written(DeltaSink(tmp_path, schema, partition_by=[columns]), records)
    assert [tuple(row.values()) for row in rows_of(tmp_path)] == records
    assert query(tmp_path, f'SELECT number, "{columns}" AS name FROM t ORDER BY number') == [
        {"number": number, "name": name} for number, name in records
    ]
    assert query(tmp_path, f"SELECT number FROM t WHERE \"{columns}\" = 'Rome'") == [{"number": 0}]


def test_text_that_is_empty_is_null_as_a_partition(tmp_path: Path) -> None:
    written(DeltaSink(tmp_path, SCHEMA, partition_by=["word"]), [(1, ""), (2, None)])
    assert rows_of(tmp_path) == [{"number": 1, "word": None}, {"number": 2, "word": None}]


def test_partitions_by_several_columns_have_a_file_each(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("number", pa.int64()),
            ("day", pa.date32()),
            ("flag", pa.bool_()),
            ("small", pa.int8()),
        ]
    )
    days = [datetime.date(1960, 1, 2), datetime.date(2024, 2, 29)]
    records = [(number, days[number % 2], [True, False, None][number % 3], -7) for number in range(30)]
    files = written(DeltaSink(tmp_path, schema, partition_by=["day", "flag", "small"]), records)
    assert [tuple(row.values()) for row in rows_of(tmp_path)] == records
    assert len(files) == 6
    folders = {file.path.rpartition("/")[0] for file in files}
    assert "day=1960-01-02/flag=true/small=-7" in folders
    assert query(tmp_path, "SELECT count(*) AS n FROM t WHERE day = '1960-01-02' AND flag") == [{"n": 5}]


@pytest.mark.slow
def test_files_end_at_their_size_and_hold_all_rows_in_order(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA, file_bytes_max=1 << 20)
    sink.prepare(JOB)
    writer = sink.writer(CONTEXT)
    rows = 400_000
    for first in range(0, rows, 10_000):
        writer.write([(number, str(number * 7919)) for number in range(first, first + 10_000)])
    files = writer.prepare_commit(CheckpointId(1))
    assert len(files) > 2
    assert all(file.size_bytes < 4 << 20 for file in files)
    tables = [pq.read_table(tmp_path / file.path) for file in files]
    assert pa.concat_tables(tables).column("number").to_pylist() == list(range(rows))


@pytest.mark.slow
def test_of_many_partitions_few_files_are_open(tmp_path: Path) -> None:
    count = 100
    sink = DeltaSink(tmp_path, SCHEMA, partition_by=["word"])
    sink.prepare(JOB)
    writer = sink.writer(CONTEXT)
    writer.write([(number, f"word-{number % count}") for number in range(140_000)])  # enough to write them out
    unfinished = [path for path in tmp_path.rglob("*.parquet") if not path.read_bytes().endswith(b"PAR1")]
    assert 0 < len(unfinished) <= 32
    Driver(sink=sink).commit(1, writer.prepare_commit(CheckpointId(1)))
    assert len(rows_of(tmp_path)) == 140_000


@pytest.mark.slow
def test_a_writer_that_is_closed_leaves_no_file_behind(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA, partition_by=["word"], file_bytes_max=1)
    sink.prepare(JOB)
    writer = sink.writer(CONTEXT)
    for _ in range(2):
        writer.write([(number, f"word-{number % 3}") for number in range(140_000)])
    writer.close()
    writer.close()
    assert list(tmp_path.rglob("*.parquet*")) == []


def test_names_of_files_say_who_wrote_them_and_are_never_the_same(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA)
    sink.prepare(JOB)
    names = [Driver(sink=sink, attempt=attempt).prepared(1, [(1, "a")])[0].path for attempt in (1, 1, 12)]
    assert len(set(names)) == 3
    assert all(re.fullmatch(rf"part-{JOB.digest()}-0-(1|12)-[0-9a-f]{{32}}-0\.parquet", name) for name in names)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ((1, 2), "column 'word' has the type string, but a record holds 2"),
        ((2**63, "a"), "column 'number' has the type int64"),
        ((1,), "the record .1,. does not have the 2 fields of the schema: 'number', 'word'"),
        ({"number": 1, "name": "a"}, r"has the fields .'name', 'number'., but the schema has .'number', 'word'."),
        ((None, "a"), "column 'number' must not be null, but a record holds None there"),
        (pa.RecordBatch.from_pydict({"number": [1]}), r"a batch has the columns .'number'., but the table's sink has"),
        (
            pa.RecordBatch.from_pydict({"number": ["x"], "word": ["a"]}),
            "with the columns number string, word string does",
        ),
        (
            pa.RecordBatch.from_pydict({"number": [None], "word": ["a"]}),
            "number null, word string does not fit.*'number' with null",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_named(tmp_path: Path, record: object, message: str) -> None:
    sink = DeltaSink(tmp_path, SCHEMA.set(0, pa.field("number", pa.int64(), nullable=False)))
    sink.prepare(JOB)
    writer = sink.writer(CONTEXT)
    with pytest.raises(SerializationError, match=re.compile(message, re.DOTALL)):
        writer.write([record])
    writer.close()


def test_batches_and_rows_do_not_mix(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA)
    sink.prepare(JOB)
    batch = pa.RecordBatch.from_pydict({"number": [1], "word": ["a"]})
    with pytest.raises(SerializationError, match=r"Arrow batches came before \(2, 'b'\); a stream has either"):
        sink.writer(CONTEXT).write([batch, (2, "b")])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path / "table", SCHEMA, partition_by=["word"])
    sink.prepare(JOB)
    (tmp_path / "table/word=a").write_text("in the way")
    writer = sink.writer(CONTEXT)
    writer.write([(1, "a")])
    with pytest.raises(SinkError, match=r"cannot write to the folder of the Delta table '.*/table' on host .*must be"):
        writer.prepare_commit(CheckpointId(1))
    writer.close()


def test_empty_text_is_no_partition_of_a_column_that_is_never_null(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path, SCHEMA.set(1, pa.field("word", pa.string(), nullable=False)), partition_by=["word"])
    sink.prepare(JOB)
    writer = sink.writer(CONTEXT)
    writer.write([(1, "a"), (2, "")])
    with pytest.raises(SerializationError, match="column 'word' must not be null, but a record holds empty text there"):
        writer.prepare_commit(CheckpointId(1))
    writer.close()
