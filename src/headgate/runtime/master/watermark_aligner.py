"""Alignment of watermarks in the job master: how far the sources of a group may read. Pure.

Theory of operation
-------------------
Each subtask of an aligned source reports its watermark regularly. Idle subtasks and subtasks that have ended hold no
other subtask back. The watermark of a group is the lowest watermark that its subtasks have reported in the attempt.
Each source is told, at its own interval, the greatest watermark that it may reach: the group's watermark plus the
source's maximum drift. If no subtask holds the group back, every watermark is allowed.

    OFF   no attempt runs; reports are ignored                  started -> ON, all reports are forgotten
    ON    reports are taken, announcements come when due        ended -> OFF

The next announcement replaces a lost one, and the next report a lost report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from headgate.elements import MAX_TIMESTAMP
from headgate.functions.watermarks import WatermarkAlignment
from headgate.ids import SubtaskId


@final
class WatermarkAligner:
    """The groups of one job. `sources` has the alignment of each source, by the id of its vertex.

    >>> orders = WatermarkAlignment(group="orders", max_drift_ms=10, interval_ms=1_000)
    >>> aligner = WatermarkAligner({0: orders, 1: orders})
    >>> aligner.started(0.0)
    >>> aligner.reported(SubtaskId(0, 0), 70)
    >>> aligner.reported(SubtaskId(1, 0), 20)
    >>> aligner.announce(1_000.0)
    {0: 30, 1: 30}
    """

    def __init__(self, sources: Mapping[int, WatermarkAlignment]) -> None:
        self._sources = sources
        self._due_ms: dict[int, float] = {}
        self._watermarks_ms: dict[SubtaskId, int] = {}
        self._ended: set[SubtaskId] = set()

    @property
    def wake_ms(self) -> float | None:
        """When to call `announce`, on the monotonic clock; None while there is nothing to announce."""
        return min(self._due_ms.values(), default=None)

    def started(self, now_ms: float) -> None:
        """Begin an attempt, without reports. The first announcements are due after one interval."""
        self._watermarks_ms = {}
        self._ended = set()
        self._due_ms = {vertex: now_ms + own.interval_ms for vertex, own in self._sources.items()}

    def ended(self) -> None:
        """End the attempt: nothing is announced."""
        self._due_ms = {}

    def reported(self, subtask: SubtaskId, watermark_ms: int | None) -> None:
        """Note the watermark of a subtask; None: the subtask holds no other subtask back."""
        if watermark_ms is None or subtask in self._ended:
            watermark_ms = MAX_TIMESTAMP
        self._watermarks_ms[subtask] = watermark_ms

    def subtask_ended(self, subtask: SubtaskId) -> None:
        """Note that a subtask of the attempt has read all its input."""
        if subtask.vertex in self._sources:
            self._ended.add(subtask)
            self.reported(subtask, None)

    def announce(self, now_ms: float) -> dict[int, int]:
        """Return the greatest allowed watermark of each source whose announcement is due, by vertex."""
        due = [vertex for vertex, due_ms in self._due_ms.items() if now_ms >= due_ms]
        self._due_ms.update((vertex, now_ms + self._sources[vertex].interval_ms) for vertex in due)
        allowed = ((vertex, self._allowed_ms(self._sources[vertex])) for vertex in due)
        return {vertex: allowed_ms for vertex, allowed_ms in allowed if allowed_ms is not None}

    def _allowed_ms(self, alignment: WatermarkAlignment) -> int | None:
        """Return None before the first report of the group."""
        own = [
            watermark_ms
            for subtask, watermark_ms in self._watermarks_ms.items()
            if self._sources[subtask.vertex].group == alignment.group
        ]
        return min(MAX_TIMESTAMP, min(own) + alignment.max_drift_ms) if own else None
