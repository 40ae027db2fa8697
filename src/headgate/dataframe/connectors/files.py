"""Files as DataFrames, and DataFrames as files: Parquet, and JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from headgate.columns.schema import Schema
from headgate.config_kinds import DURATION_MS
from headgate.dataframe.connectors.options import text
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.planner.logical import ColumnSource, Scan
from headgate.dataframe.session import get_or_create_table_environment
from headgate.functions.source import Source
from headgate.types.instant import Duration

if TYPE_CHECKING:
    from headgate.connectors.files.source import FileSourceBuilder

BuilderOf = Callable[[str, Schema], "FileSourceBuilder"]
"""Returns the builder of a source of files below a path, for some of their columns."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class FileScan:
    """Files of a schema. `conforms` tells whether the batches have its types; else they are cast."""

    path: str
    schema: Schema
    builder_of: BuilderOf
    conforms: bool
    monitor_ms: int | None

    def source(self, columns: Sequence[str]) -> Source[Any]:
        builder = self.builder_of(self.path, self.schema.only(columns))
        if self.monitor_ms is not None:
            builder = builder.monitor_continuously(Duration.of_millis(self.monitor_ms))
        return builder.build()


def parquet(path: str, schema: Schema) -> FileSourceBuilder:
    """Return the builder of a source of Parquet files."""
    from headgate.connectors.files.bulk_format import BulkFormat  # noqa: PLC0415  # takes long to load
    from headgate.connectors.files.source import FileSource  # noqa: PLC0415  # takes long to load

    return FileSource.for_bulk_file_format(BulkFormat.parquet_format(schema.names), path)


def json_lines(path: str, schema: Schema, *, ignore_errors: bool, fail_on_missing: bool) -> FileSourceBuilder:
    """Return the builder of a source of JSON lines."""
    from headgate.connectors.files.source import FileSource  # noqa: PLC0415  # takes long to load
    from headgate.connectors.formats import json_columns  # noqa: PLC0415  # takes long to load

    columns = json_columns.JsonColumns(schema, ignore_errors, fail_on_missing)
    return FileSource.for_record_stream_format(json_columns.JsonColumnsFormat(columns), path)


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
    found = FileScan(text("path", path), schema_of(schema), parquet, False, _millis(monitor_interval))
    return read_columns(found, f"files {found.path}", computed_columns, watermark)


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
    `ignore_parse_errors` the line is left out. The other arguments are as in `read_parquet`.
    """
    for name, given in (("ignore_parse_errors", ignore_parse_errors), ("fail_on_missing_field", fail_on_missing_field)):
        if given is not None and not isinstance(given, bool):
            raise TypeError(f"{name} is true or false, not {given!r}")
    if ignore_parse_errors and fail_on_missing_field:
        raise ValueError("ignore_parse_errors and fail_on_missing_field exclude each other")
    lines = partial(json_lines, ignore_errors=bool(ignore_parse_errors), fail_on_missing=bool(fail_on_missing_field))
    found = FileScan(text("path", path), schema_of(schema), lines, True, _millis(monitor_interval))
    return read_columns(found, f"files {found.path}", computed_columns, watermark)


def read_columns(
    source: ColumnSource, name: str, computed: Mapping[str, str] | None, watermark: tuple[str, str] | None
) -> DataFrame:
    """Return the rows of a source, with computed columns and event time, if any. `name` is for plans and errors."""
    plan = Scan(name, source, tuple(source.schema.names))
    frame = DataFrame(plan, get_or_create_table_environment())
    for column, expression in (computed or {}).items():
        from headgate.table.expressions import call_sql  # noqa: PLC0415  # its parser takes long to load

        frame = frame.with_column(column, call_sql(expression))
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
