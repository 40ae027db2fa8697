"""Sinks of files, in every format: cases for the contract of sinks, on disks and in object stores."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.places import Place
from headgate.connectors.files.rolling import RollingPolicy
from headgate.connectors.files.sink import FileSink, FileSinkBuilder
from headgate.errors import SinkError
from headgate.testing.contracts.sink import SinkCase, SinkTarget
from headgate.types.row import Row

WORDS = [f"word-{index}" for index in range(16)]
ROW = Row("number", "word")
Decode = Callable[[str, bytes], Iterable[Any]]
SCHEMA = pa.schema([("number", pa.int64()), ("word", pa.string())])


class Folders:
    """Empty folders, and what readers see in them, on disk or in an object store."""

    def __init__(self, new: Callable[[], str]) -> None:
        self.new = new

    def case(self, builder_of: Callable[[str], FileSinkBuilder], decode: Decode, records: list[Any]) -> SinkCase:
        """Return the case of a sink whose files are decoded by `decode`, given the name and the bytes of each."""

        def fresh() -> SinkTarget:
            folder = self.new()
            place = Place.of(folder, SinkError)
            place.system.create_dir(place.path, recursive=True)
            return SinkTarget(sink=builder_of(folder).build(), read=lambda: list(read(folder, decode)))

        return SinkCase(fresh=fresh, records=records)


def read(folder: str, decode: Decode) -> Iterator[Any]:
    """Read the files that Spark, Flink and `ls` show."""
    place = Place.of(folder, SinkError)
    for info in place.system.get_file_info(fs.FileSelector(place.path, recursive=True, allow_not_found=True)):
        name = info.path.removeprefix(place.path).strip("/")
        if info.is_file and not any(part.startswith((".", "_")) for part in name.split("/")):
            with place.system.open_input_stream(info.path) as stream:
                yield from decode(name, stream.read())


def lines(folders: Folders) -> SinkCase:
    encoder = Encoder.simple_string_encoder()
    return folders.case(
        lambda folder: FileSink.for_row_format(folder, encoder), lambda _, data: data.decode().splitlines(), WORDS
    )


def many_small_json_files(folders: Folders) -> SinkCase:
    rolling = RollingPolicy.default_rolling_policy(part_size=1)
    return folders.case(
        lambda folder: FileSink.for_row_format(folder, Encoder.json_lines_encoder()).with_rolling_policy(rolling),
        lambda _, data: [json.loads(line) for line in data.splitlines()],
        [{"word": word} for word in WORDS],
    )


def csv_in_partitions(folders: Folders) -> SinkCase:
    buckets = BucketAssigner.partition_bucket_assigner("number")

    def decode(name: str, data: bytes) -> Iterator[Any]:
        number = int(name.partition("/")[0].removeprefix("number="))
        assert name.endswith(".csv")
        header, *fields = csv.reader(data.decode().splitlines())
        assert header == ["word"]
        return (ROW(number, word) for [word] in fields)

    return folders.case(
        lambda folder: FileSink.for_row_format(folder, Encoder.csv_encoder(["word"])).with_bucket_assigner(buckets),
        decode,
        [ROW(number // 3, word) for number, word in enumerate(WORDS)],
    )


def parquet(folders: Folders) -> SinkCase:
    factory = BulkWriterFactory.parquet_writer(SCHEMA)
    return folders.case(
        lambda folder: FileSink.for_bulk_format(folder, factory),
        lambda _, data: [ROW(*row.values()) for row in pq.read_table(pa.BufferReader(data)).to_pylist()],
        [ROW(number, word) for number, word in enumerate(WORDS)],
    )


CASES = [lines, many_small_json_files, csv_in_partitions, parquet]
