"""CAST to dates, times, timestamps and intervals: from texts in Flink's forms, and from one another."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.conversions import Conversion, always, null_if_failed, read_by_arrow
from headgate.columns.logical_types import INTEGERS, TIMESTAMPS, Kind, LogicalType, unit_of
from headgate.columns.time_units import PER_SECOND
from headgate.columns.vectors import Integers, integers
from headgate.columns.zones import instants, local_times

_DAY: Final = 86_400


def to_time(own: LogicalType, wanted: LogicalType, zone: str) -> Conversion | None:
    """Return the conversion to a DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ; None if there is none."""
    if own.is_text:
        return Conversion(partial(null_if_failed, partial(_PARSERS[wanted.kind], wanted, zone)), fails=True)
    if own.kind not in _SOURCES[wanted.kind]:
        return None
    return Conversion(partial(null_if_failed, partial(_converted, own, wanted, zone)), fails=_may_not_fit(own, wanted))


_SOURCES: Final = {
    Kind.DATE: TIMESTAMPS,
    Kind.TIME: (Kind.TIME, *TIMESTAMPS),
    Kind.TIMESTAMP: (Kind.DATE, Kind.TIME, *TIMESTAMPS),
    Kind.TIMESTAMP_LTZ: (Kind.DATE, Kind.TIME, *TIMESTAMPS),
}


def _may_not_fit(own: LogicalType, wanted: LogicalType) -> bool:
    """Whether times of a day that are counted from 1970 in int64 may overflow."""
    return wanted.kind in TIMESTAMPS and own.kind is not Kind.TIME and _ticks(wanted) > _ticks(own)


def _ticks(own: LogicalType) -> int:
    """Return how many units of the Arrow type a second has; 0 for a DATE."""
    return 0 if own.kind is Kind.DATE else PER_SECOND[unit_of(own.precision)]


def to_interval(own: LogicalType, wanted: LogicalType) -> Conversion | None:
    """Return the conversion to an interval, of milliseconds or months, or of another precision."""
    if own.kind not in INTEGERS and own.kind is not wanted.kind:
        return None
    return Conversion(partial(always, partial(_interval, wanted)))


def _interval(wanted: LogicalType, values: pa.Array) -> pa.Array:
    if wanted.kind is Kind.MONTH_INTERVAL:
        return pc.cast(values, pa.int32(), safe=False)
    if not pa.types.is_duration(values.type):
        values = pc.cast(values, pa.int64()).view(pa.duration("ms"))
    made = pc.cast(values, wanted.arrow, safe=False)
    return _of_ticks(pc.fill_null(integers(made), 0).to_numpy(), wanted, made)


def _converted(own: LogicalType, wanted: LogicalType, zone: str, values: pa.Array) -> pa.Array:
    if own.kind is Kind.TIMESTAMP_LTZ and wanted.kind is not Kind.TIMESTAMP_LTZ:
        return _converted(LogicalType(Kind.TIMESTAMP, precision=own.precision), wanted, zone, local_times(values, zone))
    if wanted.kind is Kind.TIMESTAMP_LTZ and own.kind is not Kind.TIMESTAMP_LTZ:
        local = LogicalType(Kind.TIMESTAMP, precision=wanted.precision)
        return instants(_converted(own, local, zone, values), zone)
    given = pc.fill_null(integers(values), 0).to_numpy()
    if own.kind is Kind.DATE:
        days, rest = given, np.zeros(len(given), np.int64)
        seconds, part = days * _DAY, rest
    else:
        per_second = _ticks(own)
        seconds, part = given // per_second, (given % per_second) * (10**9 // per_second)
    return _assembled(seconds, part, wanted, pc.is_valid(values))


def _assembled(seconds: Integers, nanos: Integers, wanted: LogicalType, valid: pa.Array) -> pa.Array:
    """Return the times of seconds since 1970 and nanoseconds in the second; NULL for what the type cannot hold."""
    if wanted.kind is Kind.DATE:
        return _as(seconds // _DAY, pa.int32(), wanted, valid)
    if wanted.kind is Kind.TIME:
        seconds = seconds % _DAY
    ticks = _ticks(wanted)
    most = (2**63 - 1) // ticks - 1
    fits = pc.and_(valid, pa.array((seconds < most) & (seconds > -most)))
    made = _cut(seconds * ticks + nanos // (10**9 // ticks), wanted)
    return _as(made, pa.int32() if pa.types.is_time32(wanted.arrow) else pa.int64(), wanted, fits)


def _as(values: Integers, stored: pa.DataType, wanted: LogicalType, valid: pa.Array) -> pa.Array:
    mask = pc.invert(valid).to_numpy(zero_copy_only=False)
    return pa.array(values.astype(stored.to_pandas_dtype()), mask=mask).view(wanted.arrow)


def _cut(values: Integers, wanted: LogicalType) -> Integers:
    """Cut off the digits of the Arrow type that the precision does not have."""
    step = 10 ** (-wanted.precision % 3)
    return values if step == 1 else values // step * step


def _of_ticks(values: Integers, wanted: LogicalType, given: pa.Array) -> pa.Array:
    return _as(_cut(values, wanted), pa.int64(), wanted, pc.is_valid(given))


_DATE: Final = r"(?P<year>[0-9]{1,4})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2}))?)?"
_SECOND: Final = r"(?P<second>[0-9]{1,2})(?:\.(?P<part>[0-9]{0,9}))?"
_CLOCK: Final = rf"(?P<hour>[0-9]{{1,2}})(?::(?P<minute>[0-9]{{1,2}})(?::{_SECOND})?)?"
_FULL_DATE: Final = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
_FULL_CLOCK: Final = rf"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{1,2}}):{_SECOND}"

_DATE_LENGTH: Final = len("yyyy-mm-dd")
_SECONDS_LENGTH: Final = len("yyyy-mm-dd hh:mm:ss")

_DATES: Final = rf"^{_DATE}(?: .*)?$"
_TIMES: Final = rf"^{_CLOCK}$"
_TIMESTAMPS: Final = rf"^{_FULL_DATE}(?: {_FULL_CLOCK})?$"


class _Parts:
    """The numbers in texts that a pattern matches, as int64; `valid` tells which texts it matches."""

    def __init__(self, pattern: str, texts: pa.Array) -> None:
        found = pc.extract_regex(pc.utf8_trim_whitespace(texts), pattern)
        self.valid = found.is_valid()
        self._found = found

    def number(self, name: str, default: int) -> Integers:
        text = pc.struct_field(self._found, name)
        given = pc.if_else(pc.equal(text, ""), str(default), text)
        values: Integers = pc.fill_null(pc.cast(given, pa.int64()), default).to_numpy()
        return values

    def nanos(self) -> Integers:
        text = pc.utf8_rpad(pc.struct_field(self._found, "part"), 9, "0")
        values: Integers = pc.fill_null(pc.cast(text, pa.int64()), 0).to_numpy()
        return values

    def where(self, condition: npt.NDArray[Any]) -> None:
        self.valid = pc.and_(self.valid, pa.array(condition))

    def days(self) -> Integers:
        """Return the days since 1970. Texts that name no day of the calendar become invalid."""
        year, month, day = self.number("year", 1970), self.number("month", 1), self.number("day", 1)
        months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
        first, after = (own.astype("datetime64[D]").astype(np.int64) for own in (months, months + 1))
        self.where((month >= 1) & (month <= 12) & (day >= 1) & (day <= after - first))
        return first + day - 1

    def seconds(self) -> Integers:
        hour, minute, second = (self.number(name, 0) for name in ("hour", "minute", "second"))
        self.where((hour < 24) & (minute < 60) & (second < 60))
        return hour * 3600 + minute * 60 + second


def _date_of_text(wanted: LogicalType, zone: str, texts: pa.Array) -> pa.Array:
    found = read_by_arrow(texts, wanted.arrow)
    if found is not None:
        return found
    parts = _Parts(_DATES, texts)
    days = parts.days()
    return _as(days, pa.int32(), wanted, parts.valid)


def _time_of_text(wanted: LogicalType, zone: str, texts: pa.Array) -> pa.Array:
    parts = _Parts(_TIMES, texts)
    seconds = parts.seconds()
    return _assembled(seconds, parts.nanos(), wanted, parts.valid)


def _timestamp_of_text(wanted: LogicalType, zone: str, texts: pa.Array) -> pa.Array:
    lengths = pc.binary_length(texts)
    if pc.all(pc.or_(pc.equal(lengths, _DATE_LENGTH), pc.greater_equal(lengths, _SECONDS_LENGTH))).as_py():
        found = read_by_arrow(texts, wanted.arrow, unless=b"T")
        if found is not None:
            return _of_ticks(pc.fill_null(integers(found), 0).to_numpy(), wanted, found)
    parts = _Parts(_TIMESTAMPS, texts)
    seconds = parts.days() * _DAY + parts.seconds()
    return _assembled(seconds, parts.nanos(), wanted, parts.valid)


def _instant_of_text(wanted: LogicalType, zone: str, texts: pa.Array) -> pa.Array:
    local = LogicalType(Kind.TIMESTAMP, precision=wanted.precision)
    return instants(_timestamp_of_text(local, zone, texts), zone)


_PARSERS: Final = {
    Kind.DATE: _date_of_text,
    Kind.TIME: _time_of_text,
    Kind.TIMESTAMP: _timestamp_of_text,
    Kind.TIMESTAMP_LTZ: _instant_of_text,
}
