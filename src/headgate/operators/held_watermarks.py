"""Watermarks of a subtask that reads its splits one after the other, and may have been given several that were begun.

In a job that starts afresh each subtask has opened one split; at a lower parallelism a subtask goes on with several,
and event time has come as far as the one that is behind. So it is held back until the last of them is opened, and then
follows that one alone. Splits that were not begun hold nothing back: they lie ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

from headgate.elements import Batch, Flow, Watermark, WatermarkStatus
from headgate.operators.watermarks import WatermarkMaker


@final
class HeldWatermarks:
    """Makes timestamps and watermarks in one subtask. `wake_ms` and `tick` are as of an operator."""

    def __init__(self, maker: Callable[[], WatermarkMaker]) -> None:
        """`maker` returns a maker that has seen no record."""
        self._new_maker = maker
        self._maker = maker()
        self._unopened: set[str] = set()
        self._idle = False

    @property
    def wake_ms(self) -> float | None:
        """When to call `tick`."""
        return self._maker.wake_ms

    def take(self, splits: Mapping[str, bool], now_ms: float) -> None:
        """Hold event time back until those of the splits are opened that are True: they were begun."""
        self._unopened.update(split_id for split_id, begun in splits.items() if begun)

    @property
    def watermarks_ms(self) -> dict[str, int]:
        """None for single splits: they are read one after the other."""
        return {}

    def pause(self, paused: frozenset[str]) -> None:
        """Do nothing: no single split is ever paused."""

    def mark(self, batch: Batch, split_id: str | None, *, ended: bool) -> list[Flow]:
        """Return the records with timestamps, and what belongs between and behind them. Raises `UserCodeError`."""
        opened = self._open(split_id) if split_id in self._unopened else []
        return opened + self._not_held(self._maker.mark(batch))

    def tick(self, now_ms: float) -> list[Flow]:
        """Return what is due. Raises `UserCodeError`."""
        return self._not_held(self._maker.tick(now_ms))

    def _open(self, split_id: str | None) -> list[Flow]:
        self._unopened.discard(split_id or "")
        self._maker = self._new_maker()
        was_idle, self._idle = self._idle, False
        return [WatermarkStatus(idle=False)] if was_idle else []

    def _not_held(self, marked: list[Flow]) -> list[Flow]:
        for each in marked:
            if isinstance(each, WatermarkStatus):
                self._idle = each.idle
        if not self._unopened:
            return marked
        return [each for each in marked if not isinstance(each, Watermark)]
