"""Watermark alignment of one subtask of a source: the watermarks it reports, and when it pauses. Pure.

The job master announces the highest allowed watermark. A subtask whose watermark is higher pauses. If it reads several
splits at a time, only the splits with higher watermarks pause. Before the first announcement of an attempt nothing
pauses. (FLIP-182 and FLIP-217. A subtask without a watermark counts with the lowest watermark, so that other subtasks
wait for it; in Flink it does not count yet.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Flow, Watermark, WatermarkStatus
from headgate.functions.watermarks import WatermarkAlignment


@final
class SourceAlignment:
    """The watermark of one subtask, and the watermark it may reach. All times except `now_ms` are event time."""

    def __init__(self, alignment: WatermarkAlignment, now_ms: float) -> None:
        self.wake_ms = now_ms + alignment.interval_ms
        """When to report next, on the monotonic clock."""
        self._alignment = alignment
        self._watermark_ms = MIN_TIMESTAMP
        self._idle = False
        self._allowed_ms: int | None = None

    def follow(self, emitted: Iterable[Flow]) -> None:
        """Take the subtask's watermark and status from the elements it emits."""
        for each in emitted:
            if isinstance(each, Watermark):
                self._watermark_ms = each.timestamp_ms
            elif isinstance(each, WatermarkStatus):
                self._idle = each.idle

    def allow(self, allowed_ms: int) -> None:
        """Set the announced highest watermark."""
        self._allowed_ms = allowed_ms

    @property
    def waits(self) -> bool:
        """Whether the subtask must not read, because its watermark is too far ahead."""
        return self._allowed_ms is not None and self._watermark_ms > self._allowed_ms

    def ahead(self, watermarks_ms: Mapping[str, int]) -> frozenset[str]:
        """Return the splits to pause. `watermarks_ms` has the watermark of each split that is read."""
        allowed_ms = self._allowed_ms
        if allowed_ms is None or len(watermarks_ms) < 2:
            return frozenset()
        return frozenset(split for split, watermark_ms in watermarks_ms.items() if watermark_ms > allowed_ms)

    def take_report(self, now_ms: float) -> int | None:
        """Return the watermark to report, or None if other subtasks need not wait; schedule the next report."""
        self.wake_ms = now_ms + self._alignment.interval_ms
        return None if self._idle else self._watermark_ms

    @property
    def drift_ms(self) -> int | None:
        """How far the subtask is ahead of the slowest subtask of its group; None before the first announcement."""
        if self._allowed_ms is None or self._allowed_ms == MAX_TIMESTAMP:
            return None
        return self._watermark_ms - (self._allowed_ms - self._alignment.max_drift_ms)
