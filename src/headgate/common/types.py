"""Rows, under PyFlink's name."""

from headgate.types.row import Row, RowKind

__all__ = ["Row", "RowKind"]
