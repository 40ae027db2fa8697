"""CAST and TRY_CAST: which types Flink converts to which, and what becomes of values that cannot be converted."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.casting import coerced
from headgate.columns.decimal_values import on_columns
from headgate.columns.functions.conversions import Conversion, Convert, Converted
from headgate.columns.functions.number_casts import to_boolean, to_number
from headgate.columns.functions.text_forms import to_bytes, to_text
from headgate.columns.functions.time_casts import to_interval, to_time
from headgate.columns.logical_types import BYTES, INTERVALS, TIMESTAMPS, Kind, LogicalType
from headgate.columns.program import folded
from headgate.columns.typed import Apply, Typed, Values
from headgate.errors import InvalidExpressionError


def cast(expression: Typed, kind: LogicalType, zone: str, *, or_null: bool = False) -> Typed:
    """Return the expression converted to a type. A value that cannot be converted fails, or is NULL with `or_null`.

    The result has NULL where the expression has, whatever the nullability of `kind`. Raises `InvalidExpressionError`
    if SQL has no such conversion.
    """
    own = expression.type
    if own.kind is Kind.NULL or own.nulls() == kind.nulls():
        made = coerced(expression, kind.nulls())
        assert made is not None
        return made
    conversion = conversion_of(own, kind, zone)
    if conversion is None:
        raise InvalidExpressionError(f"a {own} cannot be cast to {kind}{_advice(own, kind)}")
    return folded(
        Apply(
            function="try_cast" if or_null else "cast",
            arguments=(expression,),
            type=kind.nulls(own.nullable or conversion.nulls or or_null),
            kernel=partial(_cast, conversion.convert, None if or_null else kind),
            options=(kind.nulls(), zone),
            can_fail=conversion.fails and not or_null,
        )
    )


def _advice(own: LogicalType, kind: LogicalType) -> str:
    if own.is_number and kind.kind in TIMESTAMPS:
        return ": use to_timestamp_ltz() or from_unixtime()"
    if own.kind in TIMESTAMPS and kind.is_number:
        return ": use unix_timestamp(), or cast it to a text first"
    return ""


def _cast(convert: Convert, strict: LogicalType | None, values: Values) -> Values:
    return on_columns(partial(_converted, convert, strict), values)


def _converted(convert: Convert, strict: LogicalType | None, values: pa.Array) -> pa.Array:
    made, failed = convert(values)
    if strict is not None and failed is not None:
        at = pc.index(failed, True).as_py()  # a value, no flag
        if at >= 0:
            raise ValueError(f"{values[at].as_py()!r} cannot be cast to {strict}: use try_cast() to get NULL for it")
    return made


def conversion_of(own: LogicalType, wanted: LogicalType, zone: str) -> Conversion | None:
    """Return how values of one type are cast to another; None if SQL does not convert them."""
    if wanted.is_text:
        return to_text(own, wanted, zone)
    if wanted.kind in BYTES:
        return to_bytes(own, wanted)
    if wanted.kind is Kind.BOOLEAN:
        return to_boolean(own)
    if wanted.is_number:
        return to_number(own, wanted)
    if wanted.kind in _TIMES:
        return to_time(own, wanted, zone)
    if wanted.kind in INTERVALS:
        return to_interval(own, wanted)
    if wanted.kind is own.kind and len(own.fields) >= len(wanted.fields):
        return _nested(own, wanted, zone)
    return None


_TIMES: Final = (Kind.DATE, Kind.TIME, *TIMESTAMPS)


def _nested(own: LogicalType, wanted: LogicalType, zone: str) -> Conversion | None:
    """Convert element by element. A ROW may lose its last fields."""
    inner = []
    for (_, mine), (_, theirs) in zip(own.fields, wanted.fields, strict=False):
        found = _UNCHANGED if mine.nulls() == theirs.nulls() else conversion_of(mine, theirs, zone)
        if found is None:
            return None
        inner.append(found)
    convert = _convert_row if wanted.kind is Kind.ROW else _convert_elements
    parts = tuple(found.convert for found in inner)
    return Conversion(partial(convert, parts, wanted), fails=any(found.fails for found in inner))


def _unchanged(values: pa.Array) -> Converted:
    return values, None


_UNCHANGED: Final = Conversion(_unchanged)


def _convert_row(parts: tuple[Convert, ...], wanted: LogicalType, values: pa.Array) -> Converted:
    columns, failures = [], []
    for index, convert in enumerate(parts):
        made, failed = convert(values.field(index))
        columns.append(made)
        failures.append(failed)
    failed = _any_of(failures, pc.is_valid(values))
    valid = pc.is_valid(values) if failed is None else pc.and_not(pc.is_valid(values), failed)
    fields = [wanted.arrow.field(index) for index in range(wanted.arrow.num_fields)]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pc.invert(valid)), failed


def _any_of(failures: list[pa.Array | None], valid: pa.Array) -> pa.Array | None:
    found = [own for own in failures if own is not None]
    if not found:
        return None
    made = found[0]
    for own in found[1:]:
        made = pc.or_(made, own)
    return pc.and_(made, valid)


def _convert_elements(parts: tuple[Convert, ...], wanted: LogicalType, values: pa.Array) -> Converted:
    plain = pc.take(values, pa.array(np.arange(len(values))))  # without elements outside the column, or under NULL
    given = [plain.values] if wanted.kind is Kind.ARRAY else [plain.keys, plain.items]
    made, failures = [], []
    for convert, column in zip(parts, given, strict=True):
        new, failed = convert(column)
        made.append(new)
        failures.append(failed)
    failed = _rows_of(_any_of(failures, pc.is_valid(given[0])), plain.offsets)
    valid = pc.is_valid(plain) if failed is None else pc.and_not(pc.is_valid(plain), failed)
    return _assembled(wanted.arrow, plain.offsets, made, valid), failed


def _rows_of(failed: pa.Array | None, offsets: pa.Array) -> pa.Array | None:
    """Return which lists have an element that failed."""
    if failed is None:
        return None
    counts = np.concatenate([[0], np.cumsum(failed.to_numpy(zero_copy_only=False))])
    bounds = counts[offsets.to_numpy()]
    return pa.array(bounds[1:] > bounds[:-1])


def _assembled(kind: pa.DataType, offsets: pa.Array, parts: list[Any], valid: pa.Array) -> pa.Array:
    mask = pc.invert(valid)
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(offsets, parts[0], parts[1], kind, mask=mask)
    return pa.ListArray.from_arrays(offsets, parts[0], kind, mask=mask)
