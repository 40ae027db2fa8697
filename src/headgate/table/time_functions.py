"""The functions of `pyflink.table.expressions` that compute with times."""

from __future__ import annotations

from typing import Any

from headgate.table.expression import Expression, call_of
from headgate.table.time_expression import TimePointUnit, unit_name


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two spans of time have a point in common. Each is a start, and its length or end."""
    return call_of("temporal_overlaps", left_time_point, left_temporal, right_time_point, right_temporal)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression:
    """Return how many whole units the second time is after the first, as an INT.

    >>> from headgate.table.expressions import col
    >>> timestamp_diff(TimePointUnit.DAY, col("ordered"), col("shipped"))
    timestamp_diff(ordered, shipped, 'DAY')
    """
    unit = unit_name(time_point_unit, TimePointUnit)
    return call_of("timestamp_diff", time_point1, time_point2, options=(unit,))
