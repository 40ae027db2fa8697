"""Flink's connector `filesystem`: files in the formats `json`, `parquet`, `csv`, `orc` and `avro`, by its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from headgate.columns.schema import Schema
from headgate.config_kinds import BOOLEAN, DURATION_MS, SIZE_BYTES, TEXT, ValueKind, one_of
from headgate.connectors.files.bulk_writer import BulkWriterFactory, ColumnWriterFactory, ParquetFile
from headgate.connectors.files.rolling import RollingPolicy
from headgate.connectors.files.sink import FileSink
from headgate.connectors.files.source import FileSource, FileSourceBuilder
from headgate.connectors.formats.csv_column_writer import CsvColumnsWriterFactory
from headgate.connectors.formats.csv_columns import CsvColumns, CsvColumnsFormat
from headgate.connectors.formats.json_columns import JsonColumnsWriterFactory
from headgate.connectors.formats.json_texts import JsonTexts
from headgate.connectors.formats.orc_files import ORC_CODECS, OrcFile, check_orc
from headgate.connectors.formats.orc_source import OrcFormat
from headgate.connectors.formats.parquet_files import PARQUET_CODECS
from headgate.dataframe.connectors.file_sinks import TIMESTAMP_FORMATS, file_sink
from headgate.dataframe.connectors.files import BuilderOf, FileScan, json_lines, parquet
from headgate.dataframe.connectors.options import Options, text
from headgate.types.csv_dialect import CsvDialect, single

_CHARACTER: Final = ValueKind("character", "one character", lambda value: single(str(value), "it"))
_HALF_HOUR_MS: Final = 1_800_000
_FILE_BYTES: Final = 128 << 20
"""Flink's defaults for when a file ends."""


def file_scan(options: Options, schema: Schema) -> FileScan:
    """Return the files of the connector's options. Raises ValueError for wrong options, ProgramError for a type."""
    path = text("path", options.required("path", TEXT))
    read = _READERS[options.required("format", one_of(*_READERS))]
    monitor_ms = options.optional("source.monitor-interval", DURATION_MS)
    options.refuse(["source.path.regex-pattern"], "give a path whose files are all to be read")
    builder_of, conforms = read(options, schema)
    return FileScan(path, schema, builder_of, conforms, monitor_ms)


def files_written(options: Options, schema: Schema) -> FileSink:
    """Return the sink of the connector's options. Raises ValueError for wrong options, ProgramError for a type."""
    path = text("path", options.required("path", TEXT))
    write = _WRITERS[options.required("format", one_of(*_WRITERS))]
    rolling = RollingPolicy.default_rolling_policy(
        options.get("sink.rolling-policy.file-size", SIZE_BYTES, _FILE_BYTES),
        options.get("sink.rolling-policy.rollover-interval", DURATION_MS, _HALF_HOUR_MS),
        options.get("sink.rolling-policy.inactivity-interval", DURATION_MS, _HALF_HOUR_MS),
    )
    options.refuse(["auto-compaction", "compaction.file-size"], "set a longer checkpoint interval for larger files")
    return file_sink(path, "append", write(options, schema), rolling)


# --- reading


def _read_parquet(options: Options, schema: Schema) -> tuple[BuilderOf, bool]:
    return parquet, False


def _read_json(options: Options, schema: Schema) -> tuple[BuilderOf, bool]:
    ignores = options.get("json.ignore-parse-errors", BOOLEAN, False)
    fails = options.get("json.fail-on-missing-field", BOOLEAN, False)
    if ignores and fails:
        raise ValueError("json.ignore-parse-errors and json.fail-on-missing-field exclude each other")
    options.optional("json.timestamp-format.standard", one_of(*TIMESTAMP_FORMATS))  # both are read
    return partial(json_lines, ignore_errors=ignores, fail_on_missing=fails), True


def _read_csv(options: Options, schema: Schema) -> tuple[BuilderOf, bool]:
    whole = CsvColumns(
        schema,
        tuple(schema.names),
        _dialect(options),
        ignore_errors=options.get("csv.ignore-parse-errors", BOOLEAN, False),
        allow_comments=options.get("csv.allow-comments", BOOLEAN, False),
    )
    return partial(_csv, whole), True


def _csv(whole: CsvColumns, path: str, schema: Schema) -> FileSourceBuilder:
    return FileSource.for_record_stream_format(CsvColumnsFormat(whole.only(schema.names)), path)


def _read_orc(options: Options, schema: Schema) -> tuple[BuilderOf, bool]:
    check_orc(schema.arrow)
    return _orc, False


def _orc(path: str, schema: Schema) -> FileSourceBuilder:
    return FileSource.for_bulk_file_format(OrcFormat(schema.names), path)


def _read_avro(options: Options, schema: Schema) -> tuple[BuilderOf, bool]:
    from headgate.connectors.formats.avro_columns import avro_schema  # noqa: PLC0415  # fastavro is an extra

    avro_schema(schema)
    return _avro, True


def _avro(path: str, schema: Schema) -> FileSourceBuilder:
    from headgate.connectors.formats.avro_columns import AvroColumnsFormat  # noqa: PLC0415  # fastavro is an extra

    return FileSource.for_bulk_file_format(AvroColumnsFormat(schema), path)


_READERS: Final[Mapping[str, Callable[[Options, Schema], tuple[BuilderOf, bool]]]] = {
    "json": _read_json,
    "parquet": _read_parquet,
    "csv": _read_csv,
    "orc": _read_orc,
    "avro": _read_avro,
}
"""For each format a function that returns how files are read, and whether the batches have the types of the schema."""


# --- writing


def _write_parquet(options: Options, schema: Schema) -> BulkWriterFactory:
    codec = options.get("parquet.compression", one_of(*PARQUET_CODECS), "SNAPPY")
    return ColumnWriterFactory(schema.arrow, partial(ParquetFile, compression=PARQUET_CODECS[codec]), ".parquet")


def _write_json(options: Options, schema: Schema) -> BulkWriterFactory:
    form = options.get("json.timestamp-format.standard", one_of(*TIMESTAMP_FORMATS), "SQL")
    ignores_null = options.get("json.encode.ignore-null-fields", BOOLEAN, False)
    return JsonColumnsWriterFactory(JsonTexts(schema, form == "ISO-8601", ignores_null))


def _write_csv(options: Options, schema: Schema) -> BulkWriterFactory:
    return CsvColumnsWriterFactory(schema, _dialect(options))


def _write_orc(options: Options, schema: Schema) -> BulkWriterFactory:
    check_orc(schema.arrow)
    codec = options.get("orc.compress", one_of(*ORC_CODECS), "ZLIB")
    return ColumnWriterFactory(schema.arrow, partial(OrcFile, compression=ORC_CODECS[codec]), ".orc")


def _write_avro(options: Options, schema: Schema) -> BulkWriterFactory:
    from headgate.connectors.formats.avro_columns import AvroColumnsWriterFactory  # noqa: PLC0415  # an extra

    return AvroColumnsWriterFactory(schema, options.get("avro.codec", TEXT, "deflate"))


_WRITERS: Final[Mapping[str, Callable[[Options, Schema], BulkWriterFactory]]] = {
    "json": _write_json,
    "parquet": _write_parquet,
    "csv": _write_csv,
    "orc": _write_orc,
    "avro": _write_avro,
}


def _dialect(options: Options) -> CsvDialect:
    """Return the dialect of CSV. In Flink, too, an escaped character such as `\\t` may be the delimiter."""
    default: Any = CsvDialect()
    delimiter = options.get("csv.field-delimiter", TEXT, default.delimiter)
    delimiter = {"\\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in "\r\n":
        raise ValueError(f"the option 'csv.field-delimiter' is {delimiter!r}, but must be one character")
    quote = options.get("csv.quote-character", _CHARACTER, default.quote)
    if options.get("csv.disable-quote-character", BOOLEAN, False):
        quote = None
    escape = options.optional("csv.escape-character", _CHARACTER)
    special = [own for own in (delimiter, quote, escape) if own is not None]
    if len({*special}) < len(special) or {*special} & {"\r", "\n"}:
        raise ValueError("the delimiter, the quote and the escape character of CSV must differ, and be no newlines")
    return CsvDialect(
        delimiter=delimiter,
        quote=quote,
        escape=escape,
        array_delimiter=options.get("csv.array-element-delimiter", TEXT, default.array_delimiter),
        null_literal=options.optional("csv.null-literal", TEXT),
    )
