"""Bulk writers and their factories. A bulk writer writes the records of one part file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.connectors.files.encoders import Encoder
from headgate.types.arrow import arrow_schema, batch_from_rows, rows_from_batch
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import RowTypeInfo

_TABLE_ROWS: Final = 32_768
_TABLE_BYTES: Final = 32 << 20
"""Bytes of rows in memory before the writer writes a table."""


class BulkWriter(ABC):
    """Writes the records of one file to a stream."""

    @abstractmethod
    def write(self, records: list[Any]) -> None:
        """Take records, in order. Raises `SinkError` or `SerializationError` naming a record that cannot be written."""

    def write_columns(self, columns: pa.RecordBatch) -> None:
        """Take the rows of an Arrow batch, in order. By default they are written as records, each a `Row`."""
        self.write(rows_from_batch(columns))

    @abstractmethod
    def finish(self) -> None:
        """Write the remaining records. The caller closes the stream."""


class BatchBulkWriter(BulkWriter):
    """Writes record batches of a schema. Records become a record batch."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def write(self, records: list[Any]) -> None:
        self.write_columns(batch_from_rows(records, self._schema))

    @abstractmethod
    def write_columns(self, columns: pa.RecordBatch) -> None: ...


class BulkWriterFactory(ABC):
    """Makes the writers of part files. Picklable."""

    suffix: str = ""
    """The suffix of the files' names, for instance ".parquet"."""

    def of_type(self, record_type: TypeInformation) -> BulkWriterFactory:
        """Return the factory for records of a declared type; by default this factory, which ignores the type."""
        return self

    @abstractmethod
    def create(self, stream: pa.NativeFile) -> BulkWriter:
        """Return the writer of a new file."""

    @staticmethod
    def parquet_writer(schema: pa.Schema | RowTypeInfo) -> BulkWriterFactory:
        """Return the factory of Parquet files of this schema, or of the columns of a row type.

        Records are rows with these names or dicts with these keys, else tuples, lists or rows with as many fields. A
        record that does not fit fails the job; the error names column and value.

        >>> from headgate.types.typeinfo import Types
        >>> factory = BulkWriterFactory.parquet_writer(Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.INSTANT()]))
        """
        columns = arrow_schema(schema) if isinstance(schema, RowTypeInfo) else schema
        return ColumnWriterFactory(columns, ParquetFile, ".parquet")


@final
class RowWriterFactory(BulkWriterFactory):
    """Makes writers of files of encoded records, one after the other."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.suffix = encoder.suffix

    def of_type(self, record_type: TypeInformation) -> RowWriterFactory:
        return RowWriterFactory(self._encoder.of_type(record_type))

    def create(self, stream: pa.NativeFile) -> RowWriter:
        return RowWriter(self._encoder, stream)


@final
class RowWriter(BulkWriter):
    """Writes encoded records as they come."""

    def __init__(self, encoder: Encoder, stream: pa.NativeFile) -> None:
        self._encoder = encoder
        self._stream = stream
        stream.write(encoder.header())

    def write(self, records: list[Any]) -> None:
        self._stream.write(self._encoder.encode(records))

    def finish(self) -> None:
        """Do nothing: everything is written."""


@final
@dataclass(frozen=True, slots=True)
class ColumnWriterFactory(BulkWriterFactory):
    """Makes writers of columnar files. Records are rows, tuples, dicts or plain values that fit `schema`.

    `open_file` returns a writer of tables of the schema to a stream.
    """

    schema: pa.Schema
    open_file: Callable[[pa.NativeFile, pa.Schema], TableWriter]
    suffix: str

    def create(self, stream: pa.NativeFile) -> ColumnWriter:
        return ColumnWriter(self.schema, self.open_file(stream, self.schema))


class TableWriter(Protocol):
    """Writes a columnar file. Each table becomes a part of its own, such as a row group."""

    def write(self, table: pa.Table) -> None:
        """Write a table."""

    def close(self) -> None:
        """Write the footer."""


@final
class ParquetFile:
    """Writes a Parquet file."""

    def __init__(self, stream: pa.NativeFile, schema: pa.Schema, compression: str = "snappy") -> None:
        self._writer = pq.ParquetWriter(stream, schema, compression=compression)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


@final
class ColumnWriter(BulkWriter):
    """Converts records to columns as they come, and writes a table when there are enough rows or bytes."""

    def __init__(self, schema: pa.Schema, file: TableWriter) -> None:
        self._schema = schema
        self._file = file
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, records: list[Any]) -> None:
        self._add(batch_from_rows(records, self._schema))

    def write_columns(self, columns: pa.RecordBatch) -> None:
        self._add(columns.cast(self._schema) if columns.schema.names == self._schema.names else columns)

    def _add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _TABLE_ROWS or self._bytes >= _TABLE_BYTES:
            self._flush()

    def finish(self) -> None:
        """Write the remaining rows and the footer."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._batches:
            self._file.write(pa.Table.from_batches(self._batches, self._schema))
        self._batches = []
        self._rows = self._bytes = 0
