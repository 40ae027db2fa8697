"""Patterns of records: what a program says of them, and the functions that are called with what matches."""
