"""Time zones, against Python's zoneinfo."""

from __future__ import annotations

import datetime
import zoneinfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns.zones import checked_zone, instants, local_times

ZONES = ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Asia/Kolkata", "UTC")
UNITS = ("s", "ms", "us")

datetimes = st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29))
near_a_change = st.builds(
    lambda day, minute: day + datetime.timedelta(minutes=minute),
    st.sampled_from(
        [
            datetime.datetime(year, month, day)
            for year in (1949, 2024, 2037, 2038, 2099, 2100, 2444)
            for month, day in ((3, 10), (3, 31), (10, 27), (11, 3), (1, 1))
        ]
    ),
    st.integers(-20_000, 20_000),
)


@given(st.sampled_from(ZONES), st.sampled_from(UNITS), st.lists(datetimes | near_a_change, min_size=1, max_size=20))
def test_times_agree_with_zoneinfo(zone: str, unit: str, given: list[datetime.datetime]) -> None:
    rules = zoneinfo.ZoneInfo(zone)
    whole = [own.replace(microsecond=0) for own in given]
    naive = pa.array(whole, pa.timestamp(unit))
    shown = [own.replace(tzinfo=datetime.UTC).astimezone(rules).replace(tzinfo=None) for own in whole]
    assert local_times(naive.cast(pa.timestamp(unit, "UTC")), zone).to_pylist() == shown
    points = [own.replace(tzinfo=rules).astimezone(datetime.UTC) for own in whole]
    assert instants(naive, zone).to_pylist() == points


@pytest.mark.parametrize(
    ("zone", "local", "utc"),
    [
        ("America/New_York", "2024-03-10 01:59:59", "2024-03-10 06:59:59"),
        ("America/New_York", "2024-03-10 02:30:00", "2024-03-10 07:30:00"),  # skipped: 03:30 in summer time
        ("America/New_York", "2024-03-10 03:00:00", "2024-03-10 07:00:00"),
        ("America/New_York", "2024-11-03 01:30:00", "2024-11-03 05:30:00"),  # twice: the first, in summer time
        ("America/New_York", "2024-11-03 02:00:00", "2024-11-03 07:00:00"),
        ("Europe/Berlin", "2024-03-31 02:30:00", "2024-03-31 01:30:00"),
        ("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 00:30:00"),
        ("Europe/Berlin", "2024-10-27 03:00:00", "2024-10-27 02:00:00"),
        ("Europe/Berlin", "1890-01-01 00:00:00", "1889-12-31 23:06:32"),  # the mean time of Berlin
        ("+08:00", "2024-01-01 00:00:00", "2023-12-31 16:00:00"),
        ("GMT-08:00", "2024-01-01 00:00:00", "2024-01-01 08:00:00"),
        ("GMT+5", "2024-01-01 00:00:00", "2023-12-31 19:00:00"),
        ("-0330", "2024-01-01 00:00:00", "2024-01-01 03:30:00"),
        ("PST", "2024-07-01 00:00:00", "2024-07-01 07:00:00"),
        ("Z", "2024-07-01 00:00:00", "2024-07-01 00:00:00"),
    ],
)
def test_points_in_time_of_what_clocks_show(zone: str, local: str, utc: str) -> None:
    given = pa.array([datetime.datetime.fromisoformat(local), None], pa.timestamp("ms"))
    expected = datetime.datetime.fromisoformat(utc).replace(tzinfo=datetime.UTC)
    assert instants(given, zone).to_pylist() == [expected, None]
    assert instants(given[0], zone).as_py() == expected


def test_of_a_time_that_comes_twice_there_is_a_first_and_a_last() -> None:
    twice, skipped = (datetime.datetime.fromisoformat(own) for own in ("2024-11-03 01:30:00", "2024-03-10 02:30:00"))
    given = pa.array([twice, skipped], pa.timestamp("s"))
    first, last = (instants(given, "America/New_York", last=own).to_pylist() for own in (False, True))
    assert [own.hour for own in first] == [5, 7]
    assert [own.hour for own in last] == [6, 7]


def test_nanoseconds_are_kept() -> None:
    given = pa.array([1, -1], pa.int64()).cast(pa.timestamp("ns", "UTC"))
    shown = local_times(given, "America/New_York")
    assert shown.cast(pa.int64()).to_pylist() == [1 - 5 * 3600 * 10**9, -1 - 5 * 3600 * 10**9]
    assert instants(shown, "America/New_York").equals(given)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "+19:00", "../etc/passwd"])
def test_a_zone_that_does_not_exist_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match=r"there is no time zone|more than 18 hours"):
        checked_zone(zone)
    with pytest.raises(ValueError, match=r"there is no time zone|more than 18 hours"):
        instants(pa.array([0], pa.timestamp("s")), zone)
