"""The columns of windows: start, end and time, of windows that are aligned to the epoch in the session's time zone.

Start and end are local times, TIMESTAMP(3). Windows of a TIMESTAMP_LTZ are aligned in the session's zone, so that days
begin at midnight there; hours that a change of daylight saving repeats are in one window.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns import zones
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import TIMESTAMPS, Kind, LogicalType
from headgate.columns.typed import Typed, Values

_LOCAL: Final = types.timestamp(3).nulls(nullable=False)
_MS: Final = pa.timestamp("ms")

Lengths = tuple[int, ...]
"""Lengths of a window in milliseconds: the size, after the slide or the step if there is one."""


def local_times(values: Values, zone: str) -> Values:
    """Return timestamps in milliseconds without a zone: points in time as local times of the session's zone."""
    if values.type.tz is None:
        return pc.cast(values, _MS, safe=False)
    return zones.local_times(pc.cast(values, pa.timestamp("ms", "UTC"), safe=False), zone)


def points_in_time(values: Values, zone: str) -> Values:
    """Return local times as timestamps with the zone UTC. A time that occurs twice is the later, of a gap its end."""
    return zones.instants(values, zone, last=True, closing=True)


def _numbers(values: Values) -> Any:
    return pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False)


def _on_columns(compute: Callable[[Any], Any], zone: str, values: Values) -> Values:
    """Compute local milliseconds from local milliseconds."""
    if isinstance(values, pa.Scalar):
        return _on_columns(compute, zone, pa.repeat(values, 1))[0]
    if values.null_count:
        raise ValueError("the event time of a row is NULL: give it a value, or drop such rows before the window")
    return compute(_numbers(local_times(values, zone)))


def _times(numbers: Any) -> pa.Array:
    return pa.array(numbers).cast(_MS)


def _floor(size: int, numbers: Any) -> Any:
    return _times(numbers - numbers % size)


def _end(size: int, numbers: Any) -> Any:
    return _times(numbers - numbers % size + size)


def _listed(numbers: Any, offsets: Any, keep: Any) -> pa.ListArray:
    """Return a list for each number: the number plus each offset, where `keep` is true."""
    counts = keep.sum(axis=1)
    bounds = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    return pa.ListArray.from_arrays(bounds, _times((numbers[:, None] + offsets)[keep]))


def _hop_starts(slide: int, size: int, numbers: Any) -> pa.ListArray:
    """Return the starts of all windows of a row, from the first."""
    last = numbers - numbers % slide
    offsets = -slide * np.arange(-(-size // slide))[::-1]
    starts = last[:, None] + offsets
    return _listed(last, offsets, starts > numbers[:, None] - size)


def _cumulate_ends(step: int, size: int, numbers: Any) -> pa.ListArray:
    """Return the ends of all windows of a row, from the first."""
    start = numbers - numbers % size
    offsets = step * np.arange(1, size // step + 1)
    return _listed(start, offsets, start[:, None] + offsets > numbers[:, None])


_COMPUTED: Final[dict[str, tuple[Callable[..., Any], LogicalType]]] = {
    "tumble_start": (_floor, _LOCAL),
    "tumble_end": (_end, _LOCAL),
    "hop_starts": (_hop_starts, types.array(_LOCAL).nulls(nullable=False)),
    "cumulate_ends": (_cumulate_ends, types.array(_LOCAL).nulls(nullable=False)),
}


@function(*_COMPUTED)
def windows_of(call: CallSite) -> Typed:
    """The windows of an event time. The options are the lengths of the window."""
    call.expect_count(1)
    call.expect(0, TIMESTAMPS, "a TIMESTAMP or TIMESTAMP_LTZ")
    compute, result = _COMPUTED[call.function]
    kernel = partial(_on_columns, partial(compute, *call.options), call.zone)
    return call.apply(kernel, result, options=(*call.options, call.zone), nullable=False, can_fail=True)


def _shifted(by_ms: int, values: Values) -> Values:
    return pc.add(values, pa.scalar(by_ms, pa.duration("ms")))


@function("window_start", "window_end")
def bound(call: CallSite) -> Typed:
    """A bound of a window, from another bound.

    The options are the distance in milliseconds, and whether the window is over points in time, TIMESTAMP_LTZ.
    """
    call.expect_count(1)
    distance_ms, _ = call.options
    return call.apply(partial(_shifted, distance_ms), _LOCAL, nullable=False)


@function("window_time")
def window_time(call: CallSite) -> Typed:
    """The last millisecond of a window by its end, as a time of the type in the options."""
    call.expect_count(1)
    (kind,) = call.options
    return call.apply(partial(_last_time, kind.kind is Kind.TIMESTAMP_LTZ, call.zone), kind, nullable=False)


def _last_time(is_point: bool, zone: str, end: Values) -> Values:
    own = points_in_time(end, zone) if is_point else end
    return _shifted(-1, own)
