"""Schemas that convert messages, and encoders with which file sinks write records."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.message_schemas import (
    ByteArraySchema,
    DeserializationSchema,
    JsonSchema,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "JsonSchema",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]

unsupported.guard(__name__, globals())
