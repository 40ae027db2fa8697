"""Dicts as Avro messages for Confluent's schema registry: each message contains the id of its schema."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final, final

from headgate.connectors.formats.avro_files import checked
from headgate.connectors.formats.avro_library import schemaless_reader, schemaless_writer
from headgate.connectors.formats.avro_schema import AvroSchema
from headgate.connectors.formats.avro_values import fitted_records
from headgate.connectors.formats.schema_registry import SchemaRegistry
from headgate.connectors.message_schemas import DeserializationSchema, SerializationSchema
from headgate.types.records import as_dict

_HEADER: Final = struct.Struct(">bi")
_MAGIC: Final = 0


@final
class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema):
    """Converts a message to a dict. The registry has the writer's schema; the dict has the schema given here.

    >>> reader = AvroSchema('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')
    >>> schema = ConfluentRegistryAvroDeserializationSchema.for_generic(reader, "http://registry:8081")
    """

    def __init__(self, schema: AvroSchema, registry: SchemaRegistry) -> None:
        self._schema = schema
        self._registry = registry

    @staticmethod
    def for_generic(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a deserializer to dicts with `schema`. `registry_configs`: see `SchemaRegistry`."""
        return ConfluentRegistryAvroDeserializationSchema(checked(schema), SchemaRegistry(url, registry_configs))

    def deserialize(self, message: bytes) -> Any:
        if len(message) < _HEADER.size:
            raise ValueError("it is too short to name its schema; it was not written with a schema registry")
        magic, schema_id = _HEADER.unpack_from(message)
        if magic != _MAGIC:
            raise ValueError(f"it begins with {magic}, not 0; it was not written with a schema registry")
        writer = self._registry.schema(schema_id)
        stream = BytesIO(message)
        stream.seek(_HEADER.size)
        return schemaless_reader(stream, writer.parsed, None if writer == self._schema else self._schema.parsed)


@final
class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Converts a dict, or a row with the names of the schema, to a message. The first message registers the schema.

    >>> schema = AvroSchema('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')
    >>> ours = ConfluentRegistryAvroSerializationSchema.for_generic("orders-value", schema, "http://registry:8081")
    """

    def __init__(self, subject: str, schema: AvroSchema, registry: SchemaRegistry) -> None:
        self._subject = subject
        self._schema = schema
        self._registry = registry

    @staticmethod
    def for_generic(
        subject: str, schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Return a serializer for dicts with `schema`, which it registers under `subject`."""
        return ConfluentRegistryAvroSerializationSchema(subject, checked(schema), SchemaRegistry(url, registry_configs))

    def serialize(self, element: Any) -> bytes:
        return self.serialize_all([element])[0]

    def serialize_all(self, elements: list[Any]) -> list[bytes]:
        return list(map(self._written, fitted_records(self._schema, elements, as_dict)))

    def _written(self, datum: Any) -> bytes:
        stream = BytesIO()
        stream.write(_HEADER.pack(_MAGIC, self._registry.register(self._subject, self._schema)))
        schemaless_writer(stream, self._schema.parsed, datum)
        return stream.getvalue()
