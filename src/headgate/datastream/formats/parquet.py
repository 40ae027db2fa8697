"""Parquet files, under PyFlink's names. The classes for Avro need the extra `headgate[avro]`."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.formats.avro_parquet import AvroParquetReaders, AvroParquetWriters
from headgate.connectors.formats.parquet_files import ParquetBulkWriters, ParquetColumnarRowInputFormat

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]

unsupported.guard(__name__, globals())
