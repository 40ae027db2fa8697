"""Files that cannot be read: the job fails, leaves them out, or tells of them in a side output."""

from __future__ import annotations

import gzip
import json
import logging
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Duration, Types, WatermarkStrategy
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.byte_stream import FileByteStream
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.file_errors import FailedFile, FileErrors, UnreadableFileError
from headgate.connectors.files.places import Place
from headgate.connectors.files.sink import FileSink
from headgate.connectors.files.source import FileSource, FileSourceBuilder
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import OutputTag, StreamExecutionEnvironment
from headgate.datastream.formats.avro import AvroInputFormat, AvroSchema
from headgate.errors import ProgramError, SourceError
from headgate.testing.contracts.source import ReaderContext, open_reader, read
from tests.scenarios.runs import wait_until
from tests.unit.datastream.environments import environment

BAD = OutputTag("bad")
LINES = [f"line {number} " + "x" * (number % 7) for number in range(60_000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


def lines_of(folder: Path) -> FileSourceBuilder:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def half_written_gz(path: Path) -> None:
    path.write_bytes(half(gzip.compress(TEXT, 1)))


def half_written_xz(path: Path) -> None:
    path.with_suffix(".xz").write_bytes(half(lzma.compress(TEXT, preset=0)))


def no_gz(path: Path) -> None:
    path.write_bytes(b"this is no gzip")


@pytest.mark.parametrize("write", [half_written_gz, half_written_xz, no_gz])
def test_a_damaged_file_fails_the_job_unless_it_is_skipped_and_counted(
    write: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a").write_text("first\n")
    write(tmp_path / "b.gz")
    (tmp_path / "c").write_text("last\n")
    failing, context = lines_of(tmp_path).build(), ReaderContext()
    reader = open_reader(failing, failing.splits(1), context)
    with pytest.raises(UnreadableFileError, match=r"cannot read '.*b\.[gx]z'"):
        read(reader, context)
    reader.close()
    skipping = lines_of(tmp_path).on_error(FileErrors.skip()).build()
    reader = open_reader(skipping, skipping.splits(1), context)
    found = read(reader, context)
    reader.close()
    assert (found[0], found[-1]) == ("first", "last")
    assert found[1:-1] == LINES[: len(found) - 2]
    assert len(found) - 2 < len(LINES)
    assert context.counters == {"skipped_files": 1}
    assert [record.getMessage()[:32] for record in caplog.records] == ["a file is left out: cannot read "]


def test_a_file_that_was_removed_before_it_was_read_is_skipped_and_told_of(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"{name}\n")
    source, context = lines_of(tmp_path).on_error(FileErrors.side_output(BAD)).build(), ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    (tmp_path / "a").unlink()
    (tmp_path / "c").unlink()
    assert read(reader, context) == ["b"]
    assert context.counters == {"skipped_files": 2}
    told = [
        (
            "bad",
            FailedFile(
                str(path), f"the file {str(path)!r} is gone, or this host does not see it; files must be shared", 2
            ),
        )
        for path in (tmp_path / "a", tmp_path / "c")
    ]
    assert context.sides == told


@pytest.mark.parametrize("monitored", [False, True])
def test_a_skipped_file_is_no_part_of_the_snapshot(monitored: bool, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"{name}\n")
    builder = lines_of(tmp_path).on_error(FileErrors.skip())
    source = (builder.monitor_continuously(Duration.of_seconds(1)) if monitored else builder).build()
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    (tmp_path / "b").unlink()
    assert read(reader, context, 1, endless=monitored) == ["a"]
    while context.counters["skipped_files"] == 0:
        reader.poll(1)
    left = reader.snapshot()
    assert [split.place.name for split in left] == ["c"]
    again = open_reader(source, left, context)
    assert read(again, context, endless=monitored) == ["c"]


def write_parquet(path: Path, values: list[Any]) -> None:
    pq.write_table(pa.table({"number": values}), path, row_group_size=2)


def test_parquet_files_that_are_broken_at_the_start_are_skipped(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a", [1, 2, 3, 4])
    (tmp_path / "b").write_text("this is no Parquet")
    write_parquet(tmp_path / "c", ["text"])
    write_parquet(tmp_path / "d", [5])
    builder = FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(tmp_path))
    with pytest.raises(SourceError, match=r"b' as Parquet"):
        builder.build().splits(1)
    source, context = builder.on_error(FileErrors.side_output(BAD)).build(), ReaderContext()
    splits = source.splits(1)
    assert [row["number"] for row in read(open_reader(source, splits, context), context)] == [1, 2, 3, 4, 5]
    assert sorted(Path(file.path).name for _, file in context.sides) == ["b", "c"]
    assert context.counters == {"skipped_files": 2}
    assert len({source.split_id(split) for split in splits}) == len(splits)


def test_a_damaged_row_group_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    pq.write_table(pa.table({"number": list(range(4000))}), path, row_group_size=1000, compression="none")
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 2000)
    source = FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(tmp_path)).on_error(FileErrors.skip())
    built, context = source.build(), ReaderContext()
    found = [row["number"] for row in read(open_reader(built, built.splits(1), context), context)]
    assert found == [*range(1000), *range(2000, 4000)]
    assert context.counters == {"skipped_files": 1}


def test_a_file_that_is_no_avro_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_text("this is no Avro")
    schema = AvroSchema.parse_string(
        json.dumps({"type": "record", "name": "N", "fields": [{"name": "n", "type": "long"}]})
    )
    given = AvroInputFormat(str(tmp_path), schema)._format
    source, context = (
        FileSource.for_bulk_file_format(given, str(tmp_path)).on_error(FileErrors.skip()).build(),
        ReaderContext(),
    )
    assert read(open_reader(source, source.splits(1), context), context) == []
    assert context.counters == {"skipped_files": 1}


def test_a_broken_line_is_not_a_broken_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"id":\n')
    lines = FileSource.for_record_stream_format(StreamFormat.json_lines_format(), str(tmp_path))
    source, context = lines.on_error(FileErrors.skip()).build(), ReaderContext()
    with pytest.raises(SourceError, match=r"BrokenLines\.SKIP"):
        read(open_reader(source, source.splits(1), context), context)


class LostConnection:
    """What a stream of an object store is when the store does not answer."""

    def read(self, size: int) -> bytes:
        raise OSError("AWS Error NETWORK_CONNECTION")


def test_trouble_with_the_store_is_not_the_fault_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(TEXT))
    stream = FileByteStream(Place.of(tmp_path / "a.gz", SourceError), 0, None)
    assert stream._packed is not None
    stream._packed._stream = LostConnection()
    with pytest.raises(SourceError, match="NETWORK_CONNECTION") as caught:
        stream.read()
    assert type(caught.value) is SourceError


def test_only_policies_of_files_are_taken(tmp_path: Path) -> None:
    tag: Any = "bad"
    with pytest.raises(ProgramError, match=r"takes an OutputTag, such as OutputTag\('bad'\)"):
        FileErrors.side_output(tag)
    with pytest.raises(ProgramError, match="are FailedFile objects, but its type is String: leave the type out"):
        FileErrors.side_output(OutputTag("bad", Types.STRING()))
    with pytest.raises(ProgramError, match=r"on_error\(\) takes a FileErrors"):
        lines_of(tmp_path).on_error(tag)


def bad_files(env: StreamExecutionEnvironment, folder: Path, strategy: WatermarkStrategy | None) -> tuple[Any, Any]:
    source = lines_of(folder).on_error(FileErrors.side_output(BAD)).build()
    stream = env.from_source(source, strategy, "files")
    return stream, stream.get_side_output(BAD).map(lambda file: f"bad {Path(file.path).name}")


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_program_reads_the_side_output_of_a_source(mode: str, timed: bool, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b.gz").write_text("this is no gzip")
    (tmp_path / "c").write_text("3\n")
    env = environment(**{"execution__runtime-mode": mode}).set_parallelism(2)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda line, _: int(line))
    lines, bad = bad_files(env, tmp_path, by_time if timed else None)
    with lines.union(bad).execute_and_collect() as found:
        assert sorted(found) == ["1", "2", "3", "bad b.gz"]


@pytest.mark.parametrize("limited", [False, True])
def test_a_side_output_that_nothing_reads_is_refused(limited: bool, tmp_path: Path) -> None:
    env = environment()
    source: Any = lines_of(tmp_path).on_error(FileErrors.side_output(BAD)).build()
    env.from_source(RateLimitedSource(source, 5) if limited else source, None, "files").print()
    with pytest.raises(ProgramError, match=r"what operator 'files' fails for would be lost: .*FileErrors.skip\(\)"):
        env.execute()


def test_a_monitored_folder_goes_on_and_tells_once_of_each_bad_file_though_the_job_restarts(tmp_path: Path) -> None:
    inbox, outbox = tmp_path / "in", tmp_path / "out"
    inbox.mkdir()
    env = environment(
        **{
            "execution__checkpointing__interval": "20 ms",
            "execution__checkpointing__dir": str(tmp_path / "checkpoints"),
            "restart-strategy__type": "fixed-delay",
            "restart-strategy__fixed-delay__delay": "0 ms",
        }
    ).set_parallelism(2)
    source = lines_of(inbox).on_error(FileErrors.side_output(BAD)).monitor_continuously(Duration.of_millis(10)).build()
    lines = env.from_source(source, None, "files")
    bad = lines.get_side_output(BAD).map(lambda file: f"bad {Path(file.path).name}")
    failed = tmp_path / "failed"

    def fail_once(line: str) -> str:
        if line == "2" and not failed.exists():
            failed.touch()
            raise ValueError("planned")
        return line

    sink = FileSink.for_row_format(str(outbox), Encoder.simple_string_encoder()).build()
    lines.union(bad).map(fail_once).sink_to(sink)
    job: Any = env.submit()

    def written() -> list[str]:
        return sorted(line for path in outbox.rglob("part-*") for line in path.read_text().splitlines())

    expected: list[str] = []

    def all_is_written() -> bool:
        return written() == sorted(expected)

    for number in range(4):
        (inbox / f".{number}").write_text(f"{number}\n")
        (inbox / f".{number}").rename(inbox / f"{number}")
        (inbox / f".{number}.gz").write_text("this is no gzip")
        (inbox / f".{number}.gz").rename(inbox / f"{number}.gz")
        expected += [f"{number}", f"bad {number}.gz"]
        wait_until(all_is_written, job)
    job.cancel()
    job.wait(120.0)
    assert job.progress.restarts == 1
    assert written() == sorted(expected)


def test_an_unreadable_file_fails_a_job_by_default_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    (tmp_path / "b.gz").write_text("this is no gzip")
    env = environment()
    env.from_source(lines_of(tmp_path).build(), None, "files").print()
    with pytest.raises(Exception, match=f"cannot read '{os.fspath(tmp_path / 'b.gz')}'"):
        env.execute()
