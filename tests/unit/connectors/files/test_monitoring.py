"""Files that appear while a job runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Duration
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.line_reader import FileSplit
from headgate.connectors.files.sink import FileSink
from headgate.connectors.files.source import FileSource, FileSourceBuilder
from headgate.connectors.files.stream_format import StreamFormat
from headgate.datastream import StreamExecutionEnvironment
from headgate.errors import ProgramError, SourceError
from headgate.testing.contracts.source import ReaderContext, open_reader, read
from tests.scenarios.runs import Runs, wait_until
from tests.unit.datastream.environments import environment


def lines_of(folder: Path) -> FileSourceBuilder:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))


def monitor(builder: FileSourceBuilder) -> FileSource:
    return builder.monitor_continuously(Duration.of_millis(10)).build()


def ids(source: FileSource, splits: list[Any]) -> frozenset[str]:
    return frozenset(map(source.split_id, splits))


def put(folder: Path, name: str, text: str) -> None:
    """Let a file appear whole."""
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def test_only_new_files_are_found(tmp_path: Path) -> None:
    source = monitor(lines_of(tmp_path))
    assert not source.bounded
    assert source.splits(2) == []
    put(tmp_path, "a", "1\n")
    first = source.discover(frozenset())
    put(tmp_path, "b", "2\n")
    put(tmp_path, "_c", "3\n")
    second = source.discover(ids(source, first))
    assert [split.place.name for split in second] == ["b"]
    assert source.discover(ids(source, first + second)) == []


def test_split_keeps_its_id_while_it_is_read(tmp_path: Path) -> None:
    put(tmp_path, "a", "1\n2\n3\n")
    source = monitor(lines_of(tmp_path))
    splits, context = source.splits(1), ReaderContext()
    reader = open_reader(source, splits, context)
    read(reader, context, 2)
    assert ids(source, reader.snapshot()) == ids(source, splits)


def test_reader_goes_on_with_what_it_is_given_after_the_end(tmp_path: Path) -> None:
    put(tmp_path, "a", "1\n")
    source, context = monitor(lines_of(tmp_path)), ReaderContext()
    first = source.splits(1)
    reader = open_reader(source, first, context)
    assert read(reader, context) == ["1"]
    put(tmp_path, "b", "2\n")
    reader.add_splits(source.discover(ids(source, first)))
    assert read(reader, context) == ["2"]


def test_file_that_grows_is_not_read_twice_and_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "a", "1\n")
    source = monitor(lines_of(tmp_path))
    known = ids(source, source.splits(1))
    put(tmp_path, "a", "1\n2\n")
    assert source.discover(known) == []
    assert source.discover(known) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"'{tmp_path / 'a'}' has changed since it was found: what is new in it is not read"
    ]


def test_file_that_was_cut_in_another_way_is_not_read_twice(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\n" * 2_000_000)
    static, source = lines_of(tmp_path).build(), monitor(lines_of(tmp_path))
    splits = static.splits(4)
    assert len(splits) == 4
    assert source.discover(ids(static, splits)) == []


def test_parts_of_a_file_that_nobody_has_are_found(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(200 << 20)
    source = monitor(lines_of(tmp_path))
    splits = source.splits(1)
    assert [split.end >> 20 for split in splits if isinstance(split, FileSplit) and split.end] == [64, 128, 192, 200]
    assert source.discover(ids(source, splits[:1] + splits[2:])) == splits[1:2]


def test_parquet_is_found_by_row_groups(tmp_path: Path) -> None:
    def write(name: str) -> None:
        pq.write_table(pa.table({"number": range(4)}), tmp_path / name, row_group_size=2)

    write("a")
    source = monitor(FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(tmp_path)))
    first = source.splits(1)
    read_some = [replace(split, row=1) for split in first]  # type: ignore[type-var]
    assert ids(source, read_some) == ids(source, first)
    write("b")
    found = source.discover(ids(source, first))
    assert [(split.place.name, split.part) for split in found] == [("b", "0"), ("b", "1")]


def test_parquet_file_that_cannot_be_read_holds_up_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def write(name: str, values: list[Any]) -> None:
        pq.write_table(pa.table({"number": values}), tmp_path / name)

    write("m", [1])
    source = monitor(FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(tmp_path)))
    known = ids(source, source.splits(1))
    put(tmp_path, "a", "this is no Parquet")
    write("b", ["text"])
    write("z", [2])
    for _ in range(2):
        assert [split.place.name for split in source.discover(known)] == ["z"]
    no_parquet, other_column = [record.getMessage() for record in caplog.records]
    assert f"cannot read '{tmp_path / 'a'}' as Parquet" in no_parquet
    assert f"'{tmp_path / 'b'}': column 'number' is string, but int64 in '{tmp_path / 'm'}'" in other_column
    write("a", [3])
    assert [split.place.name for split in source.discover(known)] == ["a", "z"]


def test_missing_folder_is_an_error_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"there is no file or folder '.*nowhere'"):
        monitor(lines_of(tmp_path / "nowhere")).splits(1)


def test_empty_folder_is_an_error_without_monitoring(tmp_path: Path) -> None:
    assert monitor(lines_of(tmp_path)).splits(1) == []
    with pytest.raises(SourceError, match="there is no file to read in the folder"):
        lines_of(tmp_path).build().splits(1)


def test_interval_must_be_a_time(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="a millisecond or more"):
        lines_of(tmp_path).monitor_continuously(Duration.of_nanos(1))
    number: Any = 5
    with pytest.raises(ProgramError, match=r"monitor_continuously\(\) takes a Duration, such as .*, not 5"):
        lines_of(tmp_path).monitor_continuously(number)


def test_setting_can_be_taken_back(tmp_path: Path) -> None:
    builder = lines_of(tmp_path).monitor_continuously(Duration.of_seconds(1))
    assert builder.process_static_file_set().build().bounded


class FailOnce:
    """Fails at the first record that says so, once."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __call__(self, line: str) -> str:
        if line.startswith("fail") and not self._mark.exists():
            self._mark.touch()
            raise ValueError("planned")
        return line


def test_files_that_appear_while_the_job_runs_and_fails_are_read_once(tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    put(inbox, "0", "0-a\n0-b\n")
    env = environment(
        **{
            "execution__checkpointing__interval": "20 ms",
            "execution__checkpointing__dir": str(tmp_path / "checkpoints"),
            "restart-strategy__type": "fixed-delay",
            "restart-strategy__fixed-delay__delay": "0 ms",
        }
    ).set_parallelism(2)
    sink = FileSink.for_row_format(str(outbox), Encoder.simple_string_encoder()).build()
    env.from_source(monitor(lines_of(inbox)), None, "files").map(FailOnce(tmp_path / "failed")).sink_to(sink)
    job: Any = env.submit()

    expected = ["0-a", "0-b"]

    def written() -> list[str]:
        return sorted(line for path in outbox.rglob("part-*") for line in path.read_text().split())

    def all_is_written() -> bool:
        return written() == sorted(expected)

    for number, text in enumerate(["1-a\n", "2-a\nfail\n2-b\n", "3-a\n3-b\n"], 1):
        wait_until(all_is_written, job)
        put(inbox, str(number), text)
        expected += text.split()
    wait_until(all_is_written, job)
    job.cancel()
    assert job.wait(120.0).status.value == "cancelled"
    assert all_is_written()
    assert job.progress.restarts == 1


def test_a_job_that_is_started_again_reads_what_is_new_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    put(inbox, "1", "1-a\n1-b\n")
    runs = Runs(tmp_path / "checkpoints", monkeypatch)

    def program(parallelism: int) -> StreamExecutionEnvironment:
        env = runs.environment(parallelism)
        sink = FileSink.for_row_format(str(outbox), Encoder.simple_string_encoder()).build()
        env.from_source(monitor(lines_of(inbox)), None, "files").sink_to(sink)
        return env

    def written() -> list[str]:
        return sorted(line for path in outbox.rglob("part-*") for line in path.read_text().split())

    runs.stop(program(2))
    put(inbox, "2", "2-a\n")
    job: Any = program(3).submit()
    wait_until(lambda: written() == ["1-a", "1-b", "2-a"], job)
    seen = len(job.progress.checkpoints)
    wait_until(lambda: len(job.progress.checkpoints) > seen + 1, job)
    job.cancel()
    assert job.wait(120.0).status.value == "cancelled"
    assert written() == ["1-a", "1-b", "2-a"]
