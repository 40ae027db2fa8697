"""Files as DataFrames, and DataFrames as files: Parquet, and JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from headgate.columns.schema import Schema
from headgate.config_kinds import DURATION_MS
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.source import FileSource, FileSourceBuilder
from headgate.connectors.formats.json_columns import JsonColumns, JsonColumnsFormat
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.file_sinks import checked_path
from headgate.dataframe.planner.logical import Scan
from headgate.dataframe.session import get_or_create_table_environment
from headgate.functions.source import Source
from headgate.types.instant import Duration


@final
@dataclass(frozen=True, slots=True, eq=False)
class FileScan:
    """Files in a format, of a schema. `format_of` gives the format for the columns that are read."""

    path: str
    schema: Schema
    format_of: FormatOfColumns
    monitor_ms: int | None

    @property
    def conforms(self) -> bool:
        """Whether the batches have the types of the schema; else they are cast."""
        return self.format_of.conforms

    def source(self, columns: Sequence[str]) -> Source[Any]:
        chosen = Schema((name, self.schema.type_of(name)) for name in columns)
        builder = self.format_of.builder(self.path, chosen)
        if self.monitor_ms is not None:
            builder = builder.monitor_continuously(Duration.of_millis(self.monitor_ms))
        return builder.build()


class FormatOfColumns:
    """A format of files, for any of its columns."""

    conforms = True

    def builder(self, path: str, schema: Schema) -> FileSourceBuilder:
        """Return the builder of a source of these columns."""
        raise NotImplementedError


@final
class ParquetColumns(FormatOfColumns):
    """Parquet files. Their columns are cast to the declared types."""

    conforms = False

    def builder(self, path: str, schema: Schema) -> FileSourceBuilder:
        return FileSource.for_bulk_file_format(BulkFormat.parquet_format(schema.names), path)


@final
@dataclass(frozen=True, slots=True)
class JsonLines(FormatOfColumns):
    """Files of JSON lines."""

    ignore_errors: bool
    fail_on_missing: bool

    def builder(self, path: str, schema: Schema) -> FileSourceBuilder:
        columns = JsonColumns(schema, self.ignore_errors, self.fail_on_missing)
        return FileSource.for_record_stream_format(JsonColumnsFormat(columns), path)


def read_parquet(
    path: str,
    *,
    schema: Mapping[str, DataType],
    monitor_interval: str | None = None,
    computed_columns: Mapping[str, str] | None = None,
    watermark: tuple[str, str] | None = None,
) -> DataFrame:
    """Return the rows of Parquet files: of one file, or of all files below a folder, a local path or a URI.

    `schema` gives the names and types of the columns; a column of another type in a file is cast. Only the columns that
    the plan uses are read. With `monitor_interval`, such as "10 s", new files are read until the job is stopped.
    `computed_columns` are SQL expressions, added in order. `watermark` is a pair of column and expression.

    Raises TypeError and ValueError for wrong arguments. A file that lacks a column fails the job, and the error names
    both.

    >>> frame = read_parquet("/data/orders", schema={"id": DataType.int64(), "price": DataType.float64()})
    >>> frame.columns
    ['id', 'price']
    """
    return _read(path, schema, ParquetColumns(), monitor_interval, computed_columns, watermark)


def read_json(  # noqa: PLR0913  # PyFlink's arguments
    path: str,
    *,
    schema: Mapping[str, DataType],
    monitor_interval: str | None = None,
    ignore_parse_errors: bool | None = None,
    fail_on_missing_field: bool | None = None,
    computed_columns: Mapping[str, str] | None = None,
    watermark: tuple[str, str] | None = None,
) -> DataFrame:
    """Return the rows of files of JSON lines: of one file, or of all files below a folder.

    Each line is an object with the fields of `schema`; other fields are ignored. A missing field is NULL, or an error
    with `fail_on_missing_field`. A line that does not fit fails the job, which names file, line and field; with
    `ignore_parse_errors` the line is left out. The other arguments are those of `read_parquet`.
    """
    for name, given in (("ignore_parse_errors", ignore_parse_errors), ("fail_on_missing_field", fail_on_missing_field)):
        if given is not None and not isinstance(given, bool):
            raise TypeError(f"{name} is true or false, not {given!r}")
    if ignore_parse_errors and fail_on_missing_field:
        raise ValueError("ignore_parse_errors and fail_on_missing_field exclude each other")
    lines = JsonLines(bool(ignore_parse_errors), bool(fail_on_missing_field))
    return _read(path, schema, lines, monitor_interval, computed_columns, watermark)


def _read(  # noqa: PLR0913  # what readers share
    path: str,
    schema: Mapping[str, DataType],
    format_of: FormatOfColumns,
    monitor_interval: str | None,
    computed: Mapping[str, str] | None,
    watermark: tuple[str, str] | None,
) -> DataFrame:
    own = schema_of(schema)
    scan = FileScan(checked_path(path), own, format_of, _millis(monitor_interval))
    frame = DataFrame(Scan(f"files {scan.path}", scan, tuple(own.names)), get_or_create_table_environment())
    for name, text in (computed or {}).items():
        from headgate.table.expressions import call_sql  # noqa: PLC0415  # its parser takes long to load

        frame = frame.with_column(name, call_sql(text))
    return frame._with_time(watermark)


def schema_of(given: Any) -> Schema:
    """Return the schema of a dict of types. Raises TypeError for another value, and ValueError for an empty dict."""
    if not isinstance(given, Mapping):
        raise TypeError(f"schema is a dict of names and types, not {given!r:.100}")
    if not given:
        raise ValueError("schema has no columns")
    for name, own in given.items():
        if not isinstance(name, str) or not isinstance(own, DataType):
            raise TypeError(f"schema has {name!r}: {own!r}, but must have names with a DataType each")
    return Schema((name, own.logical_type) for name, own in given.items())


def _millis(given: Any) -> int | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise TypeError(f'monitor_interval is a text such as "10 s", not {given!r}')
    return DURATION_MS.parse(given)
