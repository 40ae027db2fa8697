"""Watermarks of a subtask that reads its splits one after the other, where several splits may be partly read.

In a new job each subtask has one partly read split. After a restore at a lower parallelism a subtask may have several,
and their event times differ. So no watermark is emitted until the subtask has opened the last partly read split. After
that, watermarks follow this split alone. Unread splits hold no watermark back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

from headgate.elements import Batch, Flow, Watermark, WatermarkStatus
from headgate.operators.watermarks import WatermarkMaker


@final
class SequentialWatermarks:
    """Makes timestamps and watermarks in one subtask. `wake_ms` and `tick` are as in `Operator`."""

    def __init__(self, maker: Callable[[], WatermarkMaker]) -> None:
        """`maker` returns a new `WatermarkMaker`."""
        self._new_maker = maker
        self._maker = maker()
        self._unopened: set[str] = set()
        self._idle = False

    @property
    def wake_ms(self) -> float | None:
        """When to call `tick`."""
        return self._maker.wake_ms

    def take(self, splits: Mapping[str, bool], now_ms: float) -> None:
        """Hold watermarks back until each split whose value is True is opened: these splits are partly read."""
        self._unopened.update(split_id for split_id, begun in splits.items() if begun)

    @property
    def watermarks_ms(self) -> dict[str, int]:
        """Empty: splits that are read one after the other have no watermarks of their own."""
        return {}

    def pause(self, paused: frozenset[str]) -> None:
        """Do nothing: single splits are never paused."""

    def mark(self, batch: Batch, split_id: str | None, *, ended: bool) -> list[Flow]:
        """Return the records with timestamps, and the watermarks and statuses among them. Raises `UserCodeError`."""
        opened = self._open(split_id) if split_id in self._unopened else []
        return opened + self._not_held(self._maker.mark(batch))

    def tick(self, now_ms: float) -> list[Flow]:
        """Return due watermarks and statuses. Raises `UserCodeError`."""
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
