"""Folders of part files: by time, by columns, by a function of one's own."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from headgate.clock import VirtualClock
from headgate.connectors.files.buckets import BucketAssigner, Buckets
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.part_writer import OPEN_MAX
from headgate.connectors.files.sink import FileSink, FileSinkBuilder
from headgate.errors import ProgramError, SinkError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, sink_context
from headgate.types.row import Row

LEAP_DAY_MS = 1_709_164_800_000
"""2024-02-29T00:00:00Z."""
ORDER = Row("id", "country", "amount")


def json_sink(folder: Path, buckets: BucketAssigner) -> FileSinkBuilder:
    return FileSink.for_row_format(str(folder), Encoder.json_lines_encoder()).with_bucket_assigner(buckets)


def write(sink: FileSink, *batches: list[Any]) -> None:
    """Write the batches and commit them."""
    writer = sink.writer(sink_context())
    for batch in batches:
        writer.write(batch)
    sink.committer(sink_context()).commit(writer.prepare_commit(CheckpointId(1)))


def texts(root: Path) -> dict[str, list[str]]:
    """The lines of the files in each folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(root.rglob("part-*")):
        found.setdefault(path.parent.relative_to(root).as_posix(), []).extend(path.read_text().splitlines())
    return found


def files(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("pattern", "zone", "folder"),
    [
        ("yyyy-MM-dd--HH", "UTC", "2024-02-29--00"),
        ("yyyy/MM/dd/HHmmss", "Asia/Tokyo", "2024/02/29/090000"),
        ("'day='yyyyMMdd", "America/New_York", "day=20240228"),
        ("'100%''s' ''yyyy", "UTC", "100%'s '2024"),
        ("yy.M.d H-m-s", "Z", "24.2.29 0-0-0"),
        ("uuuu EEE dd MMM hh a SSS", "GMT-08:00", "2024 Wed 28 Feb 04 PM 000"),
        ("DDD EEEE MMMM HHmm", "+0530", "060 Thursday February 0530"),
    ],
    ids=str,
)
def test_time_of_day_is_named_by_a_pattern(pattern: str, zone: str, folder: str, tmp_path: Path) -> None:
    builder = json_sink(tmp_path, BucketAssigner.date_time_bucket_assigner(pattern, zone))
    builder.clock = VirtualClock(LEAP_DAY_MS)
    write(builder.build(), [1, 2])
    assert texts(tmp_path) == {folder: ["1", "2"]}


def test_the_next_hour_has_a_file_of_its_own(tmp_path: Path) -> None:
    clock = VirtualClock(LEAP_DAY_MS)
    builder = json_sink(tmp_path, BucketAssigner.date_time_bucket_assigner(timezone_id="UTC"))
    builder.clock = clock
    sink = builder.build()
    writer = sink.writer(sink_context())
    writer.write([1])
    clock.advance(3_600_000)
    writer.write([2])
    sink.committer(sink_context()).commit(writer.prepare_commit(CheckpointId(1)))
    assert texts(tmp_path) == {"2024-02-29--00": ["1"], "2024-02-29--01": ["2"]}


def test_patterns_and_zones_that_are_not_known_are_refused() -> None:
    with pytest.raises(ProgramError, match="'QQ' in the pattern 'yyyy-QQ' is not known"):
        BucketAssigner.date_time_bucket_assigner("yyyy-QQ")
    for zone in ("Mars/Base", "GMT-19", "../UTC"):
        with pytest.raises(ProgramError, match=f"no time zone '{zone}'"):
            BucketAssigner.date_time_bucket_assigner(timezone_id=zone)


@pytest.mark.parametrize("make", [lambda *values: ORDER(*values), lambda *values: ORDER(*values).as_dict()])
def test_columns_are_in_the_name_of_the_folder_and_not_in_the_file(make: Any, tmp_path: Path) -> None:
    buckets = BucketAssigner.partition_bucket_assigner("country", large=lambda order: order["amount"] > 5)
    write(json_sink(tmp_path, buckets).build(), [make(1, "NO", 4), make(2, "SE", 9)], [make(3, "NO", 2)])
    assert texts(tmp_path) == {
        "country=NO/large=false": ['{"id":1,"amount":4}', '{"id":3,"amount":2}'],
        "country=SE/large=true": ['{"id":2,"amount":9}'],
    }


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("a/b=c%", "a%2Fb%3Dc%25"),
        ("..", ".."),
        ("å\n", "å%0A"),
        (None, "__HIVE_DEFAULT_PARTITION__"),
        ("", "__HIVE_DEFAULT_PARTITION__"),
        (True, "true"),
        (1.5, "1.5"),
        (Decimal("1.10"), "1.10"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (datetime.datetime(2024, 2, 29, 1, 2), "2024-02-29 01%3A02%3A00"),
    ],
    ids=str,
)
def test_values_are_written_as_hive_and_spark_do(value: Any, name: str, tmp_path: Path) -> None:
    write(json_sink(tmp_path, BucketAssigner.partition_bucket_assigner("key")).build(), [{"key": value, "x": 1}])
    assert texts(tmp_path) == {f"key={name}": ['{"x":1}']}


@pytest.mark.parametrize(
    ("record", "trouble"),
    [
        ({"x": 1}, "lacks one of the partition columns key"),
        (Row("x")(1), "lacks one of the partition columns key"),
        ((1, 2), "has no columns: map it to a row with names, or to a dict"),
        ({"key": [1]}, r"cannot be put into a partition: \[1\] is a list"),
    ],
    ids=str,
)
def test_record_without_a_partition_is_named(record: Any, trouble: str, tmp_path: Path) -> None:
    sink = json_sink(tmp_path, BucketAssigner.partition_bucket_assigner("key")).build()
    with pytest.raises(SinkError, match=trouble):
        sink.writer(sink_context()).write([record])


def test_record_for_which_a_partition_function_fails_is_named(tmp_path: Path) -> None:
    buckets = BucketAssigner.partition_bucket_assigner(day=lambda order: order["time"][:10])
    writer = json_sink(tmp_path, buckets).build().writer(sink_context())
    trouble = r"column day fails for the record \{'id': 2, 'time': None\}: TypeError: 'NoneType' object is not"
    with pytest.raises(SinkError, match=trouble) as caught:
        writer.write([{"id": 1, "time": "2024-02-29T10:00"}, {"id": 2, "time": None}])
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize("columns", [(), ("a", "a")], ids=str)
def test_partition_columns_that_make_no_sense_are_refused(columns: tuple[str, ...]) -> None:
    with pytest.raises(ProgramError, match="give at least one partition column, and each only once"):
        BucketAssigner.partition_bucket_assigner(*columns)


@pytest.mark.parametrize("name", ["_day", ".day"])
def test_partition_columns_whose_folders_would_be_hidden_are_refused(name: str) -> None:
    with pytest.raises(ProgramError, match=f"partition column {name} would be hidden"):
        BucketAssigner.partition_bucket_assigner(**{name: lambda order: order["day"]})


def test_partitioned_parquet_is_read_by_others(tmp_path: Path) -> None:
    factory = BulkWriterFactory.parquet_writer(pa.schema([("id", pa.int64()), ("amount", pa.int64())]))
    buckets = BucketAssigner.partition_bucket_assigner("country")
    sink = FileSink.for_bulk_format(str(tmp_path), factory).with_bucket_assigner(buckets).build()
    write(sink, [ORDER(1, "NO/x", 4), ORDER(2, "SE", 9)])
    rows = ds.dataset(tmp_path, partitioning="hive").to_table().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "amount": 4, "country": "NO/x"}, {"id": 2, "amount": 9, "country": "SE"}]


class ByName(BucketAssigner):
    """The folder that the record names."""

    def assign(self, records: list[Any], wall_ms: int) -> Buckets:
        return {str(record): [record] for record in records}


def test_assigner_may_be_of_ones_own(tmp_path: Path) -> None:
    write(json_sink(tmp_path, ByName()).build(), ["a/b", "c"])
    assert texts(tmp_path) == {"a/b": ['"a/b"'], "c": ['"c"']}


@pytest.mark.parametrize("folder", ["/etc", "../up", "a//b", "_hidden", ".hidden", "a/.."])
def test_folder_that_is_hidden_or_outside_is_refused(folder: str, tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="cannot be a folder of part files"):
        json_sink(tmp_path, ByName()).build().writer(sink_context()).write([folder])
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made_is_an_error_before_anything_is_prepared(tmp_path: Path) -> None:
    writer = json_sink(tmp_path, ByName()).build().writer(sink_context())
    (tmp_path / "taken").touch()
    for folder in ("x" * 300, "taken"):
        with pytest.raises(SinkError, match=r"cannot write '.*\.inprogress' on host"):
            writer.write([folder])
    assert writer.prepare_commit(CheckpointId(1)) == []


def test_folder_that_is_gone_is_made_again(tmp_path: Path) -> None:
    sink = json_sink(tmp_path, ByName()).build()
    writer = sink.writer(sink_context())
    writer.write(["a"])
    (tmp_path / "a").rmdir()
    sink.committer(sink_context()).commit(writer.prepare_commit(CheckpointId(1)))
    assert texts(tmp_path) == {"a": ['"a"']}


def test_number_of_open_files_is_bounded(tmp_path: Path) -> None:
    sink = json_sink(tmp_path, ByName()).build()
    writer = sink.writer(sink_context())
    for number in range(OPEN_MAX):
        writer.write([f"k{number}"])
    for name in ("k0", "one-more", "k0", "k1"):
        writer.write([name])
    parts = writer.prepare_commit(CheckpointId(1))
    sink.committer(sink_context()).commit(parts)
    # k0 was used again before there were too many; k1 was the one without records for longest, and began again.
    counts = {folder: len(list((tmp_path / folder).iterdir())) for folder in ("k0", "k1", "k2", "one-more")}
    assert counts == {"k0": 1, "k1": 2, "k2": 1, "one-more": 1}
    assert len(parts) == OPEN_MAX + 2


def test_leftovers_for_all_folders_are_removed(tmp_path: Path) -> None:
    sink = json_sink(tmp_path, ByName()).build()
    sink.writer(sink_context()).write(["a", "b/c"])
    writer = sink.writer(sink_context(subtask=1))
    writer.write(["d"])
    kept = writer.prepare_commit(CheckpointId(1))
    sink.committer(sink_context(attempt=2)).recover([])
    assert files(tmp_path) == [Path(kept[0].pending.path).name]
    sink.discard(JOB)
    assert files(tmp_path) == []
