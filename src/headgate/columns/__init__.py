"""Columns: SQL's types, and expressions that are computed on whole Arrow columns."""
