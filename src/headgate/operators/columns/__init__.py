"""Operators of DataFrames: they take and emit Arrow record batches."""
