"""Avro, under PyFlink's names, and with Confluent's schema registry as in Flink for Java.

Needs the extra `headgate[avro]`.
"""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.formats.avro_files import AvroBulkWriters, AvroInputFormat
from headgate.connectors.formats.avro_messages import AvroRowDeserializationSchema, AvroRowSerializationSchema
from headgate.connectors.formats.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from headgate.connectors.formats.schema_registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
]

unsupported.guard(__name__, globals())
