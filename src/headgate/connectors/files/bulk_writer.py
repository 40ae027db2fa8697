"""What fills part files: writers of the records of one file, and the factories that make them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, final

import pyarrow as pa

from headgate.connectors.files.encoders import Encoder
from headgate.types.arrow import arrow_schema
from headgate.types.typeinfo import RowTypeInfo


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

    @abstractmethod
    def create(self, stream: pa.NativeFile) -> BulkWriter:
        """Return the writer of a new file."""

    @staticmethod
    def parquet_writer(schema: pa.Schema | RowTypeInfo) -> BulkWriterFactory:
        """Return the factory of Parquet files of this schema, or of the columns of a row type.

        Records are rows with these names or dicts with these keys, else tuples, lists or rows with as many fields.

        >>> from headgate.types.typeinfo import Types
        >>> factory = BulkWriterFactory.parquet_writer(Types.ROW_NAMED(["id", "at"], [Types.LONG(), Types.INSTANT()]))
        """
        from headgate.connectors.files import parquet_sink  # noqa: PLC0415 - one of the formats that this class names

        return parquet_sink.ParquetWriterFactory(arrow_schema(schema) if isinstance(schema, RowTypeInfo) else schema)


@final
class RowWriterFactory(BulkWriterFactory):
    """Files of encoded records, one after the other."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.suffix = encoder.suffix

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
