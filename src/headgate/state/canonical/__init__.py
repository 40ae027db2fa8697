"""Canonical savepoints: keyed state as Parquet files of typed columns, which every backend writes and reads.

Loads Arrow, which takes long: import it where a savepoint is written or read, not where a job starts.
"""
