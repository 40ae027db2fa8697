"""Rows as lines of CSV, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]

unsupported.guard(__name__, globals())
