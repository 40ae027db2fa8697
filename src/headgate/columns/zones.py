"""Time zones: points in time to what clocks of a zone show, and back, by the rules of Java and Flink.

Arrow's own functions know no change of clocks after 2037, so the changes of a zone are found with `zoneinfo`.
"""

from __future__ import annotations

import datetime
import itertools
import re
import zoneinfo
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, final

import numpy as np
import pyarrow as pa

from headgate.columns.time_units import PER_SECOND
from headgate.columns.typed import Values
from headgate.columns.vectors import Integers, on_integers

_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_JAVA_NAMES: Final = {
    "Z": "UTC",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AST": "America/Anchorage",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "ECT": "Europe/Paris",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "PST": "America/Los_Angeles",
}
"""Short names that Java has and the zone database has not."""

_CYCLE: Final = 146_097 * 86_400
"""The seconds of 400 years, after which the calendar with its weekdays repeats."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Clock:
    """The offsets of a zone from UTC, in seconds: `offsets[i]` is the one before `changes[i]`.

    `changes` are the seconds since 1970 of each change. `shown` are the first local times with the new offset, where
    times that come twice have the old one; in `shown_last`, they have the new one.
    """

    changes: Integers
    shown: Integers
    shown_last: Integers
    offsets: Integers


def checked_zone(zone: str) -> str:
    """Return the zone. Raises ValueError unless it is one, such as `Europe/Berlin`, `+02:00` or `GMT-8`."""
    _fixed_offset(zone)
    return zone


@cache
def _fixed_offset(zone: str) -> int | None:
    """Return the offset of a zone such as `+02:00` in seconds; None if its name has rules."""
    found = _OFFSET.fullmatch(zone)
    if found is None:
        _rules(zone)
        return None
    sign, hours, minutes = found.groups()
    offset = int(hours) * 3600 + int(minutes or 0) * 60
    if offset > 18 * 3600:
        raise ValueError(f"the time zone {zone!r} is more than 18 hours from UTC")
    return -offset if sign == "-" else offset


def _rules(zone: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(_JAVA_NAMES.get(zone, zone))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {zone!r}: use a name such as 'Europe/Berlin', or '+02:00'") from None


def _seconds(year: int) -> int:
    return int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp())


_REPEATING: Final = _seconds(2100)
"""Zones have no change that follows no rule after this."""


@cache
def _clock(zone: str, *, repeating: bool) -> _Clock:
    """Return the offsets until 2100, or the offsets of the 400 years that repeat from 2100 on."""
    first, last = (_REPEATING, _REPEATING + _CYCLE) if repeating else (_seconds(1800), _REPEATING)
    changes, offsets = _changes(_rules(zone), first, last)
    shown = [at + max(pair) for at, pair in zip(changes, itertools.pairwise(offsets), strict=True)]
    shown_last = [at + after for at, after in zip(changes, offsets[1:], strict=True)]
    return _Clock(*(np.array(own, np.int64) for own in (changes, shown, shown_last, offsets)))


_STEP: Final = 7 * 86_400
"""The zone database has no two changes of a zone that are nearer: the nearest are 9 days apart."""


def _changes(rules: zoneinfo.ZoneInfo, first: int, last: int) -> tuple[list[int], list[int]]:
    """Return when the offset changes between two points in time, and the offsets before, between and after."""
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

    def offset_at(seconds: int) -> int:
        offset = (epoch + datetime.timedelta(seconds=seconds)).astimezone(rules).utcoffset()
        assert offset is not None
        return offset.days * 86_400 + offset.seconds

    changes: list[int] = []
    offsets = [offset_at(first)]
    for high in range(first + _STEP, last + _STEP, _STEP):
        after = offset_at(high)
        if after != offsets[-1]:
            before, change = high - _STEP, high
            while change - before > 1:
                middle = (before + change) // 2
                before, change = (before, middle) if offset_at(middle) != offsets[-1] else (middle, change)
            changes.append(change)
            offsets.append(after)
    return changes, offsets


def _shift(zone: str, per_second: int, values: Integers, *, by: str, closing: bool = False) -> Integers:
    seconds = values // per_second
    offset: Integers | int | None = _fixed_offset(zone)
    if offset is None:
        offset = _offsets(_clock(zone, repeating=False), seconds, by, closing=closing)
        later = seconds >= _REPEATING
        if later.any():
            folded = _REPEATING + (seconds - _REPEATING) % _CYCLE
            cycle = _offsets(_clock(zone, repeating=True), folded, by, closing=closing)
            offset = np.where(later, cycle, offset)
    return values + offset * per_second if by == "changes" else values - offset * per_second


def _offsets(clock: _Clock, seconds: Integers, by: str, *, closing: bool) -> Integers:
    """Return the offsets at points in time, or at local times.

    `by` names the times of changes to compare with. A local time that is skipped has the offset before the change, or,
    with `closing`, its distance from the change.
    """
    places = np.searchsorted(getattr(clock, by), seconds, "right")
    offsets = clock.offsets[places]
    if not closing or not len(clock.changes):
        return offsets
    changes = clock.changes[np.minimum(places, len(clock.changes) - 1)]
    skipped = (places < len(clock.changes)) & (seconds - offsets > changes)
    return np.where(skipped, seconds - changes, offsets)


def local_times(instants: Values, zone: str) -> Values:
    """Return the TIMESTAMPs that clocks of the zone show at points in time, which are TIMESTAMP_LTZs.

    Raises ValueError for a zone that does not exist.
    """
    unit = instants.type.unit
    return on_integers(partial(_shift, zone, PER_SECOND[unit], by="changes"), pa.timestamp(unit), instants)


def instants(local: Values, zone: str, *, last: bool = False, closing: bool = False) -> Values:
    """Return the points in time at which clocks of the zone show these TIMESTAMPs.

    Where clocks show a time twice, it is the first, or the `last`. A time that clocks skip is moved forward by the
    length of the gap, or, with `closing`, to the second in which the gap ends. Raises ValueError for a zone that does
    not exist.

    >>> import datetime
    >>> gap = pa.array([datetime.datetime(2024, 3, 10, 2, 30)], pa.timestamp("s"))
    >>> print(instants(gap, "America/New_York")[0])
    2024-03-10 07:30:00+00:00
    """
    unit = local.type.unit
    compute = partial(_shift, zone, PER_SECOND[unit], by="shown_last" if last else "shown", closing=closing)
    return on_integers(compute, pa.timestamp(unit, "UTC"), local)
