"""The functions of `pyflink.table.expressions` that compute with times."""

from __future__ import annotations

from typing import Any

from headgate.table.expression import Expression, call_of
from headgate.table.time_expression import TimePointUnit, unit_name


def current_date() -> Expression:
    """Return the date at which a batch of rows is computed, in the session's time zone."""
    return call_of("current_date")


def current_time() -> Expression:
    """Return the time of day at which a batch of rows is computed, in the session's time zone, as a TIME(0)."""
    return call_of("current_time")


def current_timestamp() -> Expression:
    """Return the point in time at which a batch of rows is computed, as a TIMESTAMP_LTZ(3)."""
    return call_of("current_timestamp")


def current_watermark(rowtime_attribute: Any) -> Expression:
    """Return the current watermark, as a time of the type of a column of event time; NULL before the first one.

    The rows of a batch have the watermark that was there before them: `ts > current_watermark(ts)` is false for rows
    that are late.
    """
    return call_of("current_watermark", rowtime_attribute)


def local_time() -> Expression:
    """Return the time of day at which a batch of rows is computed, in the session's time zone, as a TIME(0)."""
    return call_of("local_time")


def local_timestamp() -> Expression:
    """Return the time at which a batch of rows is computed, in the session's time zone, as a TIMESTAMP(3)."""
    return call_of("local_timestamp")


def to_date(date_str: Any, format: Any = None) -> Expression:
    """Return a text as a DATE; NULL if it is none. `format` is a pattern of Java, by default `yyyy-MM-dd`."""
    return call_of("to_date", *_given(date_str, format))


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression:
    """Return a text as a TIMESTAMP(3); NULL if it is none.

    `format` is a pattern of Java, by default `yyyy-MM-dd HH:mm:ss`, with or without a fraction.
    """
    return call_of("to_timestamp", *_given(timestamp_str, format))


def to_timestamp_ltz(*args: Any) -> Expression:
    """Return a point in time: of a number and its precision, or of a text, its pattern and its time zone.

    The number counts seconds since 1970 if the precision is 0, milliseconds if it is 3, microseconds if it is 6,
    nanoseconds if it is 9; the default is 3. A text without a time zone is in UTC. NULL if the text is no time, or if
    the year is not 1 to 9999.

    >>> from headgate.table.expressions import col
    >>> to_timestamp_ltz(col("seconds"), 0)
    to_timestamp_ltz(seconds, 0)
    """
    return call_of("to_timestamp_ltz", *args)


def date_format(timestamp: Any, format: Any) -> Expression:
    """Return a time as a text. `format` is a pattern of Java, such as `yyyy-MM-dd`. Names are English."""
    return call_of("date_format", timestamp, format)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression:
    """Return seconds since 1970 as a text in the session's zone. The default `format` is `yyyy-MM-dd HH:mm:ss`."""
    return call_of("from_unixtime", *_given(unixtime, format))


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression:
    """Return the seconds from 1970 to the time in a text, in the session's time zone; without arguments, to now.

    `format` is a pattern of Java, by default `yyyy-MM-dd HH:mm:ss`. A text that is no time is -9223372036854775808.
    """
    return call_of("unix_timestamp", *_given(date_str, format))


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression:
    """Convert a text such as `2024-02-29 12:00:00` from one time zone to another; NULL if the text is no time.

    Zones are names such as `Europe/Berlin`, or offsets such as `GMT-08:00`.
    """
    return call_of("convert_tz", date_str, tz_from, tz_to)


def _given(*arguments: Any) -> list[Any]:
    return [own for own in arguments if own is not None]


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two spans of time have a point in common. Each span is given by its start, and its end or length."""
    return call_of("temporal_overlaps", left_time_point, left_temporal, right_time_point, right_temporal)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression:
    """Return how many whole units the second time is after the first, as an INT.

    >>> from headgate.table.expressions import col
    >>> timestamp_diff(TimePointUnit.DAY, col("ordered"), col("shipped"))
    timestamp_diff(ordered, shipped, 'DAY')
    """
    unit = unit_name(time_point_unit, TimePointUnit)
    return call_of("timestamp_diff", time_point1, time_point2, options=(unit,))
