"""Flink's schemas for rows as Avro messages. Writer and reader must use the same Avro schema."""

from __future__ import annotations

from io import BytesIO
from typing import Any, final

from headgate.connectors.formats.avro_library import schemaless_reader, schemaless_writer
from headgate.connectors.formats.avro_rows import AvroRows
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.avro_values import fitted_records
from headgate.connectors.message_schemas import DeserializationSchema, SerializationSchema
from headgate.errors import ProgramError


@final
class AvroRowDeserializationSchema(DeserializationSchema):
    """Converts a message to a row with the fields of the schema.

    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'
    >>> AvroRowDeserializationSchema(avro_schema_string=schema).deserialize(bytes([14]))
    Row(id=7)
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._rows = _rows(record_class, avro_schema_string)
        self.produced_type = self._rows.type_info()
        self._to_rows = self._rows.to_rows()

    def deserialize(self, message: bytes) -> Any:
        return self.deserialize_all([message])[0]

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        schema = self._rows.schema.parsed
        datums: list[Any] = [schemaless_reader(BytesIO(message), schema, None) for message in messages]
        return self._to_rows(datums)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroRowDeserializationSchema, (None, str(self._rows.schema))


@final
class AvroRowSerializationSchema(SerializationSchema):
    """Converts a row to a message for `AvroRowDeserializationSchema`.

    >>> schema = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}'
    >>> AvroRowSerializationSchema(avro_schema_string=schema).serialize((7,))
    b'\\x0e'
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._rows = _rows(record_class, avro_schema_string)
        self._to_datum = self._rows.to_datum()

    def serialize(self, element: Any) -> bytes:
        return self.serialize_all([element])[0]

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        schema = self._rows.schema
        return [_written(datum, schema) for datum in fitted_records(schema, elements, self._to_datum)]

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroRowSerializationSchema, (None, str(self._rows.schema))


def _written(datum: Any, schema: AvroSchema) -> bytes:
    stream = BytesIO()
    schemaless_writer(stream, schema.parsed, datum)
    return stream.getvalue()


def _rows(record_class: str | None, avro_schema_string: str | None) -> AvroRows:
    if record_class is not None:
        raise ProgramError(f"record_class names a Java class, {record_class!r}: give avro_schema_string instead")
    if avro_schema_string is None:
        raise TypeError("a schema for rows in Avro needs avro_schema_string")
    rows = AvroRows(AvroSchema(avro_schema_string))
    rows.type_info()
    return rows
