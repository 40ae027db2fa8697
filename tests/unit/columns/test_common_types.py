"""Arguments of different types are converted to their common type, and none is lost on the way."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from decimal import Decimal

import pytest

from headgate.columns.logical_types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LogicalType,
    decimal,
    timestamp,
    timestamp_ltz,
    widest,
)
from headgate.table.expressions import coalesce
from tests.unit.columns.evaluate import check

UTC = zoneinfo.ZoneInfo("UTC")
LOCAL = dt.datetime(2021, 1, 1)
INSTANT = dt.datetime(2020, 12, 31, 23, tzinfo=UTC)


def test_a_timestamp_beside_an_instant_is_a_time_of_the_zone() -> None:
    kinds = [timestamp(3), timestamp_ltz(3)]
    later = INSTANT + dt.timedelta(seconds=1)
    check(lambda a, b: a == b, kinds, [((LOCAL, INSTANT), True), ((LOCAL, later), False)], zone="Europe/Berlin")
    check(lambda a, b: a < b, kinds, [((LOCAL, INSTANT), False), ((LOCAL, later), True)], zone="Europe/Berlin")
    rows = [((LOCAL, later), INSTANT), ((None, later), later), ((None, None), None)]
    check(coalesce, kinds, rows, timestamp_ltz(3), zone="Europe/Berlin")
    check(lambda a, b: a == b, [DATE, timestamp_ltz(6)], [((LOCAL.date(), INSTANT), True)], zone="Europe/Berlin")


def test_decimals_without_a_common_type_of_38_digits() -> None:
    tiny, huge = Decimal("0." + "0" * 37 + "1"), Decimal("9" * 38)
    check(coalesce, [decimal(38, 38), decimal(38, 0)], [((tiny, huge), tiny), ((None, Decimal(0)), Decimal("0E-38"))])


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (INT, FLOAT, FLOAT),
        (FLOAT, BIGINT, FLOAT),
        (FLOAT, DOUBLE, DOUBLE),
        (decimal(5, 2), FLOAT, DOUBLE),
        (decimal(5, 2), DOUBLE, DOUBLE),
        (INT, decimal(5, 2), decimal(12, 2)),
    ],
)
def test_the_widest_number(one: LogicalType, other: LogicalType, common: LogicalType) -> None:
    assert widest([one, other]) == widest([other, one]) == common
