"""The contract of sources, on each source."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastavro import writer
from pyarrow import orc

from headgate.columns.logical_types import BIGINT, STRING
from headgate.columns.schema import Schema
from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.formats.avro_columns import AvroColumnsFormat
from headgate.connectors.formats.avro_files import AvroInputFormat
from headgate.connectors.formats.avro_parquet import AvroParquetReaders
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.csv_columns import CsvColumns, CsvColumnsFormat
from headgate.connectors.formats.csv_files import CsvReaderFormat
from headgate.connectors.formats.csv_schema import CsvSchema
from headgate.connectors.formats.orc_source import OrcFormat
from headgate.connectors.generated_columns import GeneratedColumnsSource, sequence
from headgate.connectors.hybrid import HybridSource
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase
from headgate.types.csv_dialect import CsvDialect
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.sample_size import sample_size
from tests.simulation.alignment_programs import RECORDS, Partitions

WORDS = [f"word-{index}" for index in range(40)]


def collection(_: Path) -> SourceCase:
    return SourceCase(source=CollectionSource(WORDS), expected=WORDS)


def numbers(_: Path) -> SourceCase:
    return SourceCase(source=NumberSequenceSource(-7, 30), expected=list(range(-7, 31)))


def generated(_: Path) -> SourceCase:
    return SourceCase(source=DataGeneratorSource(lambda index: index * index, 40), expected=[i * i for i in range(40)])


def generated_at_a_rate(_: Path) -> SourceCase:
    return SourceCase(source=DataGeneratorSource(str, 40, 100), expected=[str(i) for i in range(40)])


def rate_limited(_: Path) -> SourceCase:
    return SourceCase(source=RateLimitedSource(NumberSequenceSource(0, 39), 1_000), expected=list(range(40)))


def lines(folder: Path) -> SourceCase:
    (folder / "in").mkdir()
    (folder / "in" / "1.txt").write_text("".join(f"{word}\n" for word in WORDS[:25]))
    (folder / "in" / "2.txt").write_text("\n".join(WORDS[25:]))
    stream_format = StreamFormat.text_line_format()
    return SourceCase(
        source=FileSource.for_record_stream_format(stream_format, str(folder / "in")).build(), expected=WORDS
    )


def compressed_lines(folder: Path) -> SourceCase:
    (folder / "in.gz").write_bytes(gzip.compress("\n".join(WORDS).encode()))
    stream_format = StreamFormat.text_line_format()
    return SourceCase(
        source=FileSource.for_record_stream_format(stream_format, str(folder / "in.gz")).build(), expected=WORDS
    )


def csv_rows(folder: Path) -> SourceCase:
    names = Row("number", "word")
    (folder / "in.csv").write_text("number,word\n" + "".join(f"{i},{word}\n" for i, word in enumerate(WORDS)))
    types = Types.ROW_NAMED(["number", "word"], [Types.LONG(), Types.STRING()])
    stream_format = StreamFormat.csv_format(CsvOptions(types=types))
    return SourceCase(
        source=FileSource.for_record_stream_format(stream_format, str(folder / "in.csv")).build(),
        expected=[names(i, word) for i, word in enumerate(WORDS)],
    )


def json_lines(folder: Path) -> SourceCase:
    (folder / "in.jsonl").write_text("".join(f'{{"number":{i},"word":"{word}"}}\n' for i, word in enumerate(WORDS)))
    return SourceCase(
        source=FileSource.for_record_stream_format(StreamFormat.json_lines_format(), str(folder / "in.jsonl")).build(),
        expected=[{"number": i, "word": word} for i, word in enumerate(WORDS)],
    )


def parquet_rows(folder: Path) -> SourceCase:
    rows = [{"number": i, "word": word} for i, word in enumerate(WORDS)]
    (folder / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:30]), folder / "in" / "1.parquet", row_group_size=8)
    pq.write_table(pa.Table.from_pylist(rows[30:]), folder / "in" / "2.parquet")
    return SourceCase(
        source=FileSource.for_bulk_file_format(BulkFormat.parquet_format(), str(folder / "in")).build(), expected=rows
    )


WORD_SCHEMA = AvroSchema(
    '{"type":"record","name":"Word","fields":[{"name":"number","type":"long"},{"name":"word","type":"string"}]}'
)


def avro_records(folder: Path) -> SourceCase:
    records = [{"number": i, "word": word} for i, word in enumerate(WORDS)]
    (folder / "in").mkdir()
    for name, some in {"1.avro": records[:30], "2.avro": records[30:]}.items():
        with (folder / "in" / name).open("wb") as file:
            writer(file, WORD_SCHEMA.parsed, some, sync_interval=1)  # a block for each record
    return SourceCase(source=AvroInputFormat(str(folder / "in"), WORD_SCHEMA).source(), expected=records)


def avro_records_in_parquet(folder: Path) -> SourceCase:
    case = parquet_rows(folder)
    readers = AvroParquetReaders.for_generic_record(WORD_SCHEMA)
    source = FileSource.for_record_stream_format(readers, str(folder / "in")).build()
    return SourceCase(source=source, expected=case.expected)


def csv_by_a_schema(folder: Path) -> SourceCase:
    (folder / "in.csv").write_text("\n".join(["number,word", *(f'{i},"{word}\n"' for i, word in enumerate(WORDS))]))
    schema = CsvSchema.builder().add_number_column("number").add_string_column("word").set_use_header().build()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(folder / "in.csv")).build()
    return SourceCase(source=source, expected=[Row("number", "word")(i, f"{word}\n") for i, word in enumerate(WORDS)])


NUMBERED = Schema([("number", BIGINT), ("word", STRING)])


def csv_columns(folder: Path) -> SourceCase:
    (folder / "in.csv").write_text("".join(f'{i},"{word}\n"\n' for i, word in enumerate(WORDS)))
    columns = CsvColumns(NUMBERED, ("number", "word"), CsvDialect())
    source = FileSource.for_record_stream_format(CsvColumnsFormat(columns), str(folder / "in.csv")).build()
    return SourceCase(source=source, expected=[{"number": i, "word": f"{word}\n"} for i, word in enumerate(WORDS)])


def orc_columns(folder: Path) -> SourceCase:
    rows = [{"number": i, "word": word} for i, word in enumerate(WORDS)]
    (folder / "in").mkdir()
    orc.write_table(pa.Table.from_pylist(rows[:30]), folder / "in" / "1.orc")
    orc.write_table(pa.Table.from_pylist(rows[30:]), folder / "in" / "2.orc")
    source = FileSource.for_bulk_file_format(OrcFormat(["number", "word"]), str(folder / "in")).build()
    return SourceCase(source=source, expected=rows)


def avro_columns(folder: Path) -> SourceCase:
    case = avro_records(folder)
    source = FileSource.for_bulk_file_format(AvroColumnsFormat(NUMBERED), str(folder / "in")).build()
    return SourceCase(source=source, expected=case.expected)


def generated_columns(_: Path) -> SourceCase:
    schema = pa.schema([("number", pa.int64()), ("word", pa.string())])
    generators = [partial(sequence, 0, pa.int64()), partial(sequence, 100, pa.string())]
    source = GeneratedColumnsSource(schema, generators, 40, 1_000_000)
    return SourceCase(source=source, expected=[{"number": i, "word": str(i + 100)} for i in range(40)])


def one_after_the_other(folder: Path) -> SourceCase:
    (folder / "nothing.txt").touch()
    nothing = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder / "nothing.txt")).build()
    before, behind = lines(folder), generated(folder)
    builder = HybridSource.builder(before.source).add_source(nothing).add_source(behind.source)
    return SourceCase(source=builder.build(), expected=before.expected + behind.expected)


def one_after_the_other_at_a_rate(folder: Path) -> SourceCase:
    case = one_after_the_other(folder)
    return SourceCase(source=RateLimitedSource(case.source, 1_000), expected=case.expected)


def partitions(folder: Path) -> SourceCase:
    return SourceCase(source=Partitions(), expected=list(range(RECORDS)), ordered=False)


def partitions_at_a_rate(folder: Path) -> SourceCase:
    return SourceCase(source=RateLimitedSource(Partitions(), 1_000), expected=list(range(RECORDS)), ordered=False)


def partitions_after_lines(folder: Path) -> SourceCase:
    before = lines(folder)
    source = HybridSource.builder(before.source).add_source(Partitions()).build()
    return SourceCase(source=source, expected=[*before.expected, *range(RECORDS)], ordered=False)


CASES = [
    partitions,
    partitions_at_a_rate,
    partitions_after_lines,
    one_after_the_other,
    one_after_the_other_at_a_rate,
    parquet_rows,
    avro_records,
    avro_columns,
    orc_columns,
    csv_columns,
    generated_columns,
    avro_records_in_parquet,
    csv_by_a_schema,
    lines,
    compressed_lines,
    csv_rows,
    json_lines,
    collection,
    numbers,
    generated,
    generated_at_a_rate,
    rate_limited,
]


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_source(case: Callable[[Path], SourceCase], check: Callable[[SourceCase], None], tmp_path: Path) -> None:
    made = case(tmp_path)
    check(replace(made, histories=sample_size(made.histories)))
