"""Parquet in and out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.connectors.files.parquet import ParquetSink, ParquetSource
from headgate.errors import ProgramError, SerializationError, SourceError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import sink_context
from headgate.testing.contracts.source import ReaderContext, open_reader, read, read_all

TABLE = pa.table({"number": list(range(50_000)), "word": [f"word-{index}" for index in range(50_000)]})
SCHEMA = pa.schema([("number", pa.int64()), ("word", pa.string())])


def test_splits_are_row_groups_in_order_of_the_files(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(20), tmp_path / "b.parquet", row_group_size=20_000)
    pq.write_table(TABLE.slice(0, 20), tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").touch()
    source = ParquetSource(str(tmp_path))
    assert [(split.place.name, split.row_group) for split in source.splits(1)] == [
        ("a.parquet", 0), ("b.parquet", 0), ("b.parquet", 1), ("b.parquet", 2),
    ]  # fmt: skip
    assert [row["number"] for row in read_all(source)] == list(range(50_000))


def test_reading_goes_on_deep_in_a_row_group(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    source = ParquetSource(str(tmp_path))
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 41_234, asked=5_000)
    rest = read(open_reader(source, reader.snapshot(), context), context, asked=1_000)
    reader.close()
    assert [row["number"] for row in rest] == list(range(41_234, 50_000))


def test_schema_is_that_of_the_files(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    assert ParquetSource(str(tmp_path)).schema() == SCHEMA


def test_file_without_rows_is_read(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "a.parquet")
    assert read_all(ParquetSource(str(tmp_path))) == []


def test_files_of_different_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    pq.write_table(TABLE.slice(0, 1).select(["word"]), tmp_path / "b.parquet")
    with pytest.raises(
        SourceError, match=r"b\.parquet' has the columns word string, but files before it have number int64"
    ):
        ParquetSource(str(tmp_path)).splits(1)


def test_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(SourceError, match=r"cannot read '.*a\.parquet' as Parquet"):
        ParquetSource(str(tmp_path)).splits(1)


def test_file_that_changed_is_noticed(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")
    source = ParquetSource(str(tmp_path))
    splits = source.splits(1)
    pq.write_table(TABLE.slice(0, 9), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="files must not change"):
        open_reader(source, splits, ReaderContext()).poll(1)


def test_source_without_paths_is_refused() -> None:
    with pytest.raises(ProgramError, match="at least one path"):
        ParquetSource()


def test_small_writes_make_large_row_groups(tmp_path: Path) -> None:
    sink = ParquetSink(str(tmp_path), SCHEMA)
    writer = sink.writer(sink_context())
    for start in range(0, 50_000, 1_000):
        writer.write([(number, "x") for number in range(start, start + 1_000)])
    sink.committer(sink_context()).commit(writer.prepare_commit(CheckpointId(1)))
    [path] = tmp_path.iterdir()
    assert path.suffix == ".parquet"
    assert pq.ParquetFile(path).metadata.num_row_groups == 2
    assert pq.read_table(path)["number"].to_pylist() == list(range(50_000))


def test_record_that_does_not_fit_the_schema_is_named(tmp_path: Path) -> None:
    writer = ParquetSink(str(tmp_path), SCHEMA).writer(sink_context())
    with pytest.raises(SerializationError, match="'seven'"):
        writer.write([(1, "x"), ("seven", "x")])
    writer.close()
    assert list(tmp_path.iterdir()) == []
