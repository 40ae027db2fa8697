"""Parquet as it is written: records as columns."""

from __future__ import annotations

from typing import Any, Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.connectors.files.bulk_writer import BulkWriter, BulkWriterFactory
from headgate.types.arrow import batch_from_rows

_ROW_GROUP_ROWS: Final = 32_768
_ROW_GROUP_BYTES: Final = 32 << 20
"""What rows take in memory until they are written."""


@final
class ParquetWriterFactory(BulkWriterFactory):
    """Parquet files: records are rows, tuples, dicts or plain values that fit `schema`."""

    suffix = ".parquet"

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def create(self, stream: pa.NativeFile) -> ParquetWriter:
        return ParquetWriter(self._schema, stream)


@final
class ParquetWriter(BulkWriter):
    """Turns records into columns as they come, and writes a row group when there are enough of them."""

    def __init__(self, schema: pa.Schema, stream: pa.NativeFile) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(stream, schema)
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, records: list[Any]) -> None:
        batch = batch_from_rows(records, self._schema)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROW_GROUP_ROWS or self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def finish(self) -> None:
        """Write what is left, and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches = []
        self._rows = self._bytes = 0
