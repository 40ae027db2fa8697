"""Data files: converts records to columns, divides them by partition, and writes Parquet files of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from headgate.connectors.delta.statistics import statistics_of
from headgate.errors import SerializationError
from headgate.types.arrow import batch_from_rows

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_ROW_GROUP_ROWS: Final = 131_072


def batches_of(records: list[Any], columns: pa.Schema) -> list[pa.RecordBatch]:
    """Return records as batches of columns. Records are rows, tuples, dicts, plain values, or Arrow batches.

    Raises `SerializationError` naming column and record if a record does not fit.
    """
    if isinstance(records[0], pa.RecordBatch):
        batches = [_fitted(batch, columns) for batch in records]
    else:
        batches = [batch_from_rows(records, columns)]
    for place, column in enumerate(columns):
        if not column.nullable and any(batch.column(place).null_count for batch in batches):
            raise SerializationError(f"column {column.name!r} must not be null, but a record holds None there")
    return batches


def _fitted(batch: Any, columns: pa.Schema) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise SerializationError(f"Arrow batches came before {batch!r:.200}; a stream has either batches or rows")
    if sorted(batch.schema.names) != sorted(columns.names):
        raise SerializationError(
            f"a batch has the columns {batch.schema.names}, but the table's sink has {columns.names}"
        )
    try:
        return batch.select(columns.names).cast(columns)
    except (pa.ArrowException, ValueError) as error:
        found = ", ".join(f"{column.name} {column.type}" for column in batch.schema)
        raise SerializationError(f"a batch with the columns {found} does not fit the table: {error}") from error


def partitions_of(table: pa.Table, partition_by: list[str]) -> Iterator[tuple[tuple[str | None, ...], pa.Table]]:
    """Yield the values of each partition and its rows, in order, without the partition columns.

    Raises `SerializationError` naming the column for empty text in a column that must not be null.
    """
    if not partition_by:
        yield (), table
        return
    texts = [_texts(table.column(name), table.schema.field(name)) for name in partition_by]
    names = [str(place) for place in range(len(texts))]
    numbered = pa.table([*texts, pa.array(range(len(table)))], names=[*names, "row"])
    groups = numbered.group_by(names, use_threads=False).aggregate([("row", "list")])
    rest = table.drop_columns(partition_by)
    values = zip(*(groups.column(name).to_pylist() for name in names), strict=True)
    for value, rows in zip(values, groups.column("row_list").combine_chunks(), strict=True):
        yield value, rest.take(rows.values)


def _texts(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Return the values as Delta writes them. Empty text becomes null."""
    texts = column.cast(pa.string())
    written = pc.if_else(pc.equal(texts, ""), None, texts)
    if written.null_count and not field.nullable:  # the table would refuse the commit, after its checkpoint
        raise SerializationError(
            f"column {field.name!r} must not be null, but a record holds empty text there, which is null in the name "
            "of a partition; map it to other text"
        )
    return written


def folder_of(partition_by: Sequence[str], values: Sequence[str | None]) -> str:
    """Return the folder of a partition, relative to the table's folder; "" for a table without partitions."""
    return "".join(
        f"{quote(name, safe='')}={_NULL if value is None else quote(value, safe='')}/"
        for name, value in zip(partition_by, values, strict=True)
    )


def _open_stream(files: fs.FileSystem, path: str) -> pa.NativeFile:
    try:
        return files.open_output_stream(path)
    except FileNotFoundError:  # the folder of a new partition does not exist yet
        files.create_dir(path.rpartition("/")[0])
        return files.open_output_stream(path)


@final
class OpenFile:
    """A Parquet file that is being written."""

    def __init__(self, files: fs.FileSystem, path: str, columns: pa.Schema) -> None:
        self.path = path
        self._files = files
        self._columns = columns
        self._footers: list[pq.FileMetaData] = []
        self._stream = _open_stream(files, path)
        self._writer = pq.ParquetWriter(self._stream, columns, metadata_collector=self._footers, store_schema=False)

    def write(self, rows: pa.Table) -> int:
        """Write rows as separate row groups. Return the current size of the file in bytes."""
        self._writer.write_table(rows, row_group_size=_ROW_GROUP_ROWS)
        return int(self._stream.tell())

    def finish(self) -> tuple[int, str]:
        """Close the file, and return its size in bytes and its statistics."""
        self._writer.close()
        size_bytes = int(self._stream.tell())
        self._stream.close()
        return size_bytes, statistics_of(self._footers[0], self._columns)

    def drop(self) -> None:
        """Close the file and remove it."""
        self.finish()
        self._files.delete_file(self.path)
