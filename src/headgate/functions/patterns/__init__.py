"""Patterns of records: how a program describes them, and the functions that are called with the matches."""
