"""Formats of PyFlink: rows as JSON, CSV and Avro, in messages and in files."""
