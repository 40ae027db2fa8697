"""Rows, under PyFlink's name."""

from headgate import unsupported
from headgate.types.row import Row, RowKind

__all__ = ["Row", "RowKind"]


unsupported.guard(__name__, globals())
