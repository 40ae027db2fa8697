"""Files as sources and sinks in an object store, which has no rename: a server of S3's protocol on this machine."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.part_files import PartFile
from headgate.connectors.files.places import Place
from headgate.connectors.files.sink import FileSink
from headgate.connectors.files.source import FileSource, FileSourceBuilder
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.rate import RateLimitedSource
from headgate.errors import SinkError, SourceError
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import (
    JOB,
    SAVEPOINT,
    SINK_CHECKS,
    SinkCase,
    check_stops_at_any_point_give_each_record_once,
    sink_context,
)
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase, read_all
from headgate.types.typeinfo import Types
from tests.contract import file_sinks
from tests.contract.buckets import FolderOf
from tests.contract.file_sinks import Folders, read
from tests.sample_size import sample_size
from tests.unit.datastream.environments import environment

pytestmark = pytest.mark.slow

WORDS = [f"word-{index}" for index in range(40)]
RECORDS = 400


def put(folder: str, name: str, data: bytes) -> None:
    place = Place.of(folder, SourceError).child(name)
    with place.system.open_output_stream(place.path, compression=None) as stream:
        stream.write(data)


def lines(folder: str) -> SourceCase:
    put(folder, "1.txt", "\n".join(WORDS[:25]).encode())
    put(folder, "below/2.txt", b"")
    put(folder, "b.gz", gzip.compress("\n".join(WORDS[25:]).encode()))
    return SourceCase(source=lines_of(folder).build(), expected=WORDS)


def lines_of(folder: str) -> FileSourceBuilder:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder)


def parquet(folder: str) -> SourceCase:
    data = pa.BufferOutputStream()
    pq.write_table(pa.table({"number": range(40), "word": WORDS}), data, row_group_size=15)
    put(folder, "in.parquet", data.getvalue().to_pybytes())
    source = FileSource.for_bulk_file_format(BulkFormat.parquet_format(["word"]), folder).build()
    return SourceCase(source=source, expected=[{"word": word} for word in WORDS])


SOURCES = [lines, parquet]
"""Files that are read from their beginning, and those that are not: more formats tell nothing of a store."""


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", SOURCES, ids=lambda case: case.__name__)
def test_source(case: Callable[[str], SourceCase], check: Callable[[SourceCase], None], new_folder: FolderOf) -> None:
    check(replace(case(new_folder()), histories=sample_size(40)))


CHECKED = [
    pytest.param(
        case,
        check,
        id=f"{case.__name__}-{check.__name__}",
        marks=pytest.mark.soak if case is file_sinks.parquet else (),  # one object for each file, as one of lines is
    )
    for case in (file_sinks.lines, file_sinks.many_small_json_files, file_sinks.parquet)
    for check in SINK_CHECKS
    # Each example writes some hundred files; files of lines do for all formats there.
    if case is file_sinks.lines or check is not check_stops_at_any_point_give_each_record_once
]


@pytest.mark.parametrize(("case", "check"), CHECKED)
def test_sink(case: Callable[[Folders], SinkCase], check: Callable[[SinkCase], None], new_folder: FolderOf) -> None:
    check(replace(case(Folders(new_folder)), histories=sample_size(40)))


def test_missing_folder_and_bucket_are_named_without_the_key(new_folder: FolderOf) -> None:
    folder = new_folder()
    for place in (folder, folder.replace("@bucket", "@nowhere")):
        with pytest.raises(SourceError, match=r"s3://(bucket|nowhere)/") as caught:
            read_all(lines_of(place).build())
        assert "secret" not in str(caught.value)


def test_folder_that_cannot_be_written_is_named_without_the_key(new_folder: FolderOf) -> None:
    sink = FileSink.for_row_format(new_folder().replace("@bucket", "@nowhere"), Encoder.json_lines_encoder()).build()
    with pytest.raises(SinkError, match=r"s3://nowhere/") as caught:
        sink.writer(sink_context()).write([1])
    assert "secret" not in str(caught.value)


# --- a commit is a copy and a delete


def prepared(folder: str) -> tuple[FileSink, PartFile]:
    builder = FileSink.for_row_format(folder, Encoder.json_lines_encoder())
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    sink.prepare(JOB)
    writer = sink.writer(sink_context())
    writer.write([1, 2])
    [part] = writer.prepare_commit(CheckpointId(1))
    return sink, part


def copy(part: PartFile) -> None:
    """Do the first half of a commit, as one that is stopped amid it."""
    part.pending.system.copy_file(part.pending.path, part.final.path)


def seen(folder: str) -> list[Any]:
    return list(read(folder, lambda _, data: [json.loads(line) for line in data.splitlines()]))


def names(folder: str) -> list[str]:
    return sorted(path for path in paths(folder) if "owner" not in path)


def paths(folder: str) -> list[str]:
    place = Place.of(folder, SinkError)
    return [info.base_name for info in place.system.get_file_info(fs.FileSelector(place.path))]


def test_commit_that_was_stopped_between_copy_and_delete_is_completed_by_the_next_attempt(new_folder: FolderOf) -> None:
    folder = new_folder()
    sink, part = prepared(folder)
    copy(part)
    assert seen(folder) == [1, 2]
    committer = sink.committer(sink_context(attempt=2))
    committer.recover([part])
    committer.commit([part])
    assert seen(folder) == [1, 2]
    assert names(folder) == [part.final.name]


def test_copy_that_nobody_deletes_is_found_when_a_later_checkpoint_is_restored(new_folder: FolderOf) -> None:
    folder = new_folder()
    sink, part = prepared(folder)
    copy(part)
    sink.committer(sink_context(attempt=2)).recover([])
    assert names(folder) == [part.final.name]


def test_dead_attempt_that_is_amid_the_same_commit_changes_nothing(new_folder: FolderOf) -> None:
    folder = new_folder()
    sink, part = prepared(folder)
    copy(part)
    sink.committer(sink_context(attempt=2)).commit([part])
    part.pending.system.delete_file(part.final.path)  # somebody has read it, and taken it away
    with pytest.raises(SinkError, match="lost"):
        sink.committer(sink_context()).commit([part])
    assert seen(folder) == []


def test_what_a_savepoint_holds_outlives_the_job_also_when_it_was_copied(new_folder: FolderOf) -> None:
    folder = new_folder()
    sink, part = prepared(folder)
    committer = sink.committer(sink_context())
    committer.keep([part], SAVEPOINT)
    copy(part)
    sink.discard(JOB)
    committer.commit([part])
    assert seen(folder) == [1, 2]
    assert names(folder) == [part.final.name]


class FailOnce:
    """Fails for one record, the first time."""

    failed = False

    def __call__(self, record: Any) -> Any:
        if record.number == RECORDS * 3 // 4 and not FailOnce.failed:
            FailOnce.failed = True
            raise ValueError("planned")
        return record


def test_job_from_bucket_to_bucket_gives_each_record_once_through_a_failure(new_folder: FolderOf) -> None:
    inbox, outbox = new_folder(), new_folder()
    for name in ("1.jsonl", "2.jsonl"):
        put(inbox, name, "".join(f'{{"number":{number}}}\n' for number in range(RECORDS)).encode())
    FailOnce.failed = False
    env = environment(
        **{
            "execution__checkpointing__interval": "50 ms",
            "execution__checkpointing__dir": new_folder(),
            "restart-strategy__type": "fixed-delay",
            "restart-strategy__fixed-delay__delay": "0 ms",
        }
    )
    numbers = StreamFormat.json_lines_format(Types.ROW_NAMED(["number"], [Types.LONG()]))
    source = RateLimitedSource(FileSource.for_record_stream_format(numbers, inbox).build(), 2 * RECORDS)
    factory = BulkWriterFactory.parquet_writer(pa.schema([("number", pa.int64())]))
    sink = FileSink.for_bulk_format(outbox, factory)
    sink.with_bucket_assigner(BucketAssigner.partition_bucket_assigner(third=lambda row: row.number % 3))
    env.from_source(source, None, "numbers").map(FailOnce()).sink_to(sink.build())
    env.execute()
    assert FailOnce.failed

    def decode(name: str, data: bytes) -> list[tuple[str, int]]:
        folder = name.partition("/")[0]
        return [(folder, number) for number in pq.read_table(pa.BufferReader(data))["number"].to_pylist()]

    written = Counter(read(outbox, decode))
    assert written == Counter({(f"third={number % 3}", number): 2 for number in range(RECORDS)})
