"""The names of splits of numbered batches, what follows from them, and which batches are deleted."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import Place
from headgate.connectors.micro_batches import splits
from headgate.connectors.micro_batches.protocol import QueryPosition
from headgate.connectors.micro_batches.splits import BatchSplit, EmptyBatch
from headgate.errors import SourceError
from headgate.functions.acknowledging import SourceProgress


def put(folder: Path, name: str, rows: int) -> Place:
    path = folder / name
    path.mkdir(parents=True)
    table = pa.table({"n": list(range(rows))})
    with pq.ParquetWriter(path / "part-0.parquet", table.schema) as writer:
        if rows:  # Spark writes no row group where there are no rows, unlike Arrow
            writer.write_table(table, row_group_size=10)
    return Place.of(path, SourceError)


def test_a_batch_is_cut_into_row_groups_named_after_query_and_batch(tmp_path: Path) -> None:
    found = splits.cut(put(tmp_path, "q/7-ab12", 25))
    assert [splits.id_of(split) for split in found] == [f"q/7-ab12/part-0.parquet/{group}" for group in range(3)]
    assert {splits.batch_of(splits.id_of(split)) for split in found} == {("q", 7)}


def test_a_batch_without_rows_is_one_split_all_the_same(tmp_path: Path) -> None:
    place = put(tmp_path, "q/8-cd34", 0)
    assert splits.cut(place) == [EmptyBatch(place)]
    assert splits.batch_of(splits.id_of(EmptyBatch(place))) == ("q", 8)


def test_of_the_ids_those_of_the_newest_batch_tell_all() -> None:
    known = ["q/9-a/p/0", "q/10-b/p/0", "q/10-b/p/1", "q/8-c/p/0"]
    assert splits.newest(known) == ["q/10-b/p/0", "q/10-b/p/1"]
    assert splits.newest([]) == []


def test_the_position_of_a_snapshot_is_that_of_its_newest_batch_and_what_is_left_of_it() -> None:
    left = RowGroupSplit(Place("", "/batches/q/10-b/p"), 100, 1, 5)
    known = frozenset({"q/10-b/p/0", "q/10-b/p/1"})
    assert splits.position(SourceProgress(known=known)) == QueryPosition(query="q", known=10, covered=10)
    read_on: SourceProgress[BatchSplit] = SourceProgress(known=known, unfinished=(left,))
    assert splits.position(read_on) == QueryPosition(query="q", known=10, covered=9)


def test_acknowledged_batches_go_half_written_ones_too_and_no_others(tmp_path: Path) -> None:
    for batch in (6, 7, 7, 8, 10):
        put(tmp_path, splits.new_folder("", "q", batch).lstrip("/"), 1)
    for name in ("2024/01-05", "q/3-backup", "q/notes"):
        put(tmp_path, name, 1)
    splits.drop(Place.of(tmp_path, SourceError), 7)
    kept = sorted(path.name.partition("-")[0] for path in tmp_path.glob("q/*-*"))
    assert kept == ["10", "3", "8"], "and what is not a batch of ours"
    assert (tmp_path / "2024" / "01-05" / "part-0.parquet").exists()
    assert (tmp_path / "q" / "notes" / "part-0.parquet").exists()
    splits.drop(Place.of(tmp_path / "nowhere", SourceError), 7)


def test_what_cannot_be_deleted_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "no folder").touch()
    with caplog.at_level(logging.WARNING):
        splits.drop(Place.of(tmp_path / "no folder", SourceError), 7)
    assert "could not be deleted" in caplog.text
