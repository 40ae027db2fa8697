"""What fills part files: writers of the records of one file, and the factories that make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.connectors.files.encoders import Encoder
from headgate.types.arrow import arrow_schema, batch_from_rows
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import RowTypeInfo

_TABLE_ROWS: Final = 32_768
_TABLE_BYTES: Final = 32 << 20
"""What rows take in memory until they are written."""


class BulkWriter(ABC):
    """Writes the records of one file to a stream."""

    @abstractmethod
    def write(self, records: list[Any]) -> None:
        """Take records, in order. Raises `SinkError` or `SerializationError` naming one that cannot be written."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left. The stream is closed by the caller."""


class BulkWriterFactory(ABC):
    """How part files are written; picklable."""

    suffix: str = ""
    """How the names of the files end, for instance ".parquet"."""

    def of_type(self, record_type: TypeInformation) -> BulkWriterFactory:
        """Return the factory for records of a declared type; this one, if that changes nothing."""
        return self

    @abstractmethod
    def create(self, stream: pa.NativeFile) -> BulkWriter:
        """Return the writer of a new file."""

    @staticmethod
    def parquet_writer(schema: pa.Schema | RowTypeInfo) -> BulkWriterFactory:
        """Return the factory of Parquet files of this schema, or of the columns of a row type.

        Records are rows with these names or dicts with these keys, else tuples, lists or rows with as many fields. One
        that does not fit fails the job with column and value.

        >>> from headgate.types.typeinfo import Types
        >>> factory = BulkWriterFactory.parquet_writer(Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.INSTANT()]))
        """
        columns = arrow_schema(schema) if isinstance(schema, RowTypeInfo) else schema
        return ColumnWriterFactory(columns, ParquetFile, ".parquet")


@final
class RowWriterFactory(BulkWriterFactory):
    """Files of encoded records, one after the other."""

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
    """Files of columns: records are rows, tuples, dicts or plain values that fit `schema`.

    `open_file` returns what writes tables of the schema to a stream.
    """

    schema: pa.Schema
    open_file: Callable[[pa.NativeFile, pa.Schema], TableWriter]
    suffix: str

    def create(self, stream: pa.NativeFile) -> ColumnWriter:
        return ColumnWriter(self.schema, self.open_file(stream, self.schema))


class TableWriter(Protocol):
    """What writes a file of columns; a table becomes a part of its own, such as a row group."""

    def write(self, table: pa.Table) -> None:
        """Write a table."""

    def close(self) -> None:
        """Write the footer."""


@final
class ParquetFile:
    """A Parquet file that is written."""

    def __init__(self, stream: pa.NativeFile, schema: pa.Schema, compression: str = "snappy") -> None:
        self._writer = pq.ParquetWriter(stream, schema, compression=compression)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


@final
class ColumnWriter(BulkWriter):
    """Turns records into columns as they come, and writes a table when there are enough of them."""

    def __init__(self, schema: pa.Schema, file: TableWriter) -> None:
        self._schema = schema
        self._file = file
        self._batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, records: list[Any]) -> None:
        batch = batch_from_rows(records, self._schema)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _TABLE_ROWS or self._bytes >= _TABLE_BYTES:
            self._flush()

    def finish(self) -> None:
        """Write what is left, and the footer."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._batches:
            self._file.write(pa.Table.from_batches(self._batches, self._schema))
        self._batches = []
        self._rows = self._bytes = 0
