"""CAST to texts and to bytes: the forms in which Flink, and Java, show values."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.decimal_values import relabelled
from headgate.columns.functions.conversions import Conversion, Converted, always, null_if_failed
from headgate.columns.logical_types import BYTES, FLOATS, MAX_LENGTH, Kind, LogicalType
from headgate.columns.zones import local_times


def to_text(own: LogicalType, wanted: LogicalType, zone: str) -> Conversion | None:
    """Return the conversion to a text of the wanted length: longer texts are cut off, and a CHAR is filled up."""
    fit = _fit(own, wanted)
    if own.kind in BYTES:
        return Conversion(partial(_text_of_bytes, fit), fails=True)
    return Conversion(partial(_shown, fit, own, zone))


def _shown(fit: partial[pa.Array], own: LogicalType, zone: str, values: pa.Array) -> Converted:
    return fit(shown(own, zone, values)), None


def _text_of_bytes(fit: partial[pa.Array], values: pa.Array) -> Converted:
    made, failed = null_if_failed(_utf8, values)
    return fit(made), failed


def _utf8(values: pa.Array) -> pa.Array:
    """Return the texts of UTF-8; NULL for bytes that are none."""
    try:
        return pc.cast(values, pa.string())
    except pa.ArrowInvalid:
        return pa.array([_decoded(own) for own in values.to_pylist()], pa.string())


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _fit(own: LogicalType, wanted: LogicalType) -> partial[pa.Array]:
    length = wanted.precision
    fits = length == MAX_LENGTH or (own.is_text and own.precision <= length)
    return partial(_fitted_text, None if fits else length, length if wanted.kind is Kind.CHAR else 0)


def _fitted_text(most: int | None, least: int, values: pa.Array) -> pa.Array:
    if most is not None:
        values = pc.utf8_slice_codeunits(values, 0, most)
    return pc.utf8_rpad(values, least) if least else values


def to_bytes(own: LogicalType, wanted: LogicalType) -> Conversion | None:
    """Return the conversion to bytes of the wanted length: the UTF-8 of a text. A BINARY is filled up with zeros."""
    if own.kind not in BYTES and not own.is_text:
        return None
    return Conversion(partial(always, partial(_bytes, wanted.precision, wanted.kind is Kind.BINARY)))


def _bytes(length: int, fixed: bool, values: pa.Array) -> pa.Array:
    made = pc.cast(values, pa.binary())
    if length < MAX_LENGTH:
        made = pc.binary_slice(made, 0, length)
    if fixed:
        zeros = pa.repeat(pa.scalar(bytes(length), pa.binary()), len(made))
        made = pc.binary_slice(pc.binary_join_element_wise(made, zeros, pa.scalar(b"")), 0, length)
    return made


def shown(own: LogicalType, zone: str, values: pa.Array) -> pa.Array:
    """Return values as texts."""
    match own.kind:
        case Kind.CHAR | Kind.VARCHAR:
            return values
        case Kind.BOOLEAN:
            return pc.if_else(values, "TRUE", "FALSE")
        case Kind.DECIMAL:
            return _of_decimal(own.scale, values)
        case Kind.TIME:
            return _of_time(own.precision, values)
        case Kind.TIMESTAMP:
            return _of_timestamp(own.precision, values)
        case Kind.TIMESTAMP_LTZ:
            return _of_timestamp(own.precision, local_times(values, zone))
        case Kind.DAY_INTERVAL:
            return _of_days(values)
        case Kind.MONTH_INTERVAL:
            return _of_months(values)
        case Kind.ARRAY | Kind.MAP | Kind.ROW:
            return _of_nested(own, zone, values)
        case Kind.BINARY | Kind.VARBINARY:
            return _utf8(values)
    return _of_float(values) if own.kind in FLOATS else pc.cast(values, pa.string())  # a DATE, or an integer


def _of_decimal(scale: int, values: pa.Array) -> pa.Array:
    """Return plain digits, all of them after the point too."""
    whole = pc.cast(relabelled(values, values.type.precision + 1, 0), pa.string())
    if not scale:
        return whole
    sign = pc.if_else(pc.starts_with(whole, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(whole, characters="-"), scale + 1, "0")
    before, after = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    return pc.binary_join_element_wise(sign, before, pa.scalar("."), after, pa.scalar(""))


_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7


def _of_float(values: pa.Array) -> pa.Array:
    """Return the fewest digits that mean the value, with a point; with an exponent outside 0.001 to 10,000,000."""
    made = pc.cast(values, pa.string())
    made = pc.if_else(pc.match_substring(made, "."), made, pc.binary_join_element_wise(made, "0", "."))
    size = pc.abs(values)
    plain = pc.or_(
        pc.equal(size, pa.scalar(0, size.type)),
        pc.and_(
            pc.greater_equal(size, pa.scalar(_PLAIN_FROM, size.type)),
            pc.less(size, pa.scalar(_PLAIN_BELOW, size.type)),
        ),
    )
    places = pc.indices_nonzero(pc.fill_null(pc.invert(plain), False))  # a value, no flag
    if not len(places):
        return made
    mask = np.zeros(len(made), bool)
    mask[places.to_numpy()] = True
    others = values.take(places).to_numpy()
    return pc.replace_with_mask(made, pa.array(mask), pa.array([_java_form(own) for own in others], pa.string()))


_NAMES: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _java_form(value: np.floating) -> str:
    text = np.format_float_scientific(value, trim="0", exp_digits=1)
    if text in _NAMES:
        return _NAMES[text]
    if ".0e" in text:  # of two digits, the nearest: this differs for the least values that there are
        text = np.format_float_scientific(value, precision=1, unique=False, exp_digits=1)
    return text.replace("e+", "E").replace("e", "E")


def _of_time(precision: int, values: pa.Array) -> pa.Array:
    """Return the digits after the second without zeros at the end, but for one."""
    text = pc.cast(values, pa.string())
    if not precision:
        return pc.utf8_slice_codeunits(text, 0, len("hh:mm:ss"))
    text = pc.utf8_rtrim(pc.utf8_slice_codeunits(text, 0, len("hh:mm:ss.") + precision), characters="0")
    return pc.if_else(pc.ends_with(text, "."), pc.binary_join_element_wise(text, "0", ""), text)


def _of_timestamp(precision: int, values: pa.Array) -> pa.Array:
    text = pc.cast(values, pa.string())
    unneeded = -precision % 3
    return pc.utf8_slice_codeunits(text, 0, -unneeded) if unneeded else text


_DAY: Final = 86_400_000


def _of_days(values: pa.Array) -> pa.Array:
    """Return days, hours, minutes, seconds and milliseconds, such as `+1 10:17:36.789`."""
    millis = pc.cast(pc.cast(values, pa.duration("ms"), safe=False), pa.int64())
    size = pc.abs(millis)
    days = pc.divide(size, _DAY)
    rest = pc.cast(pc.subtract(size, pc.multiply(days, _DAY)), pa.int32())
    time = pc.cast(rest.view(pa.time32("ms")), pa.string())
    return pc.binary_join_element_wise(_sign(millis), pc.cast(days, pa.string()), " ", time, "")


def _of_months(values: pa.Array) -> pa.Array:
    """Return years and months, such as `+1-06`."""
    size = pc.abs(pc.cast(values, pa.int64()))
    years = pc.divide(size, 12)
    months = pc.utf8_lpad(pc.cast(pc.subtract(size, pc.multiply(years, 12)), pa.string()), 2, "0")
    return pc.binary_join_element_wise(_sign(values), pc.cast(years, pa.string()), "-", months, "")


def _sign(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.less(values, pa.scalar(0, values.type)), "-", "+")


def _of_nested(own: LogicalType, zone: str, values: pa.Array) -> pa.Array:
    """Return `[1, 2]` for an ARRAY, `{a=1, b=2}` for a MAP, and `(1, a)` for a ROW, with `NULL` for NULL."""
    if own.kind is Kind.ROW:
        fields = [_or_null(inner, zone, values.field(index)) for index, (_, inner) in enumerate(own.fields)]
        opening, closing = "(", ")"
        made = pc.binary_join_element_wise(*fields, pa.scalar(", ")) if fields else pa.repeat("", len(values))
    else:
        inside = _inside(own, zone, values)
        opening, closing = ("[", "]") if own.kind is Kind.ARRAY else ("{", "}")
        made = pc.binary_join(inside, ", ")
    made = pc.binary_join_element_wise(pa.scalar(opening), made, pa.scalar(closing), pa.scalar(""))
    return pc.if_else(pc.is_valid(values), made, pa.scalar(None, pa.string()))


def _inside(own: LogicalType, zone: str, values: pa.Array) -> pa.Array:
    """Return the texts of the elements, or entries, of each value."""
    starts, inner = _entries(values)
    if own.kind is Kind.ARRAY:
        texts = _or_null(own.element, zone, inner)
    else:
        keys, items = inner.field(0), inner.field(1)
        texts = pc.binary_join_element_wise(
            _or_null(own.key, zone, keys), _or_null(own.value, zone, items), pa.scalar("=")
        )
    return pa.ListArray.from_arrays(starts, texts)


def _entries(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the offsets of lists or maps, and the elements that they point into. NULL has no elements."""
    plain = pc.take(values, pa.array(np.arange(len(values))))  # without elements outside, or under NULL
    offsets = plain.offsets
    if pa.types.is_map(values.type):
        return offsets, pa.StructArray.from_arrays([plain.keys, plain.items], names=["key", "value"])
    return offsets, plain.values


def _or_null(own: LogicalType, zone: str, values: pa.Array) -> pa.Array:
    return pc.fill_null(shown(own, zone, values), "NULL")
