"""Conversions between times, texts and numbers, and what the time is now.

Patterns are Java's, and constants, so that each is translated once. A text that is no time becomes NULL.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.functions.logic import null_of
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import BIGINT, DATE, NUMBERS, STRING, TEXTS, TIMESTAMPS, Kind, LogicalType
from headgate.columns.time_patterns import (
    DEFAULT_DATE,
    DEFAULT_TIMESTAMP,
    checked_pattern,
    expression_of,
    read,
    written,
)
from headgate.columns.time_units import PER_SECOND, arrow_unit
from headgate.columns.typed import Apply, Constant, Typed, Values
from headgate.columns.vectors import Integers, on_integers
from headgate.columns.zones import checked_zone, instants, local_times
from headgate.errors import InvalidExpressionError

_SECONDS: Final = "yyyy-MM-dd HH:mm:ss"

_NOW: Final[dict[str, LogicalType]] = {
    "current_date": DATE,
    "current_time": types.time(0),
    "local_time": types.time(0),
    "current_timestamp": types.timestamp_ltz(3),
    "now": types.timestamp_ltz(3),
    "proctime": types.timestamp_ltz(3),
    "local_timestamp": types.timestamp(3),
}


@function(*_NOW)
def current(call: CallSite) -> Typed:
    """The time at which a batch of rows is computed, the same for all its rows; in the session's time zone."""
    call.expect_count(0)
    return _at_each_batch(call, _NOW[call.function].nulls(nullable=False))


def _at_each_batch(call: CallSite, kind: LogicalType) -> Apply:
    kernel = partial(_now, kind, call.zone)
    return Apply(function=call.function, arguments=(), type=kind, kernel=kernel, deterministic=False)


def _now(kind: LogicalType, zone: str, rows: int) -> Values:
    instant = pa.scalar(time.time_ns() // 10**6, pa.timestamp("ms", "UTC"))
    match kind.kind:
        case Kind.TIMESTAMP_LTZ:
            return instant
        case Kind.BIGINT:
            return pa.scalar(instant.value // 1000, pa.int64())
        case Kind.TIMESTAMP:
            return local_times(instant, zone)
    return pc.cast(pc.floor_temporal(local_times(instant, zone), unit="second"), kind.arrow)


def _texts(call: CallSite, most: int) -> Typed | None:
    """Return the first argument, a text; None if one of the others is a constant NULL."""
    call.expect_count(1, most)
    call.expect(0, TEXTS, "a text")
    return None if _has_null(call.arguments[1:]) else call.converted(0, STRING)


def _has_null(arguments: Sequence[Typed]) -> bool:
    return any(isinstance(own, Constant) and not own.value.is_valid for own in arguments)


def _pattern(call: CallSite, default: str, *, is_read: bool) -> str:
    if len(call.arguments) == 1:
        return default
    return checked_pattern(call.constant(1, str, "a pattern such as 'yyyy-MM-dd'"), read=is_read)


def _zone(call: CallSite, index: int) -> str:
    zone: str = call.constant(index, str, "a time zone such as 'Europe/Berlin'")
    try:
        return checked_zone(zone)
    except ValueError as error:
        raise InvalidExpressionError(f"{call.function}(): {error}") from None


@function("to_date")
def to_date(call: CallSite) -> Typed:
    """A DATE; read as `yyyy-MM-dd` without a pattern, where the month and day may be missing."""
    text = _texts(call, 2)
    if text is None:
        return null_of(DATE)
    pattern = _pattern(call, "", is_read=True)
    expression = expression_of(pattern, lenient=True) if pattern else DEFAULT_DATE
    return call.apply(partial(_dates, expression), DATE, [text], options=(expression,), nullable=True)


def _dates(expression: str, texts: Values) -> Values:
    return pc.cast(_local(expression, None, "s", texts), pa.date32(), safe=False)


def _local(expression: str, default: str | None, unit: str, texts: Values) -> Values:
    """Return the TIMESTAMPs of texts. A text that does not match the first expression is read by the second."""
    if isinstance(texts, pa.Scalar):
        return _local(expression, default, unit, pa.repeat(texts, 1))[0]
    found = read(expression, texts, unit).local
    if default is None or found.null_count == texts.null_count:
        return found
    return pc.coalesce(found, read(default, texts, unit).local)


@function("to_timestamp")
def to_timestamp(call: CallSite) -> Typed:
    """A TIMESTAMP(3). A text that does not have the pattern is read as `yyyy-MM-dd` or `yyyy-MM-dd HH:mm:ss.SSS`."""
    text = _texts(call, 2)
    result = types.timestamp(3)
    if text is None:
        return null_of(result)
    pattern = _pattern(call, "", is_read=True)
    first, default = (
        (expression_of(pattern, lenient=False), DEFAULT_TIMESTAMP) if pattern else (DEFAULT_TIMESTAMP, None)
    )
    return call.apply(partial(_local, first, default, "ms"), result, [text], options=(first,), nullable=True)


@function("to_timestamp_ltz")
def to_timestamp_ltz(call: CallSite) -> Typed:
    """A TIMESTAMP_LTZ: of a number of units of 10^-precision seconds since 1970, or of a text in a zone, else UTC."""
    call.expect_count(1, 3)
    if call.types[0].kind in NUMBERS:
        return _of_number(call)
    text = _texts(call, 3)
    if text is None:
        return null_of(types.timestamp_ltz(3))
    pattern = _pattern(call, "", is_read=True)
    digits = max([len(run) for run in re.findall("S+", re.sub("'[^']*'", "", pattern))], default=0)
    result = types.timestamp_ltz(max(digits, 3))
    zone = _zone(call, 2) if len(call.arguments) == 3 else "UTC"
    first = expression_of(pattern, lenient=False) if pattern else DEFAULT_TIMESTAMP
    kernel = partial(_points, first, zone, types.unit_of(result.precision))
    return call.apply(kernel, result, [text], options=(first, zone), nullable=True)


def _points(expression: str, zone: str, unit: str, texts: Values) -> Values:
    if isinstance(texts, pa.Scalar):
        return _points(expression, zone, unit, pa.repeat(texts, 1))[0]
    found = read(expression, texts, unit)
    return _with_offsets(found.local, found.offsets, zone)


def _with_offsets(local: pa.Array, offsets: pa.Array | None, zone: str, *, last: bool = False) -> pa.Array:
    if offsets is None:
        return instants(local, zone, last=last)
    utc = pc.subtract(local, offsets.cast(pa.duration("s")))
    return pc.cast(pc.cast(utc, local.type), pa.timestamp(local.type.unit, "UTC"))


_FIRST_SECOND, _LAST_SECOND = (
    int((np.datetime64(text) - np.datetime64("1970-01-01T00:00:00")).astype(np.int64))
    for text in ("0001-01-01T00:00:00", "9999-12-31T23:59:59")
)


def _of_number(call: CallSite) -> Typed:
    call.expect_count(1, 2)
    digits = call.constant(1, int, "a precision of 0 to 9") if len(call.arguments) == 2 else 3
    if not 0 <= digits <= 9:
        raise InvalidExpressionError(f"the precision of {call.function}() is 0 to 9, not {digits}")
    result = types.timestamp_ltz(max(digits, 3))
    places = len(str(PER_SECOND[arrow_unit(result)])) - 1 - digits
    return call.apply(
        partial(_epoch, places, result.arrow), result, [call.arguments[0]], options=(digits,), nullable=True
    )


def _epoch(places: int, result: pa.DataType, numbers: Values) -> Values:
    if not pa.types.is_integer(numbers.type):
        numbers = _whole(pc.multiply(pc.cast(numbers, pa.float64()), float(10**places)))
        places = 0
    found = on_integers(partial(np.multiply, 10**places), pa.int64(), numbers)
    per_second = PER_SECOND[result.unit]
    exists = on_integers(partial(_exists, per_second), pa.bool_(), found)
    return pc.cast(pc.if_else(exists, found, pa.scalar(None, pa.int64())), result)


def _exists(per_second: int, values: Integers) -> npt.NDArray[np.bool_]:
    return (values >= _FIRST_SECOND * per_second) & (values < (_LAST_SECOND + 1) * per_second)


def _whole(numbers: Values) -> Values:
    """Return numbers without their fractions, as BIGINTs."""
    if pa.types.is_integer(numbers.type):
        return pc.cast(numbers, pa.int64())
    return pc.cast(pc.trunc(numbers), pa.int64(), safe=False)


@function("from_unixtime")
def from_unixtime(call: CallSite) -> Typed:
    """Seconds since 1970 as a text, in the session's time zone."""
    call.expect_count(1, 2)
    call.expect(0, NUMBERS, "a number")
    if _has_null(call.arguments):
        return null_of(STRING)
    pattern = _pattern(call, _SECONDS, is_read=False)
    kernel = partial(_of_seconds, pattern, call.zone)
    return call.apply(kernel, STRING, [call.arguments[0]], options=(pattern, call.zone))


def _of_seconds(pattern: str, zone: str, numbers: Values) -> Values:
    return written(pattern, local_times(pc.cast(_whole(numbers), pa.timestamp("s", "UTC")), zone))


@function("unix_timestamp")
def unix_timestamp(call: CallSite) -> Typed:
    """Seconds since 1970: now, or of a text in the session's time zone; the least BIGINT for a text that is no time.

    A time that clocks show twice is the last, as in Java's `SimpleDateFormat`; also for `convert_tz`.
    """
    if not call.arguments:
        return _at_each_batch(call, BIGINT.nulls(nullable=False))
    text = _texts(call, 2)
    if text is None:
        return null_of(BIGINT)
    expression = expression_of(_pattern(call, _SECONDS, is_read=True), lenient=True)
    kernel = partial(_seconds, expression, call.zone)
    return call.apply(kernel, BIGINT, [text], options=(expression, call.zone))


def _seconds(expression: str, zone: str, texts: Values) -> Values:
    if isinstance(texts, pa.Scalar):
        return _seconds(expression, zone, pa.repeat(texts, 1))[0]
    found = read(expression, texts, "s", millis=True)
    seconds = pc.cast(_with_offsets(found.local, found.offsets, zone, last=True), pa.int64())
    return pc.if_else(pc.is_valid(texts), pc.fill_null(seconds, -(2**63)), pa.scalar(None, pa.int64()))


@function("date_format")
def date_format(call: CallSite) -> Typed:
    """A time as a text; a TIMESTAMP_LTZ as clocks of the session show it. A text is read as `yyyy-MM-dd HH:mm:ss`."""
    call.expect_count(2)
    given = call.expect(0, (Kind.DATE, *TIMESTAMPS, *TEXTS), "a date, a timestamp or a text, and a pattern")
    if _has_null(call.arguments):
        return null_of(STRING)
    pattern = _pattern(call, "", is_read=False)
    if given.type.is_text:
        expression = expression_of(_SECONDS, lenient=True)
        return call.apply(partial(_rewritten, expression, pattern), STRING, [given], options=(pattern,), nullable=True)
    zone = call.zone if given.type.kind is Kind.TIMESTAMP_LTZ else None
    return call.apply(partial(_shown, pattern, zone), STRING, [given], options=(pattern, zone))


def _shown(pattern: str, zone: str | None, values: Values) -> Values:
    return written(pattern, values if zone is None else local_times(values, zone))


def _rewritten(expression: str, pattern: str, texts: Values) -> Values:
    return written(pattern, _local(expression, None, "s", texts))


@function("convert_tz")
def convert_tz(call: CallSite) -> Typed:
    """A text such as `2024-02-29 12:00:00`, from the clocks of one zone to the clocks of another."""
    call.expect_count(3)
    text = _texts(call, 3)
    if text is None:
        return null_of(STRING)
    own, other = _zone(call, 1), _zone(call, 2)
    kernel = partial(_converted, expression_of(_SECONDS, lenient=True), own, other)
    return call.apply(kernel, STRING, [text], options=(own, other), nullable=True)


def _converted(expression: str, own: str, other: str, texts: Values) -> Values:
    return written(_SECONDS, local_times(instants(_local(expression, None, "s", texts), own, last=True), other))
