"""Watermarks of a subtask whose source reads in stages: event time continues across stages.

A stage begins when all subtasks have read the previous stage. Subtasks learn of the new stage at different times. So
before the last stage no subtask is ever idle: a subtask without splits holds event time back, since it may get the
oldest records of the next stage. Event time never decreases: if a stage begins with older records, their watermarks are
dropped, and these records may be late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

from headgate.elements import MIN_TIMESTAMP, Batch, Flow, Watermark, WatermarkStatus
from headgate.functions.source import Source
from headgate.operators.sequential_watermarks import SequentialWatermarks
from headgate.operators.split_watermarks import SplitWatermarks

SourceWatermarks = SequentialWatermarks | SplitWatermarks


@final
class StageWatermarks:
    """Makes timestamps and watermarks in one subtask, stage by stage. `wake_ms` and `tick` are as in `Operator`."""

    def __init__(self, stage_of: Callable[[str], Source[Any]], make: Callable[[Source[Any]], SourceWatermarks]) -> None:
        """`stage_of` returns the source of a split. `make` returns the object that makes a source's watermarks."""
        self._stage_of = stage_of
        self._make = make
        self._stages: list[tuple[Source[Any], SourceWatermarks]] = []
        self._current: SourceWatermarks | None = None
        self._watermark_ms = MIN_TIMESTAMP
        self._stage_is_idle = False
        self._waits = True
        self._is_last = False
        self._idle = False
        self._due_ms: float | None = None

    @property
    def wake_ms(self) -> float | None:
        """When to call `tick`."""
        stage_ms = None if self._current is None else self._current.wake_ms
        return min((time_ms for time_ms in (self._due_ms, stage_ms) if time_ms is not None), default=None)

    def take(self, splits: Mapping[str, bool], now_ms: float) -> None:
        """Add splits. The value True says that the split is partly read."""
        for split_id, begun in splits.items():
            stage = self._of(split_id)
            stage.take({split_id: begun}, now_ms)
            if self._waits:
                self._begin(stage)
                self._due_ms = now_ms

    def wait(self) -> None:
        """Note that all splits of the subtask are read."""
        self._waits = not self._is_last

    def last_stage(self, now_ms: float) -> None:
        """Note that no further stage follows: from now on a subtask without splits is idle."""
        self._is_last, self._due_ms = True, now_ms

    @property
    def watermarks_ms(self) -> dict[str, int]:
        """The watermark of each split of the current stage, if several are read at a time."""
        return {} if self._current is None else self._current.watermarks_ms

    @property
    def awaits_stage(self) -> bool:
        """Whether the subtask has read all its splits, and waits for the next stage."""
        return self._waits

    def pause(self, paused: frozenset[str]) -> None:
        """Pause these splits, and resume all others."""
        if self._current is not None:
            self._current.pause(paused)

    def mark(self, batch: Batch, split_id: str | None, *, ended: bool) -> list[Flow]:
        """Return the records with timestamps, and the watermarks and statuses among them. Raises `UserCodeError`."""
        stage = self._of(split_id or "")
        if stage is not self._current:
            self._begin(stage)
        return self._follow() + self._merged(stage.mark(batch, split_id, ended=ended))

    def tick(self, now_ms: float) -> list[Flow]:
        """Return due watermarks and statuses. Raises `UserCodeError`."""
        self._due_ms = None
        ticked = [] if self._current is None else self._current.tick(now_ms)
        return self._follow() + self._merged(ticked)

    def _of(self, split_id: str) -> SourceWatermarks:
        source = self._stage_of(split_id)
        for known, stage in self._stages:
            if known is source:
                return stage
        stage = self._make(source)
        self._stages.append((source, stage))
        return stage

    def _begin(self, stage: SourceWatermarks) -> None:
        self._current = stage
        self._waits = self._stage_is_idle = False

    def _merged(self, marked: list[Flow]) -> list[Flow]:
        out: list[Flow] = []
        for each in marked:
            if isinstance(each, WatermarkStatus):
                self._stage_is_idle = each.idle
                out += self._follow()
            elif isinstance(each, Batch) or each.timestamp_ms > self._watermark_ms:
                out.append(each)
                if isinstance(each, Watermark):
                    self._watermark_ms = each.timestamp_ms
        return out

    def _follow(self) -> list[Flow]:
        idle = self._is_last and (self._waits or self._stage_is_idle)
        changed, self._idle = idle != self._idle, idle
        return [WatermarkStatus(idle)] if changed else []
