"""The functions of expressions that compute with dates, times, timestamps and intervals."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, Self

from headgate.columns import logical_types as types
from headgate.columns.nodes import Cast
from headgate.columns.operand import Operand


class TimeIntervalUnit(Enum):
    """Units of `extract`, `floor` and `ceil`. Flink SQL has all of them; PyFlink has those up to MINUTE_TO_SECOND."""

    YEAR = 0
    YEAR_TO_MONTH = 1
    QUARTER = 2
    MONTH = 3
    WEEK = 4
    DAY = 5
    DAY_TO_HOUR = 6
    DAY_TO_MINUTE = 7
    DAY_TO_SECOND = 8
    HOUR = 9
    SECOND = 10
    HOUR_TO_MINUTE = 11
    HOUR_TO_SECOND = 12
    MINUTE = 13
    MINUTE_TO_SECOND = 14
    MILLENNIUM = auto()
    CENTURY = auto()
    DECADE = auto()
    ISOYEAR = auto()
    DOY = auto()
    DOW = auto()
    ISODOW = auto()
    MILLISECOND = auto()
    MICROSECOND = auto()
    NANOSECOND = auto()
    EPOCH = auto()


class TimePointUnit(Enum):
    """Units of `timestamp_diff`."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    HOUR = 3
    MINUTE = 4
    SECOND = 5
    QUARTER = 6
    WEEK = 7
    MILLISECOND = 8
    MICROSECOND = 9


def unit_name(unit: Any, kind: type[Enum]) -> str:
    """Return the name of a unit. Raises TypeError for a value that is none."""
    if isinstance(unit, kind):
        return unit.name
    raise TypeError(f"a unit is a {kind.__name__}, such as {kind.__name__}.DAY, not {unit!r}")


class TimeExpression(Operand):
    """Times and intervals. The parts of a TIMESTAMP_LTZ are read from its local time in the session's time zone."""

    __slots__ = ()

    @property
    def to_date(self) -> Self:
        """Cast the text, such as "2026-11-27", to a DATE."""
        return type(self)(Cast(self.node, types.DATE))

    @property
    def to_time(self) -> Self:
        """Cast the text, such as "20:15:00", to a TIME(0)."""
        return type(self)(Cast(self.node, types.time(0)))

    @property
    def to_timestamp(self) -> Self:
        """Cast the text, such as "2026-11-27 20:15:00.5", to a TIMESTAMP(3)."""
        return type(self)(Cast(self.node, types.timestamp(3)))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Self:
        """Return a part of a time or interval as a BIGINT: the day of the month, the ISO week of the year, and so on.

        DOW is 1 on Sunday, and ISODOW is 1 on Monday. EPOCH is the number of seconds since 1970.
        """
        return self._call("extract", options=(unit_name(time_interval_unit, TimeIntervalUnit),))

    @property
    def year(self) -> Self:
        """An interval of so many years."""
        return self._call("years")

    years = year

    @property
    def quarter(self) -> Self:
        """An interval of so many quarters of a year."""
        return self._call("quarters")

    quarters = quarter

    @property
    def month(self) -> Self:
        """An interval of so many months."""
        return self._call("months")

    months = month

    @property
    def week(self) -> Self:
        """An interval of so many weeks."""
        return self._call("weeks")

    weeks = week

    @property
    def day(self) -> Self:
        """An interval of so many days of 24 hours."""
        return self._call("days")

    days = day

    @property
    def hour(self) -> Self:
        """An interval of so many hours.

        >>> from headgate.table.expressions import lit
        >>> lit(10).hours
        hours(10)
        """
        return self._call("hours")

    hours = hour

    @property
    def minute(self) -> Self:
        """An interval of so many minutes."""
        return self._call("minutes")

    minutes = minute

    @property
    def second(self) -> Self:
        """An interval of so many seconds."""
        return self._call("seconds")

    seconds = second

    @property
    def milli(self) -> Self:
        """An interval of so many milliseconds."""
        return self._call("millis")

    millis = milli
