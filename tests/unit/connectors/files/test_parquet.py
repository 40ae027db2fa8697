"""Parquet in and out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.sink import FileSink
from headgate.connectors.files.source import FileSource
from headgate.errors import ProgramError, SerializationError, SourceError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import sink_context
from headgate.testing.contracts.source import ReaderContext, open_reader, read, read_all
from headgate.types.typeinfo import RowTypeInfo, Types

TABLE = pa.table({"number": list(range(50_000)), "word": [f"word-{index}" for index in range(50_000)]})
SCHEMA = pa.schema([("number", pa.int64()), ("word", pa.string())])


def source_of(folder: Path, columns: Sequence[str] | RowTypeInfo | None = None) -> FileSource:
    return FileSource.for_bulk_file_format(BulkFormat.parquet_format(columns), str(folder)).build()


def sink_to(folder: Path) -> FileSink:
    sink = FileSink.for_bulk_format(str(folder), BulkWriterFactory.parquet_writer(SCHEMA))
    return sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()


@pytest.mark.slow
def test_splits_are_row_groups_in_order_of_the_files(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(20), tmp_path / "b.parquet", row_group_size=20_000)
    pq.write_table(TABLE.slice(0, 20), tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").touch()
    source = source_of(tmp_path)
    assert [(split.place.name, split.part) for split in source.splits(1)] == [
        ("a.parquet", "0"), ("b.parquet", "0"), ("b.parquet", "1"), ("b.parquet", "2"),
    ]  # fmt: skip
    assert [row["number"] for row in read_all(source)] == list(range(50_000))


def test_reading_goes_on_deep_in_a_row_group(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    source = source_of(tmp_path)
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 41_234, asked=5_000)
    rest = read(open_reader(source, reader.snapshot(), context), context, asked=1_000)
    reader.close()
    assert [row["number"] for row in rest] == list(range(41_234, 50_000))


def test_file_without_rows_is_read(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    assert read_all(source_of(tmp_path)) == []


@pytest.mark.parametrize(
    ("other", "trouble"),
    [
        (TABLE.select(["word"]), "there is no column 'number', as there is in '.*a.parquet'"),
        (TABLE.append_column("more", TABLE["word"]), "there is a column 'more', which is not in '.*a.parquet'"),
        (TABLE.select(["word", "number"]), "the columns have another order than in '.*a.parquet'"),
        (TABLE.set_column(0, "number", TABLE["word"]), "column 'number' is string, but int64 in '.*a.parquet'"),
    ],
    ids=["less", "more", "order", "type"],
)
def test_files_of_different_columns_are_refused(other: pa.Table, trouble: str, tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    pq.write_table(other.slice(0, 1), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=rf"b\.parquet': {trouble}"):
        source_of(tmp_path).splits(1)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([dt.date(1582, 10, 14), None]),
        pa.array([dt.datetime(1899, 12, 31)], pa.timestamp("us", "UTC")),
        pa.array([[{"day": dt.date(1, 1, 1)}]]),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("mark", ["legacyDateTime", "legacyINT96"])
def test_old_dates_of_the_calendar_that_spark_2_had_are_refused(column: pa.Array, mark: str, tmp_path: Path) -> None:
    schema = pa.schema([("c", column.type)], {f"org.apache.spark.{mark}": ""})
    pq.write_table(pa.table([column], schema), tmp_path / "old.parquet")
    with pytest.raises(SourceError, match=r"old.parquet' was written by Spark .* column 'c' has some"):
        read_all(source_of(tmp_path))


def test_later_dates_of_the_calendar_that_spark_2_had_are_read(tmp_path: Path) -> None:
    columns = [
        pa.array([dt.date(1582, 10, 15)]),
        pa.array([dt.datetime(1900, 1, 1)], pa.timestamp("us", "UTC")),
        pa.array([dt.datetime(1, 1, 1)], pa.timestamp("us")),
    ]
    schema = pa.schema(
        [(name, column.type) for name, column in zip("abc", columns, strict=True)],
        {"org.apache.spark.legacyDateTime": ""},
    )
    pq.write_table(pa.table(columns, schema), tmp_path / "new.parquet")
    assert len(read_all(source_of(tmp_path))) == 1


def test_columns_are_chosen_and_others_may_differ(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    pq.write_table(TABLE.slice(1, 1).select(["word"]), tmp_path / "b.parquet")
    assert read_all(source_of(tmp_path, ["word"])) == [{"word": "word-0"}, {"word": "word-1"}]


def test_chosen_columns_keep_their_order_at_any_position(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 10), tmp_path / "a.parquet")
    source, context = source_of(tmp_path, ["word", "number"]), ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 9)
    [last] = read(open_reader(source, reader.snapshot(), context), context)
    assert list(last.items()) == [("word", "word-9"), ("number", 9)]


def test_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"a\.parquet' has no column 'wrd'; it has 'number', 'word'"):
        source_of(tmp_path, ["number", "wrd"]).splits(1)


def test_types_are_checked(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    right = Types.ROW_NAMED(["word"], [Types.STRING()])
    assert read_all(source_of(tmp_path, right)) == [{"word": "word-0"}]
    with pytest.raises(SourceError, match=r"a\.parquet': column 'number' is int64, a Long, and not a String"):
        source_of(tmp_path, Types.ROW_NAMED(["number"], [Types.STRING()])).splits(1)


@pytest.mark.parametrize("columns", [[], ["a", "a"], "word"], ids=str)
def test_columns_that_make_no_sense_are_refused(columns: Any) -> None:
    with pytest.raises(ProgramError, match="a list of at least one name, each only once"):
        BulkFormat.parquet_format(columns)


def test_damaged_row_group_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[100:20_000] = bytes(19_900)
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"cannot read row group 0 of '.*a\.parquet'"):
        read_all(source_of(tmp_path))


def test_file_that_is_gone_is_named(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    source = source_of(tmp_path)
    splits = source.splits(1)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(SourceError, match=r"a\.parquet' is gone"):
        open_reader(source, splits, ReaderContext()).poll(1)


def test_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(SourceError, match=r"cannot read '.*a\.parquet' as Parquet"):
        source_of(tmp_path).splits(1)


def test_file_that_changed_is_noticed(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    source = source_of(tmp_path)
    splits = source.splits(1)
    pq.write_table(TABLE.slice(0, 9), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="files must not change"):
        open_reader(source, splits, ReaderContext()).poll(1)


def test_file_stays_open_for_its_next_row_group(tmp_path: Path) -> None:
    def write(name: str, first: int) -> Path:
        table = pa.table({"number": range(first, first + 100)})
        pq.write_table(table, tmp_path / name, row_group_size=50, use_dictionary=False, compression="none")
        return tmp_path / name

    path, other = write("a.parquet", 0), write(".other", 500)
    assert path.stat().st_size == other.stat().st_size
    source, context = source_of(tmp_path), ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    first = read(reader, context, 10)
    other.rename(path)
    assert [row["number"] for row in first + read(reader, context)] == list(range(100))


def test_small_writes_make_large_row_groups(tmp_path: Path) -> None:
    sink = sink_to(tmp_path)
    writer = sink.writer(sink_context())
    for start in range(0, 50_000, 1_000):
        writer.write([(number, "x") for number in range(start, start + 1_000)])
    sink.committer(sink_context()).commit(writer.prepare_commit(CheckpointId(1)))
    [path] = tmp_path.iterdir()
    assert path.suffix == ".parquet"
    assert pq.ParquetFile(path).metadata.num_row_groups == 2
    assert pq.read_table(path)["number"].to_pylist() == list(range(50_000))


@pytest.mark.slow
def test_large_records_are_written_before_there_are_many(tmp_path: Path) -> None:
    writer = sink_to(tmp_path).writer(sink_context())
    for number in range(5):
        writer.write([{"number": number, "word": "x" * (20 << 20)}])
    [part] = writer.prepare_commit(CheckpointId(1))
    assert pq.ParquetFile(part.pending.path).metadata.num_row_groups == 3


def test_record_that_does_not_fit_the_schema_is_named(tmp_path: Path) -> None:
    writer = sink_to(tmp_path).writer(sink_context())
    with pytest.raises(SerializationError, match="'seven'"):
        writer.write([(1, "x"), ("seven", "x")])
    writer.close()
    assert list(tmp_path.iterdir()) == []
