"""Files that appear while a job runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from tests.sample_size import sample_size
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


def test_a_file_that_is_moved_within_the_folder_is_not_found_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "a", "1\n")
    source = monitor(lines_of(tmp_path))
    known = ids(source, source.splits(1))
    (tmp_path / "done").mkdir()
    (tmp_path / "a").rename(tmp_path / "done" / "a")
    put(tmp_path, "b", "2\n")
    found = source.discover(known)
    assert [split.place.name for split in found] == ["b"]
    known |= ids(source, found)
    put(tmp_path, "c", "3\n")  # of the size of the others, at a path that was never taken
    (tmp_path / "done" / "a").rename(tmp_path / "done" / "b")
    assert [split.place.name for split in source.discover(known)] == ["c"]
    assert caplog.records == []


def test_a_log_that_is_rotated_is_not_read_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "log", "1\n")
    source = monitor(lines_of(tmp_path))
    known = ids(source, source.splits(1))
    (tmp_path / "log").rename(tmp_path / "log.1")
    put(tmp_path, "log", "22\n")
    assert source.discover(known) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"'{tmp_path / 'log'}' has changed since it was found: what is new in it is not read"
    ]


def test_a_copy_is_another_file(tmp_path: Path) -> None:
    put(tmp_path, "a", "1\n")
    source = monitor(lines_of(tmp_path))
    known = ids(source, source.splits(1))
    shutil.copy2(tmp_path / "a", tmp_path / "copy")
    (tmp_path / "link").hardlink_to(tmp_path / "a")
    assert [split.place.name for split in source.discover(known)] == ["copy", "link"]


@pytest.mark.parametrize("parquet", [False, True])
def test_a_file_that_is_moved_before_it_is_read_is_read_where_it_is(parquet: bool, tmp_path: Path) -> None:
    if parquet:
        pq.write_table(pa.table({"number": range(4)}), tmp_path / "a", row_group_size=2)
        source = monitor(FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(tmp_path)))
    else:
        put(tmp_path, "a", "0\n1\n2\n3\n")
        source = monitor(lines_of(tmp_path))
    splits, context = source.splits(1), ReaderContext()
    (tmp_path / "done").mkdir()
    (tmp_path / "a").rename(tmp_path / "done" / "a")
    reader = open_reader(source, splits, context)
    found = read(reader, context, 2, endless=True)
    left = reader.snapshot()
    assert ids(source, left) <= ids(source, splits)
    (tmp_path / "done" / "a").rename(tmp_path / "b")
    put(tmp_path, "a", "this is another file")
    found += read(open_reader(source, left, context), context, endless=True)
    assert [int(record["number"] if parquet else record) for record in found] == [0, 1, 2, 3]


def test_a_file_that_is_replaced_at_the_same_size_is_noticed_by_its_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "a", "1\n")
    source = monitor(lines_of(tmp_path))
    splits, context = source.splits(1), ReaderContext()
    put(tmp_path, "a", "2\n")
    os.utime(tmp_path / "a", ns=(0, splits[0].stamp.mtime_ns + 1))  # type: ignore[attr-defined]
    for _ in range(2):
        assert source.discover(ids(source, splits)) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"'{tmp_path / 'a'}' has changed since it was found: what is new in it is not read"
    ]
    with pytest.raises(SourceError, match="was written again since it was found: its modification time differs"):
        read(open_reader(source, splits, context), context, endless=True)


def test_a_file_that_a_backup_has_put_back_is_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(tmp_path, "a", "1\n")
    source = monitor(lines_of(tmp_path))
    known = ids(source, source.splits(1))
    shutil.copy2(tmp_path / "a", tmp_path / ".a")
    (tmp_path / ".a").rename(tmp_path / "a")
    assert source.discover(known) == []
    assert caplog.records == []


def test_splits_of_a_snapshot_from_before_there_were_stamps_are_known_and_read(tmp_path: Path) -> None:
    put(tmp_path, "a", "1\n")
    put(tmp_path, "b", "2\n")
    source, context = monitor(lines_of(tmp_path)), ReaderContext()
    first, _ = source.splits(1)
    old = object.__new__(FileSplit)
    old.__setstate__([first.place, first.size_bytes, 0, first.end])  # type: ignore[attr-defined]
    assert source.split_id(old) == f"{tmp_path / 'a'}#2#2"
    assert [split.place.name for split in source.discover(frozenset([source.split_id(old)]))] == ["b"]
    assert read(open_reader(source, [old], context), context, endless=True) == ["1"]


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["new", "move", "remove", "look"]), st.integers(0, 7), st.integers(0, 7)),
        max_size=25,
    )
)
@settings(max_examples=sample_size(60), deadline=None)
def test_each_file_is_found_once_wherever_it_is_moved(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sub").mkdir()
        places = [folder / each for each in ("a", "b", "c", "d", "sub/a", "sub/b", "sub/c", "sub/d")]
        source, known = monitor(lines_of(folder)), frozenset[str]()
        taken: set[Path] = set()  # a path that had a file which was found is no place for another file
        files: dict[Path, int] = {}
        found: list[int] = []
        for number, (step, one, other) in enumerate([*steps, ("look", 0, 0)]):
            here, there = places[one], places[other]
            if step == "new" and here not in files and here not in taken:
                here.write_text("same size\n")
                os.utime(here, ns=(0, number * 1_000_000_000))
                files[here] = number
            elif step == "move" and here in files and there not in files and there not in taken:
                here.rename(there)
                files[there] = files.pop(here)
            elif step == "remove" and here in files and files[here] in found:
                here.unlink()
                del files[here]
            elif step == "look":
                splits = source.discover(known)
                known |= ids(source, splits)
                found += [files[Path(split.place.path)] for split in splits]
                taken |= {Path(split.place.path) for split in splits}
                assert sorted(found) == sorted(set(found))
                assert set(files.values()) <= set(found)


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
    assert job.wait(120.0).status.word == "cancelled"
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
    assert job.wait(120.0).status.word == "cancelled"
    assert written() == ["1-a", "1-b", "2-a"]
