"""Implicit conversions: without loss, and only where SQL converts by itself."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.decimal_values import to_double
from headgate.columns.logical_types import (
    FLOATS,
    INTEGERS,
    Kind,
    LogicalType,
    as_decimal,
)
from headgate.columns.program import folded
from headgate.columns.typed import Apply, Constant, Typed, Values


def coerced(expression: Typed, kind: LogicalType) -> Typed | None:
    """Return the expression as a value of another type; None if SQL does not convert it by itself.

    Nullability is not checked: the result has the type `kind`, with NULL if the expression has NULL.
    """
    own = expression.type
    wanted = kind.nulls(kind.nullable or own.nullable)
    if own.nulls() == wanted.nulls():
        return expression
    if own.kind is Kind.NULL:
        return Constant(pa.scalar(None, wanted.arrow), wanted.nulls())
    if not _converts(own, wanted):
        return None
    kernel = partial(_cast, wanted.arrow)
    return folded(
        Apply(
            function="coerce",
            arguments=(expression,),
            type=wanted.nulls(own.nullable),
            kernel=kernel,
            options=(wanted.nulls(),),
        )
    )


def _cast(kind: pa.DataType, values: Values) -> Values:
    if values.type == kind:
        return values
    if pa.types.is_floating(kind):
        return pc.cast(to_double(values) if pa.types.is_decimal(values.type) else values, kind, safe=False)
    return pc.cast(values, kind)


def _converts(own: LogicalType, wanted: LogicalType) -> bool:
    if own.kind in INTEGERS and wanted.kind in INTEGERS:
        return INTEGERS.index(own.kind) <= INTEGERS.index(wanted.kind)
    if wanted.kind in FLOATS:
        return own.is_number and not (own.kind is Kind.DOUBLE and wanted.kind is Kind.FLOAT)
    if wanted.kind is Kind.DECIMAL:
        if own.kind not in (*INTEGERS, Kind.DECIMAL):
            return False
        exact = as_decimal(own)
        return exact.scale <= wanted.scale and exact.precision - exact.scale <= wanted.precision - wanted.scale
    if own.is_text and wanted.is_text:
        return True
    bytes_kinds = (Kind.BINARY, Kind.VARBINARY)
    if own.kind in bytes_kinds and wanted.kind in bytes_kinds:
        return True
    if own.kind is wanted.kind and own.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ, Kind.TIME, Kind.DAY_INTERVAL):
        return own.precision <= wanted.precision
    if own.kind is Kind.DATE:
        return wanted.kind is Kind.TIMESTAMP
    if own.kind is wanted.kind and len(own.fields) == len(wanted.fields):
        pairs = zip(own.fields, wanted.fields, strict=True)
        return all(mine.nulls() == theirs.nulls() or _converts(mine, theirs) for (_, mine), (_, theirs) in pairs)
    return False
