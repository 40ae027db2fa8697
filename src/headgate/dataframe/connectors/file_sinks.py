"""Sinks of files for the rows of a DataFrame: Parquet, and JSON lines."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from headgate.columns.schema import Schema
from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_writer import BulkWriterFactory, ColumnWriterFactory, ParquetFile
from headgate.connectors.files.rolling import RollingPolicy
from headgate.connectors.files.sink import FileSink
from headgate.connectors.formats.json_columns import JsonColumnsWriterFactory
from headgate.connectors.formats.json_texts import JsonTexts
from headgate.connectors.formats.parquet_files import PARQUET_CODECS
from headgate.dataframe.connectors.options import text

TIMESTAMP_FORMATS: Final = ("SQL", "ISO-8601")


def parquet_sink(schema: Schema, path: str, mode: str, compression: Any) -> FileSink:
    """Return the sink of `DataFrame.write_parquet`. Raises TypeError and ValueError for wrong arguments."""
    name = "SNAPPY" if compression is None else compression
    if not isinstance(name, str):
        raise TypeError(f"compression is a str, not {compression!r}")
    if name.upper() not in PARQUET_CODECS:
        raise ValueError(f"compression is one of {', '.join(PARQUET_CODECS)}, not {compression!r}")
    open_file = partial(ParquetFile, compression=PARQUET_CODECS[name.upper()])
    return file_sink(path, mode, ColumnWriterFactory(schema.arrow, open_file, ".parquet"))


def json_sink(schema: Schema, path: str, mode: str, timestamp_format: Any, *, ignore_null_fields: bool) -> FileSink:
    """Return the sink of `DataFrame.write_json`. Raises TypeError and ValueError for wrong arguments."""
    chosen = "SQL" if timestamp_format is None else timestamp_format
    if chosen not in TIMESTAMP_FORMATS:
        raise ValueError(f"timestamp_format is {' or '.join(TIMESTAMP_FORMATS)}, not {timestamp_format!r}")
    return file_sink(path, mode, JsonColumnsWriterFactory(JsonTexts(schema, chosen == "ISO-8601", ignore_null_fields)))


def file_sink(path: str, mode: str, writers: BulkWriterFactory, rolling: RollingPolicy | None = None) -> FileSink:
    """Return the sink of files in a folder. A file ends at each checkpoint, and where the policy says so."""
    if mode != "append":
        raise ValueError(f"mode is 'append', not {mode!r}: delete the files of the folder to write it anew")
    sink = FileSink.for_bulk_format(text("path", path), writers)
    if rolling is not None:
        sink = sink.with_rolling_policy(rolling)
    return sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
