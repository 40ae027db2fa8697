"""Messages that are Avro records, from and to columns: without a schema, or with its id in a schema registry.

The Avro schema follows from the types of the columns, as for files.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType
from headgate.columns.schema import Schema
from headgate.connectors.formats.avro_columns import avro_schema
from headgate.connectors.formats.avro_library import schemaless_reader, schemaless_writer
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.message_columns import (
    IGNORE,
    FormatOptions,
    MessageDecoder,
    MessageEncoder,
    MessageFormat,
)
from headgate.connectors.formats.schema_registry import SchemaRegistry, framed, schema_id_of
from headgate.errors import EnvironmentFault

_WRONG = (pa.ArrowException, TypeError, ValueError, LookupError, ArithmeticError, EOFError)


def _schema(columns: Schema) -> AvroSchema:
    return AvroSchema(json.dumps(avro_schema(columns)))


@final
@dataclass(frozen=True, slots=True)
class AvroMessageFormat(MessageFormat):
    """A record for each row, written with the schema of the columns."""

    @staticmethod
    def of(options: FormatOptions) -> AvroMessageFormat:
        """Return the format with options. Raises ValueError."""
        options.choice("encoding", "binary")
        return AvroMessageFormat(options.flag(IGNORE))

    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        return PlainAvroDecoder(schema, columns)

    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        return AvroEncoder(_schema(schema), None, "")


@final
@dataclass(frozen=True, slots=True)
class ConfluentFormat(MessageFormat):
    """A record for each row, with the id of its schema in a registry."""

    registry: SchemaRegistry
    subject: str

    @staticmethod
    def of(options: FormatOptions) -> ConfluentFormat:
        """Return the format with options. Raises ValueError."""
        url = options.text("url", "")
        if not url:
            raise ValueError("the format 'avro-confluent' needs the option 'url', the address of the schema registry")
        login = options.text("basic-auth.user-info", "")
        registry = SchemaRegistry(url, {"basic.auth.user.info": login} if login else None)
        return ConfluentFormat(options.flag(IGNORE), registry, options.text("subject", ""))

    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        return RegistryAvroDecoder(columns, self.registry)

    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        subject = self.subject or f"{topic}-{'key' if is_key else 'value'}"
        return AvroEncoder(_schema(schema), self.registry, subject)


class AvroDecoder(MessageDecoder):
    """Reads fields of records."""

    @abstractmethod
    def datum(self, message: bytes) -> dict[str, Any]:
        """Return the record of a message."""

    def at_once(self, messages: list[bytes]) -> pa.RecordBatch | None:
        try:
            datums = list(map(self.datum, messages))
            columns = [pa.array([own.get(name) for own in datums], kind.arrow) for name, kind in self.schema]
        except EnvironmentFault:
            raise
        except _WRONG:
            return None
        return pa.RecordBatch.from_arrays(columns, schema=self.schema.arrow)

    def one(self, message: bytes) -> Sequence[Any]:
        try:
            datum = self.datum(message)
        except EnvironmentFault:
            raise
        except _WRONG as error:
            raise ValueError(f"it is no record of the schema: {error!r:.200}") from None
        return [_scalar(datum.get(name), kind, name) for name, kind in self.schema]


def _scalar(value: Any, kind: LogicalType, name: str) -> pa.Scalar:
    try:
        return pa.array([value], kind.arrow)[0] if value is not None else None
    except _WRONG as error:
        raise ValueError(f"field {name!r} is {value!r:.60}, which is no {kind}: {error}") from None


def _read(stream: BytesIO, size: int, writer: AvroSchema, reader: AvroSchema | None) -> dict[str, Any]:
    datum: Any = schemaless_reader(stream, writer.parsed, None if reader is None else reader.parsed)
    if stream.tell() != size:
        raise ValueError(f"{size - stream.tell()} bytes follow the record")
    return datum  # type: ignore[no-any-return]


@final
class PlainAvroDecoder(AvroDecoder):
    """Reads records that were written with the schema of all columns."""

    def __init__(self, schema: Schema, columns: Schema) -> None:
        self.schema = columns
        self._writer = _schema(schema)
        self._reader = None if schema == columns else _schema(columns)

    def datum(self, message: bytes) -> dict[str, Any]:
        return _read(BytesIO(message), len(message), self._writer, self._reader)


@final
class RegistryAvroDecoder(AvroDecoder):
    """Reads records whose schemas are in a registry, each field by its name. A field that a record lacks is NULL."""

    def __init__(self, columns: Schema, registry: SchemaRegistry) -> None:
        avro_schema(columns)  # raises for types that Avro lacks
        self.schema = columns
        self._registry = registry

    def datum(self, message: bytes) -> dict[str, Any]:
        schema_id, stream = schema_id_of(message)
        return _read(stream, len(message), self._registry.schema(schema_id), None)


@final
class AvroEncoder(MessageEncoder):
    """Writes each row as a record. With a registry, the first row registers the schema for the subject."""

    def __init__(self, schema: AvroSchema, registry: SchemaRegistry | None, subject: str) -> None:
        self._schema = schema
        self._registry = registry
        self._subject = subject

    def encode(self, columns: pa.RecordBatch) -> list[bytes | None]:
        registry, parsed = self._registry, self._schema.parsed
        head = b"" if registry is None else framed(registry.register(self._subject, self._schema))
        found: list[bytes | None] = []
        for datum in columns.to_pylist(maps_as_pydicts="strict"):
            stream = BytesIO(head)
            stream.seek(len(head))
            schemaless_writer(stream, parsed, datum)
            found.append(stream.getvalue())
        return found
