"""Canonical savepoints: keyed state as Parquet files of typed columns, the same whichever backend wrote or reads it.

Loads Arrow, which takes long: import it where a savepoint is written or read, not where a job starts.
"""
