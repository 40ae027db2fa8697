"""Reads Parquet files that Spark wrote for a job, as rows of a known type.

The columns of a file are numbered: c0, c1 and so on. Dates, times with a zone, and durations are stored as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, final

import pyarrow as pa
from pyarrow import fs

from headgate.connectors.files.bulk_format import BulkFormat, ParquetFormat
from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import FoundFile
from headgate.errors import SuppressRestartsException
from headgate.functions.source import Poll, Records, SourceContext, SourceReader
from headgate.types.arrow_types import schema_in_micros
from headgate.types.typeinfo import RowTypeInfo

ROW_GROUP_BYTES: Final = 16 << 20
"""Size of row groups in bytes. Each row group is a split."""


@final
class SparkParquetFormat(BulkFormat[RowGroupSplit]):
    """The format of Spark's files for a DataFrame with columns `row_type`. `chosen` names the columns to read."""

    def __init__(self, row_type: RowTypeInfo, chosen: Sequence[str] | None = None) -> None:
        schema = schema_in_micros(row_type)
        self._schema = schema if chosen is None else pa.schema([schema.field(name) for name in chosen])
        self._files = ParquetFormat(None if chosen is None else [f"c{schema.names.index(name)}" for name in chosen])

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[RowGroupSplit]:
        return self._files.cut(files, part_bytes)

    def reader(self, context: SourceContext) -> SparkParquetReader:
        return SparkParquetReader(self._files.reader(context), self._schema)


@final
class SparkParquetReader(SourceReader[RowGroupSplit]):
    """Reads row groups, with the names and types of `schema` for their columns."""

    def __init__(self, files: SourceReader[RowGroupSplit], schema: pa.Schema) -> None:
        self._files = files
        self._schema = schema

    def add_splits(self, splits: list[RowGroupSplit]) -> None:
        """Add splits. Raises SuppressRestartsException if their files were deleted."""
        for place in {split.place.folder for split in splits}:
            if place.system.get_file_info(place.path).type == fs.FileType.NotFound:
                raise SuppressRestartsException(
                    f"the rows that Spark has written to {str(place)!r}, and that a snapshot has still to read, are "
                    "gone: bring the folder back, or start without the snapshot"
                )
        self._files.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        polled = self._files.poll(records_max)
        if isinstance(polled, Records) and isinstance(polled.records, pa.RecordBatch):
            return replace(polled, records=fitted(polled.records, self._schema))
        return polled

    def snapshot(self) -> list[RowGroupSplit]:
        return self._files.snapshot()

    def close(self) -> None:
        self._files.close()


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of Spark with the names and types of `schema`. Columns correspond by position."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
