"""Rows as JSON objects, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

unsupported.guard(__name__, globals())
