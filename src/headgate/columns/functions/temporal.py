"""Intervals, and arithmetic of dates, times and timestamps.

A MONTH interval moves along the calendar: the day of the month stays, or becomes the last of a shorter month. For a
TIMESTAMP_LTZ that is the calendar of the session's time zone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.casting import coerced
from headgate.columns.functions.explicit_casts import cast
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.functions.time_rounding import temporal_rounding
from headgate.columns.logical_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTEGERS,
    INTERVALS,
    MONTH_INTERVAL,
    POINTS,
    TIMESTAMPS,
    Kind,
    LogicalType,
)
from headgate.columns.time_units import DAY, MILLIS, MONTHS, per_day
from headgate.columns.typed import Constant, Typed, Values
from headgate.columns.vectors import Integers, first_day, month_of, on_integers, truncated
from headgate.columns.zones import instants, local_times
from headgate.errors import InvalidExpressionError

__all__ = ["temporal_arithmetic", "temporal_rounding"]


@function("years", "quarters", "months", "weeks", "days", "hours", "minutes", "seconds", "millis")
def interval(call: CallSite) -> Typed:
    """An interval of so many years, days and so on."""
    call.expect_count(1)
    call.expect(0, INTEGERS, "an integer")
    unit = "MILLISECOND" if call.function == "millis" else call.function.removesuffix("s").upper()
    return _interval(call, unit, call.converted(0, BIGINT))


def _interval(call: CallSite, unit: str, count: Typed) -> Typed:
    kind, factor = (MONTH_INTERVAL, MONTHS[unit]) if unit in MONTHS else (types.day_interval(3), MILLIS[unit])
    return call.apply(partial(on_integers, partial(np.multiply, factor), kind.arrow), kind, [count])


def temporal_arithmetic(call: CallSite) -> Typed | None:
    """Return `plus`, `minus`, `times` or `negate` of times and intervals; None if no argument is one.

    A TIMESTAMP(0) plus milliseconds has the precision of the interval, unless it is a constant of whole seconds.
    """
    if not any(own.kind in POINTS or own.kind in INTERVALS for own in call.types):
        return None
    found = _operation(call)
    if found is None:
        call.fail("a time and an interval, two times, two intervals, or an interval and a number")
    return found


def _operation(call: CallSite) -> Typed | None:
    match call.function, call.arguments:
        case "negate", [only] if only.type.kind in INTERVALS:
            return call.apply(partial(on_integers, np.negative, only.type.arrow), only.type)
        case "times", [one, other] if one.type.kind in INTERVALS and other.type.is_number:
            return _multiple(call, one, other)
        case "times", [one, other] if one.type.is_number and other.type.kind in INTERVALS:
            return _multiple(call, other, one)
        case "plus" | "minus", [one, other] if other.type.kind in INTERVALS:
            return _shifted(call, one, other, sign=-1 if call.function == "minus" else 1)
        case "plus", [one, other] if one.type.kind in INTERVALS:
            return _shifted(call, other, one)
        case "minus", [one, other] if one.type.kind in POINTS and other.type.kind in POINTS:
            return _difference(call, one, other)
    return None


def _multiple(call: CallSite, own: Typed, number: Typed) -> Typed:
    if number.type.kind in INTEGERS:
        return call.apply(partial(on_integers, np.multiply, own.type.arrow), own.type, [own, number])
    factor = coerced(number, DOUBLE.nulls(number.type.nullable))
    assert factor is not None
    return call.apply(partial(_truncated_product, own.type.arrow), own.type, [own, factor])


def _truncated_product(result: pa.DataType, own: Values, factor: Values) -> Values:
    stored = pa.int32() if result == pa.int32() else pa.int64()
    product = pc.multiply(pc.cast(pc.cast(own, stored), pa.float64()), factor)
    return pc.cast(pc.cast(pc.trunc(product), stored), result)


def _shifted(call: CallSite, point: Typed, by: Typed, sign: int = 1) -> Typed:
    """Return a point in time, or an interval, plus `sign` times an interval."""
    if by.type.kind is Kind.DAY_INTERVAL and point.type.kind in (*POINTS, Kind.DAY_INTERVAL):
        return _days_later(call, point, by, sign)
    own = point.type
    if by.type.kind is not Kind.MONTH_INTERVAL or own.kind not in (Kind.DATE, *TIMESTAMPS, Kind.MONTH_INTERVAL):
        call.fail("a time and an interval of days to seconds, a date or timestamp and any interval, or two intervals")
    if own.kind is Kind.MONTH_INTERVAL:
        compute = partial(_plus, 1, sign, None)
        return call.apply(partial(on_integers, compute, own.arrow), own, [point, by])
    zone = (call.zone,) if own.kind is Kind.TIMESTAMP_LTZ else ()
    return call.apply(partial(_months_later, own, call.zone, sign), own, [point, by], options=(*call.options, *zone))


def _days_later(call: CallSite, point: Typed, by: Typed, sign: int) -> Typed:
    own = point.type
    if own.kind is Kind.DATE:
        compute = partial(_plus_whole_days, per_day(by.type), sign)
        return call.apply(partial(on_integers, compute, own.arrow), own, [point, by])
    by = _coarsest(by, own)
    result = replace(own, precision=max(own.precision, by.type.precision))
    day = per_day(result)
    compute = partial(
        _plus, day // per_day(own), sign * (day // per_day(by.type)), day if own.kind is Kind.TIME else None
    )
    return call.apply(partial(on_integers, compute, result.arrow), result, [point, by])


def _coarsest(by: Typed, own: LogicalType) -> Typed:
    """Return a constant interval with no more digits than a time has, if that loses nothing; else the interval."""
    if not isinstance(by, Constant) or not by.value.is_valid or per_day(by.type) <= per_day(own):
        return by
    kind = types.day_interval(own.precision).nulls(nullable=False)
    if int(by.value.cast(pa.int64()).as_py()) % (per_day(by.type) // per_day(own)):
        return by
    return Constant(by.value.cast(kind.arrow), kind)


def _plus(factor: int, other_factor: int, modulus: int | None, one: Integers, other: Integers) -> Integers:
    found = one * factor + other * other_factor
    return found if modulus is None else found % modulus


def _plus_whole_days(day: int, sign: int, date: Integers, by: Integers) -> Integers:
    return date + sign * truncated(by, day)


def _months_later(own: LogicalType, zone: str, sign: int, point: Values, months: Values) -> Values:
    if own.kind is not Kind.TIMESTAMP_LTZ:
        return on_integers(partial(_plus_months, per_day(own), sign), own.arrow, point, months)
    local = _months_later(replace(own, kind=Kind.TIMESTAMP), zone, sign, local_times(point, zone), months)
    return instants(local, zone)


def _plus_months(day: int, sign: int, point: Integers, months: Integers) -> Integers:
    days, rest = point // day, point % day
    month = month_of(days)
    wanted = month + sign * months
    first = first_day(wanted)
    last = first_day(wanted + 1) - 1
    found: Integers = np.minimum(first + days - first_day(month), last) * day + rest
    return found


def _difference(call: CallSite, one: Typed, other: Typed) -> Typed:
    mine, theirs, common = _common(call, one, other)
    result = types.day_interval(max(common.precision, 3))
    factor = per_day(result) // per_day(common)
    return call.apply(partial(on_integers, partial(_scaled_difference, factor), result.arrow), result, [mine, theirs])


def _scaled_difference(factor: int, one: Integers, other: Integers) -> Integers:
    return (one - other) * factor


def _common(call: CallSite, one: Typed, other: Typed) -> tuple[Typed, Typed, LogicalType]:
    common = types.widest([one.type, other.type])
    if common is None or common.kind not in POINTS:
        call.fail("two dates or timestamps, or two times of day")
    mine, theirs = (cast(own, common.nulls(own.type.nullable), call.zone) for own in (one, other))
    return mine, theirs, common


def _option(call: CallSite, *, months: bool = True) -> str:
    unit = call.options[0]
    if unit in MILLIS or (months and unit in MONTHS):
        return str(unit)
    known = ", ".join([*MONTHS, *MILLIS])
    raise InvalidExpressionError(f"{call.function}() has no unit {unit}: use one of {known}")


@function("timestamp_add")
def timestamp_add(call: CallSite) -> Typed:
    """The second argument plus so many units, which the option names. A DATE plus hours is a TIMESTAMP(6)."""
    call.expect_count(2)
    unit = _option(call)
    call.expect(0, INTEGERS, "an integer, and a date or timestamp")
    point = call.expect(1, POINTS, "an integer, and a date or timestamp")
    if point.type.kind is Kind.DATE and unit not in (*MONTHS, "WEEK", "DAY"):
        point = cast(point, types.timestamp(6).nulls(point.type.nullable), call.zone)
    return _shifted(call, point, _interval(call, unit, call.converted(0, BIGINT)))


@function("timestamp_diff")
def timestamp_diff(call: CallSite) -> Typed:
    """How many whole units, which the option names, the second argument is after the first."""
    call.expect_count(2)
    unit = _option(call)
    one, other, common = _common(call, *call.arguments)
    if unit in MONTHS and common.kind is Kind.TIME:
        call.fail("two dates or timestamps")
    zone = call.zone if common.kind is Kind.TIMESTAMP_LTZ and unit in MONTHS else None
    kernel = partial(_units_between, common, unit, zone)
    return call.apply(kernel, INT, [one, other], options=(unit, zone))


def _units_between(own: LogicalType, unit: str, zone: str | None, one: Values, other: Values) -> Values:
    if zone is not None:
        one, other = local_times(one, zone), local_times(other, zone)
    if unit in MONTHS:
        compute = partial(_months_between, per_day(own), MONTHS[unit])
    else:
        compute = partial(_whole_units, per_day(own), MILLIS[unit])
    return on_integers(compute, pa.int32(), one, other)


def _whole_units(day: int, millis: int, one: Integers, other: Integers) -> Integers:
    unit, base = day * millis, DAY * 1000
    return truncated(other - one, unit // base) if unit >= base else (other - one) * (base // unit)


def _months_between(day: int, months: int, one: Integers, other: Integers) -> Integers:
    early, late = np.minimum(one, other), np.maximum(one, other)
    count = month_of(late // day) - month_of(early // day)
    count -= _plus_months(day, 1, early, count) > late
    found: Integers = np.where(one <= other, 1, -1) * (count // months)
    return found


@function("temporal_overlaps")
def temporal_overlaps(call: CallSite) -> Typed:
    """Whether two spans of time have a point in common. Each is a start, and its end or length."""
    call.expect_count(4)
    spans = []
    for start, end in (call.arguments[:2], call.arguments[2:]):
        if start.type.kind not in POINTS or end.type.kind not in (start.type.kind, *INTERVALS):
            call.fail("a time and an interval or a time of the same kind, twice")
        spans += [start, _shifted(call, start, end) if end.type.kind in INTERVALS else end]
    given = call.to_widest(spans)
    return call.apply(partial(on_integers, _overlap, BOOLEAN.arrow), BOOLEAN, given, options=("spans",))


def _overlap(start: Integers, end: Integers, other: Integers, other_end: Integers) -> npt.NDArray[np.bool_]:
    after = np.maximum(start, end) >= np.minimum(other, other_end)
    before = np.maximum(other, other_end) >= np.minimum(start, end)
    return after & before
