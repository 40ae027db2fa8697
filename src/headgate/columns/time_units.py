"""Units of time: of Arrow's columns, and of the functions of SQL."""

from __future__ import annotations

from typing import Final

from headgate.columns.logical_types import Kind, LogicalType, unit_of

PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""How many of Arrow's units a second has."""

DAY: Final = 86_400
"""The seconds of a day."""

MONTHS: Final = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
"""The months of units that follow the calendar."""

MILLIS: Final = {
    "WEEK": 7 * DAY * 1000,
    "DAY": DAY * 1000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
    "MILLISECOND": 1,
}
"""The milliseconds of units of a fixed length."""


def arrow_unit(own: LogicalType) -> str:
    """Return Arrow's unit of a time or interval; seconds for a DATE."""
    return "s" if own.kind is Kind.DATE else unit_of(own.precision)


def per_day(own: LogicalType) -> int:
    """Return how many of the integers that Arrow stores for a DATE, a time or a timestamp make a day."""
    return 1 if own.kind is Kind.DATE else DAY * PER_SECOND[arrow_unit(own)]
