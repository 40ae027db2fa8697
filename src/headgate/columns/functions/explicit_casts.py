"""CAST and TRY_CAST."""

from __future__ import annotations

from headgate.columns.casting import coerced
from headgate.columns.logical_types import LogicalType
from headgate.columns.typed import Typed
from headgate.errors import InvalidExpressionError


def cast(expression: Typed, kind: LogicalType, zone: str, *, or_null: bool = False) -> Typed:
    """Return the expression converted to a type. A value that cannot be converted fails, or is NULL with `or_null`.

    Raises `InvalidExpressionError` if SQL has no such conversion.
    """
    made = coerced(expression, kind.nulls(expression.type.nullable or or_null))
    if made is None:
        raise InvalidExpressionError(f"a {expression.type} cannot be cast to {kind}")
    return made
