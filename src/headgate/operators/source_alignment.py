"""How one subtask of a source keeps to the alignment of watermarks: what it reports, and when it waits. Pure.

The job master announces the greatest watermark that is allowed. A subtask whose own is beyond it waits; of several
splits that are read at a time only those wait that are beyond it. Until the first announcement of an attempt nothing
waits. (FLIP-182 and FLIP-217. A subtask without a watermark is at the least one, so that others wait for it; in Flink
it does not count yet.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Flow, Watermark, WatermarkStatus
from headgate.functions.watermarks import WatermarkAlignment


@final
class SourceAlignment:
    """Where one subtask is, and how far it may go. All times but `now_ms` are event time."""

    def __init__(self, alignment: WatermarkAlignment, now_ms: float) -> None:
        self.wake_ms = now_ms + alignment.interval_ms
        """When to report, on the monotonic clock."""
        self._alignment = alignment
        self._watermark_ms = MIN_TIMESTAMP
        self._idle = False
        self._allowed_ms: int | None = None

    def follow(self, emitted: Iterable[Flow]) -> None:
        """Learn how far the subtask has come, from what it emits."""
        for each in emitted:
            if isinstance(each, Watermark):
                self._watermark_ms = each.timestamp_ms
            elif isinstance(each, WatermarkStatus):
                self._idle = each.idle

    def allow(self, allowed_ms: int) -> None:
        """Take an announcement."""
        self._allowed_ms = allowed_ms

    @property
    def waits(self) -> bool:
        """Whether the subtask is to read nothing."""
        return self._allowed_ms is not None and self._watermark_ms > self._allowed_ms

    def ahead(self, watermarks_ms: Mapping[str, int]) -> frozenset[str]:
        """Return the splits that are to be paused, of several that are read at a time."""
        allowed_ms = self._allowed_ms
        if allowed_ms is None or len(watermarks_ms) < 2:
            return frozenset()
        return frozenset(split for split, watermark_ms in watermarks_ms.items() if watermark_ms > allowed_ms)

    def take_report(self, now_ms: float) -> int | None:
        """Return what is to be reported now, None: others need not wait for the subtask; the next report is later."""
        self.wake_ms = now_ms + self._alignment.interval_ms
        return None if self._idle else self._watermark_ms

    @property
    def drift_ms(self) -> int | None:
        """How far the subtask is ahead of the last one of its group, None before the first announcement."""
        if self._allowed_ms is None or self._allowed_ms == MAX_TIMESTAMP:
            return None
        return self._watermark_ms - (self._allowed_ms - self._alignment.max_drift_ms)
