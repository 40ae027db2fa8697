"""Rows as lines of CSV, in messages and in files, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.formats.csv_files import CsvBulkWriters, CsvReaderFormat
from headgate.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from headgate.connectors.formats.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

unsupported.guard(__name__, globals())
