"""Disks that are full, folders that may not be read or written, and files that are damaged amid the job."""

from __future__ import annotations

import gzip
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.part_files import PartFile
from headgate.connectors.files.sink import FileSink, FileSinkBuilder
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import SinkError, SourceError
from headgate.functions.sink import SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, sink_context
from headgate.testing.contracts.source import ReaderContext, open_reader, read, read_all

SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])
RECORDS = [{"id": number, "text": os.urandom(8).hex()} for number in range(5_000)]
NOBODY = 65_534

SINKS = {
    "text": lambda folder: FileSink.for_row_format(folder, Encoder.simple_string_encoder()),
    "csv": lambda folder: FileSink.for_row_format(folder, Encoder.csv_encoder(["id", "text"])),
    "json": lambda folder: FileSink.for_row_format(folder, Encoder.json_lines_encoder()),
    "parquet": lambda folder: FileSink.for_bulk_format(folder, BulkWriterFactory.parquet_writer(SCHEMA)),
}
each_sink = pytest.mark.parametrize("sink_to", SINKS.values(), ids=SINKS)


def lines_of(path: Path) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path)).build()


def parquet_of(path: Path) -> FileSource:
    return FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(path)).build()


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can become longer than ten thousand bytes meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything; nobody may not read what is root's."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(own)


def written(writer: SinkWriter[PartFile]) -> list[PartFile]:
    writer.write(RECORDS)
    return writer.prepare_commit(CheckpointId(1))


@each_sink
def test_a_full_disk_is_an_error_with_the_name_of_the_file_and_nothing_is_lost(sink_to: Any, tmp_path: Path) -> None:
    builder: FileSinkBuilder = sink_to(str(tmp_path))
    sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    writer = sink.writer(sink_context())
    with full_disk(), pytest.raises(SinkError, match=r"cannot write '.*\.inprogress'"):
        written(writer)
    with full_disk():
        writer.close()
    committer, writer = sink.committer(sink_context(attempt=2)), sink.writer(sink_context(attempt=2))
    committer.recover([])
    assert list(tmp_path.iterdir()) == []
    committer.commit(written(writer))
    assert [path.name.startswith("part-") for path in tmp_path.iterdir()] == [True]


@each_sink
def test_folder_that_may_not_be_written_is_named(sink_to: Any, tmp_path: Path) -> None:
    sink = sink_to(str(tmp_path)).build()
    tmp_path.chmod(0o555)
    with as_nobody():
        with pytest.raises(SinkError, match=f"cannot write to the folder '{tmp_path}': .*Permission denied"):
            sink.prepare(JOB)
        with pytest.raises(SinkError, match=r"cannot write '.*\.inprogress' on host .*Permission denied"):
            sink.writer(sink_context()).write(RECORDS)


@pytest.mark.parametrize("source_of", [lines_of, parquet_of])
def test_file_that_may_not_be_read_is_named(source_of: Any, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    pq.write_table(pa.table({"id": [1]}), path)
    splits = source_of(path).splits(1)
    path.chmod(0)
    with as_nobody(), pytest.raises(SourceError, match=r"secret'.*Permission denied"):
        open_reader(source_of(path), splits, ReaderContext()).poll(1)


def test_folder_that_may_not_be_listed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    folder.mkdir(0)
    with as_nobody(), pytest.raises(SourceError, match=r"cannot list '.*secret'.*Permission denied"):
        lines_of(folder).splits(1)


@pytest.mark.parametrize("spoil", [lambda data: data[:-20], lambda data: data[:500] + b"\0" * 50 + data[550:]])
def test_damaged_compressed_file_is_named(spoil: Any, tmp_path: Path) -> None:
    data = gzip.compress("".join(f"{record}\n" for record in RECORDS).encode())
    (tmp_path / "in.gz").write_bytes(spoil(data))
    with pytest.raises(SourceError, match=r"cannot read '.*in\.gz'"):
        read_all(lines_of(tmp_path))


def test_parquet_that_is_cut_short_while_it_is_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist(RECORDS), path, row_group_size=1_000, use_dictionary=False)
    source, context = parquet_of(path), ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 1_500)
    os.truncate(path, 1_000)
    with pytest.raises(SourceError, match=r"in\.parquet' had \d+ bytes when .* and has 1000 now"):
        read(reader, context)


def test_parquet_that_is_replaced_while_it_is_read_is_read_as_it_was_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist(RECORDS), path)
    source, context = parquet_of(path), ReaderContext()
    splits = source.splits(1)
    reader = open_reader(source, splits, context)
    read(reader, context, 10)
    path.unlink()
    path.write_bytes(b"another")
    assert len(read(reader, context)) == len(RECORDS) - 10
    with pytest.raises(SourceError, match="files must not change"):
        open_reader(source, splits, context).poll(1)
