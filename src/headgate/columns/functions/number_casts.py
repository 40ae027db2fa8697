"""CAST to numbers and BOOLEANs: integers lose their upper bits, floats their fraction, as Java's casts do."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.decimal_values import WIDEST, fitted, to_double, truncated_to, widened
from headgate.columns.functions.conversions import Conversion, Converted, always, null_if_failed, read_by_arrow
from headgate.columns.logical_types import FLOATS, INTEGERS, INTERVALS, MAX_PRECISION, Kind, LogicalType
from headgate.columns.vectors import on_numbers


def to_number(own: LogicalType, wanted: LogicalType) -> Conversion | None:
    """Return the conversion to a number; None if there is none."""
    if own.is_text:
        return _of_text(wanted)
    if own.kind is Kind.BOOLEAN or own.is_number:
        if wanted.kind is Kind.DECIMAL:
            return _to_decimal(own, wanted)
        compute = _to_float if wanted.kind in FLOATS else _to_integer
        return Conversion(partial(always, partial(compute, wanted.arrow)))
    if own.kind in INTERVALS and wanted.kind in INTEGERS:
        return Conversion(partial(always, partial(_of_interval, wanted.arrow)))
    return None


def to_boolean(own: LogicalType) -> Conversion | None:
    """Return the conversion to a BOOLEAN, of texts such as `true`, `no` or `1`, and of integers."""
    if own.is_text:
        return Conversion(partial(null_if_failed, _truth_of_text), fails=True)
    if own.kind in INTEGERS:
        return Conversion(partial(always, _is_not_zero))
    return None


def _is_not_zero(values: pa.Array) -> pa.Array:
    return pc.not_equal(values, pa.scalar(0, values.type))


_TRUE: Final = ("t", "true", "y", "yes", "1")
_FALSE: Final = ("f", "false", "n", "no", "0")


def _truth_of_text(values: pa.Array) -> pa.Array:
    plain = pc.ascii_lower(values)
    known = pc.is_in(plain, value_set=pa.array(_TRUE + _FALSE))
    return pc.if_else(known, pc.is_in(plain, value_set=pa.array(_TRUE)), pa.scalar(None, pa.bool_()))


def _to_integer(kind: pa.DataType, values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        return on_numbers(partial(_truncated, kind.to_pandas_dtype()), kind, values)
    if pa.types.is_decimal(values.type):
        values = lowest_bits(truncated_to(widened(values), 0))
    return pc.cast(values, kind, safe=False)


def lowest_bits(values: pa.Array) -> pa.Array:
    """Return the lowest 64 bits of 256-bit decimals without digits after the point, as Java's `longValue` does."""
    if not len(values):
        return pa.array([], pa.int64())
    words = np.frombuffer(values.buffers()[1], np.int64)
    lowest = np.ascontiguousarray(words[4 * values.offset : 4 * (values.offset + len(values)) : 4])
    return pa.array(lowest, mask=pc.is_null(values).to_numpy(zero_copy_only=False))


def _truncated(kind: Any, values: Any) -> Any:
    """Return Java's cast of a float: 0 for NaN, the nearest integer for what is too large; narrow ones from int32."""
    own = np.dtype(kind)
    over: Any = np.int64 if own == np.int64 else np.int32
    most = np.iinfo(over).max
    given = values.astype(np.float64)
    large = given >= float(most)
    made = np.where(large | np.isnan(given), 0.0, np.maximum(given, float(np.iinfo(over).min))).astype(over)
    return np.where(large, np.array(most, over), made).astype(own)


def _to_float(kind: pa.DataType, values: pa.Array) -> pa.Array:
    if pa.types.is_decimal(values.type):
        values = to_double(values)
    if pa.types.is_boolean(values.type):
        values = pc.cast(values, pa.int8())
    return pc.cast(values, kind, safe=False)


_MILLIS: Final = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}


def _of_interval(kind: pa.DataType, values: pa.Array) -> pa.Array:
    """Return months, or milliseconds."""
    if pa.types.is_duration(values.type):
        times, parts = _MILLIS[values.type.unit]
        values = pc.divide(pc.multiply(values.view(pa.int64()), times), parts)
    return pc.cast(values, kind, safe=False)


_INTEGER_DIGITS: Final = {Kind.BOOLEAN: 1, Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}


def _to_decimal(own: LogicalType, wanted: LogicalType) -> Conversion:
    if own.kind in FLOATS:
        return Conversion(partial(_decimal_of_float, wanted.arrow), fails=True, nulls=True)
    whole = _INTEGER_DIGITS.get(own.kind, own.precision - own.scale)
    room = wanted.precision - wanted.scale
    nulls = whole > room or (whole == room and own.scale > wanted.scale)
    return Conversion(partial(always, partial(_exact_decimal, own, wanted.arrow)), nulls=nulls)


def _exact_decimal(own: LogicalType, kind: pa.DataType, values: pa.Array) -> pa.Array:
    if own.kind is Kind.BOOLEAN:
        values = pc.cast(values, pa.int8())
    if own.kind is not Kind.DECIMAL:
        values = pc.cast(pc.cast(values, pa.int64()), pa.decimal128(19, 0))
    return fitted(values, kind)


def _decimal_of_float(kind: pa.DataType, values: pa.Array) -> Converted:
    """Round the digits that the float64 shows, not its exact value."""
    return _decimal_of_text(kind, pc.cast(pc.cast(values, pa.float64()), pa.string()))


def _of_text(wanted: LogicalType) -> Conversion:
    if wanted.kind is Kind.DECIMAL:
        return Conversion(partial(_decimal_of_text, wanted.arrow), fails=True, nulls=True)
    compute = _float_of_text if wanted.kind in FLOATS else _integer_of_text
    return Conversion(partial(null_if_failed, partial(compute, wanted.arrow)), fails=True)


_INTEGER: Final = r"^([+-]?)0*([0-9]{0,19})(\.[0-9]*)?$"


def _where(condition: pa.Array, values: pa.Array) -> pa.Array:
    """Return the values; NULL where the condition is not true."""
    return pc.if_else(pc.fill_null(condition, False), values, pa.scalar(None, values.type))  # a value, no flag


def _integer_of_text(kind: pa.DataType, values: pa.Array) -> pa.Array:
    found = read_by_arrow(values, kind, unless=b"xX")
    if found is not None:
        return found
    plain = pc.utf8_trim_whitespace(values)
    good = pc.and_(pc.match_substring_regex(plain, _INTEGER), pc.match_substring_regex(plain, "[0-9]"))
    digits = pc.replace_substring_regex(_where(good, plain), _INTEGER, r"\10\2")
    number = pc.cast(digits, pa.decimal128(38, 0))
    limits = np.iinfo(kind.to_pandas_dtype())
    least, most = (pa.scalar(Decimal(int(limit)), number.type) for limit in (limits.min, limits.max))
    fits = pc.and_(pc.greater_equal(number, least), pc.less_equal(number, most))
    return pc.cast(_where(fits, number), kind)


_FLOAT: Final = r"^([+-]?)(?:([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)[fFdD]?|(NaN|Infinity))$"


def _float_of_text(kind: pa.DataType, values: pa.Array) -> pa.Array:
    found = read_by_arrow(values, kind, unless=b"nN")
    if found is not None:
        return found
    plain = pc.utf8_trim_whitespace(values)
    good = _where(pc.match_substring_regex(plain, _FLOAT), plain)
    return pc.cast(pc.replace_substring_regex(good, r"^\+|[fFdD]$", ""), kind)


_DECIMAL: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def _decimal_of_text(kind: pa.DataType, values: pa.Array) -> Converted:
    for read in (kind, pa.decimal256(WIDEST, MAX_PRECISION)):  # with the digits of the type, or with more
        found = read_by_arrow(values, read)
        if found is not None:
            return fitted(found, kind), None
    plain = pc.utf8_trim_whitespace(values)
    good = pc.fill_null(pc.match_substring_regex(plain, _DECIMAL), False)  # a value, no flag
    digits = _without_exponents(_where(good, plain))
    digits = pc.replace_substring_regex(digits, r"^([+-]?)0+([0-9])", r"\1\2")
    digits = pc.replace_substring_regex(digits, rf"(\.[0-9]{{{kind.scale + 1}}})[0-9]*$", r"\1")
    most = WIDEST - kind.scale - 1
    digits = pc.replace_substring_regex(digits, rf"^([+-]?)[0-9]{{{most},}}.*$", r"\1" + "9" * most)
    made = fitted(pc.cast(digits, pa.decimal256(WIDEST, kind.scale + 1)), kind)
    failed = pc.and_(pc.is_valid(values), pc.invert(good))
    return made, failed if pc.any(failed).as_py() else None


def _without_exponents(digits: pa.Array) -> pa.Array:
    """Return the numbers in plain digits. Those with an exponent are few, and are converted one by one."""
    places = pc.indices_nonzero(pc.fill_null(pc.match_substring_regex(digits, "[eE]"), False))  # a value, no flag
    if not len(places):
        return digits
    mask = np.zeros(len(digits), bool)
    mask[places.to_numpy()] = True
    plain = pa.array([_plain(text) for text in digits.take(places).to_pylist()], pa.string())
    return pc.replace_with_mask(digits, pa.array(mask), plain)


def _plain(text: str) -> str:
    try:
        value = Decimal(text)
    except InvalidOperation:  # an exponent that no number has
        value = Decimal("Infinity" if "-" not in text.lower().partition("e")[2] else "0")
    if not value.is_finite() or value.adjusted() > 2 * WIDEST:
        return ("-" if text.startswith("-") else "") + "9" * WIDEST
    return "0" if value.adjusted() < -2 * WIDEST else f"{value:f}"
