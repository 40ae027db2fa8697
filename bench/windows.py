"""Windows: what a job did while checkpoints were under way, and what between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

from bench.outputs import Mark, count_at

FULL = 0.5
"""Share of the largest checkpoint from which on one counts as of the whole state; on RocksDB sizes vary."""


@final
@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, in seconds of the machine's monotonic clock."""

    begin_s: float
    end_s: float

    def holds(self, time_s: float) -> bool:
        """Return whether the time is within."""
        return self.begin_s <= time_s <= self.end_s


def full_windows(checkpoints: Sequence[dict[str, Any]], after_s: float, before_s: float) -> dict[Window, float]:
    """Return, for each checkpoint of the whole state between these times, when it was under way and its `sync_ms`."""
    size_max = max((each["size_bytes"] for each in checkpoints), default=0)
    found = {}
    for each in checkpoints:
        window = Window(each["ended_s"] - each["duration_ms"] / 1_000.0, each["ended_s"])
        if window.begin_s >= after_s and window.end_s <= before_s and each["size_bytes"] >= FULL * size_max:
            found[window] = each["sync_ms_max"]
    return found


def outside(windows: Iterable[Window], begin_s: float, end_s: float) -> list[Window]:
    """Return the stretches of time that are in none of the windows."""
    left = []
    for window in sorted(windows, key=lambda each: each.begin_s):
        if window.begin_s > begin_s:
            left.append(Window(begin_s, window.begin_s))
        begin_s = max(begin_s, window.end_s)
    return [*left, Window(begin_s, end_s)] if end_s > begin_s else left


def rate_within(marks: list[Mark], windows: Sequence[Window]) -> float:
    """Return the records per second in the windows together. Raises ValueError when they have no length."""
    took_s = sum(window.end_s - window.begin_s for window in windows)
    if took_s <= 0.0:
        raise ValueError("no time was measured: the run is too short for its checkpoints")
    return sum(count_at(marks, window.end_s) - count_at(marks, window.begin_s) for window in windows) / took_s


def gap_within(marks: list[Mark], windows: Sequence[Window]) -> float:
    """Return the longest time in seconds between two batches in the windows; 0.0 when there were none."""
    inside = (mark.pause_s for mark in marks if any(window.holds(mark.time_s) for window in windows))
    return max(inside, default=0.0)
