"""Imports `fastavro`. All other modules import it from here, so that a missing extra is one error."""

from __future__ import annotations

from headgate.errors import missing_extra

try:
    from fastavro import block_reader, parse_schema, schemaless_reader, schemaless_writer
    from fastavro.schema import SchemaParseException, UnknownType
    from fastavro.write import Writer
except ImportError as error:
    raise missing_extra("Avro", "avro", error) from error

__all__ = [
    "SchemaParseException",
    "UnknownType",
    "Writer",
    "block_reader",
    "parse_schema",
    "schemaless_reader",
    "schemaless_writer",
]
