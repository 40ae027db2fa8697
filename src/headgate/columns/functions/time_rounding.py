"""EXTRACT, and FLOOR and CEIL of dates, times and timestamps.

A TIMESTAMP_LTZ is taken apart, and rounded, as the clocks of the session's time zone show it. Weeks begin on Sunday
for FLOOR and CEIL, as in Flink, and weeks of the year follow ISO 8601.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.logic import null_of
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import BIGINT, INTERVALS, POINTS, Kind, LogicalType
from headgate.columns.time_units import DAY, MILLIS, PER_SECOND, arrow_unit, per_day
from headgate.columns.typed import Kernel, Typed, Values
from headgate.columns.vectors import Integers, first_day, month_of, on_integers, truncated
from headgate.columns.zones import instants, local_times
from headgate.errors import InvalidExpressionError


def _of_year(compute: Kernel, values: Values) -> Values:
    return on_integers(compute, pa.int64(), pc.year(values))


def _century(years: int, year: Integers) -> Integers:
    return truncated(np.where(year > 0, year + years - 1, year - years + 1), years)


def _sum_of(parts: tuple[tuple[Kernel, int], ...], values: Values) -> Values:
    (first, factor), *others = parts
    total = pc.multiply(first(values), factor)
    for part, weight in others:
        total = pc.add(total, pc.multiply(part(values), weight))
    return total


_DATE_PARTS: Final[dict[str, Kernel]] = {
    "MILLENNIUM": partial(_of_year, partial(_century, 1000)),
    "CENTURY": partial(_of_year, partial(_century, 100)),
    "DECADE": partial(_of_year, partial(truncated, by=10)),
    "YEAR": pc.year,
    "ISOYEAR": pc.iso_year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOY": pc.day_of_year,
    "DOW": partial(pc.day_of_week, count_from_zero=False, week_start=7),
    "ISODOW": partial(pc.day_of_week, count_from_zero=False, week_start=1),
}
_TIME_PARTS: Final[dict[str, Kernel]] = {
    "HOUR": pc.hour,
    "MINUTE": pc.minute,
    "SECOND": pc.second,
    "MILLISECOND": pc.millisecond,
    "MICROSECOND": partial(_sum_of, ((pc.millisecond, 10**3), (pc.microsecond, 1))),
    "NANOSECOND": partial(_sum_of, ((pc.millisecond, 10**6), (pc.microsecond, 10**3), (pc.nanosecond, 1))),
}
_DAY_INTERVAL_PARTS: Final = {
    "DAY": (MILLIS["DAY"], None),
    "HOUR": (MILLIS["HOUR"], 24),
    "MINUTE": (MILLIS["MINUTE"], 60),
    "SECOND": (MILLIS["SECOND"], 60),
    "MILLISECOND": (1, 1000),
}
"""The milliseconds of a part, and how many of the part make the next larger one."""
_MONTH_INTERVAL_PARTS: Final = {"YEAR": (12, None), "MONTH": (1, 12)}


@function("extract")
def extract(call: CallSite) -> Typed:
    """The part of a time or interval that the option names, a BIGINT. Parts of negative intervals are negative."""
    call.expect_count(1)
    (unit,) = call.options
    given = call.expect(0, (*POINTS, *INTERVALS), "a date, time, timestamp or interval")
    if given.type.kind is Kind.NULL:
        return null_of(BIGINT)
    known = _parts(given.type)
    if unit not in known:
        raise InvalidExpressionError(f"a {given.type} has no {unit}: extract one of {', '.join(known)}")
    local = given.type.kind is Kind.TIMESTAMP_LTZ and unit != "EPOCH"
    kernel = partial(_part, given.type, unit, call.zone if local else None)
    return call.apply(kernel, BIGINT, options=(unit, call.zone) if local else (unit,))


def _parts(own: LogicalType) -> list[str]:
    match own.kind:
        case Kind.DATE:
            return [*_DATE_PARTS, "EPOCH"]
        case Kind.TIME:
            return list(_TIME_PARTS)
        case Kind.DAY_INTERVAL:
            return list(_DAY_INTERVAL_PARTS)
        case Kind.MONTH_INTERVAL:
            return list(_MONTH_INTERVAL_PARTS)
    return [*_DATE_PARTS, *_TIME_PARTS, "EPOCH"]


def _part(own: LogicalType, unit: str, zone: str | None, values: Values) -> Values:
    if own.kind in INTERVALS:
        size, modulus = (_MONTH_INTERVAL_PARTS if own.kind is Kind.MONTH_INTERVAL else _DAY_INTERVAL_PARTS)[unit]
        if own.kind is Kind.DAY_INTERVAL:
            size = size * PER_SECOND[arrow_unit(own)] // 1000
        return on_integers(partial(_interval_part, size, modulus), pa.int64(), values)
    if unit == "EPOCH":
        return on_integers(partial(_epoch, per_day(own)), pa.int64(), values)
    if zone is not None:
        values = local_times(values, zone)
    return pc.cast((_DATE_PARTS | _TIME_PARTS)[unit](values), pa.int64())


def _interval_part(size: int, modulus: int | None, values: Integers) -> Integers:
    whole = np.abs(values) // max(size, 1)
    found: Integers = np.sign(values) * (whole if modulus is None else whole % modulus)
    return found


def _epoch(day: int, values: Integers) -> Integers:
    return values * DAY if day == 1 else values // (day // DAY)


_CALENDAR: Final = {
    "MILLENNIUM": (12_000, 1),
    "CENTURY": (1200, 1),
    "DECADE": (120, 0),
    "YEAR": (12, 0),
    "QUARTER": (3, 0),
    "MONTH": (1, 0),
}
"""The months of a unit, and the year in which the first one began."""


def temporal_rounding(call: CallSite) -> Typed | None:
    """Return `floor` or `ceil` of a time to the unit that the option names; None if the argument is no time.

    The result has the argument's type. A DATE has no hours, so it is not changed by a unit below DAY.
    """
    own = call.arguments[0].type
    if own.kind not in POINTS:
        return None
    unit = call.options[0] if call.options else None
    known = [
        name for name in (*_CALENDAR, *MILLIS) if own.kind is not Kind.TIME or MILLIS.get(name, DAY * 1000) < DAY * 1000
    ]
    if unit not in known:
        raise InvalidExpressionError(f"{call.function}() of a {own} needs a unit: one of {', '.join(known)}")
    local = own.kind is Kind.TIMESTAMP_LTZ
    kernel = partial(_rounded, own, unit, call.function == "ceil", call.zone if local else None)
    return call.apply(kernel, own, options=(unit, call.zone) if local else (unit,))


def _rounded(own: LogicalType, unit: str, up: bool, zone: str | None, values: Values) -> Values:
    day = per_day(own)
    fixed = unit in MILLIS and MILLIS[unit] < MILLIS["DAY"]
    step = day * MILLIS[unit] // MILLIS["DAY"] if fixed else 0
    if fixed and step <= 1:
        return values
    compute = partial(_to_step, step, day, up, own.kind is Kind.TIME) if fixed else partial(_to_days, unit, day, up)
    if zone is None:
        return on_integers(compute, own.arrow, values)
    local = local_times(values, zone)
    if fixed:  # within a change of the clocks, hours follow the offset that is in force
        return on_integers(partial(_with_offset, compute), own.arrow, values, local)
    found = instants(on_integers(compute, local.type, local), zone)
    return on_integers(np.maximum, own.arrow, found, values) if up else found


def _to_step(step: int, day: int, up: bool, wraps: bool, values: Integers) -> Integers:
    found = -(-values // step) * step if up else values // step * step
    return found % day if wraps else found


def _with_offset(compute: Kernel, values: Integers, local: Integers) -> Integers:
    found: Integers = compute(local) - (local - values)
    return found


def _to_days(unit: str, day: int, up: bool, values: Integers) -> Integers:
    days = values // day
    if unit in MILLIS:
        length = MILLIS[unit] // MILLIS["DAY"]
        first = days - (days + 4) % 7 if unit == "WEEK" else days  # January 1, 1970 was a Thursday
        after = first + length
    else:
        months, year = _CALENDAR[unit]
        origin = (1970 - year) * 12
        month = (month_of(days) + origin) // months * months - origin
        first, after = first_day(month), first_day(month + months)
    return np.where(first * day == values, values, after * day) if up else first * day
