"""Taps of a slot: samples of the records that leave operators, for a limited time. Without a tap they cost nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from headgate.ids import SubtaskId
from headgate.operators.samples import Sampler
from headgate.runtime.control.messages import LiveOutput, Tap
from headgate.runtime.slot.subtask import Subtask

if TYPE_CHECKING:
    from headgate.runtime.slot.slot import Slot

SEND_EVERY_MS: Final = 250.0


@final
@dataclass(slots=True)
class _Tap:
    """A tap of an operator: one sampler for each subtask, and the time at which it ends unless it is renewed."""

    samplers: list[tuple[Subtask, Sampler]]
    until_ms: float


@final
class SlotTaps:
    """The taps of one attempt. Owned by the slot's loop."""

    def __init__(self, subtasks: Mapping[SubtaskId, Subtask], slot: Slot) -> None:
        self._subtasks = subtasks
        self._slot = slot
        self._open: dict[str, _Tap] = {}

    def tap(self, order: Tap) -> None:
        """Begin, renew or end a tap, as the job master orders."""
        until_ms = self._slot.clock.monotonic_ms() + order.for_ms
        if order.uid in self._open:
            self._open[order.uid].until_ms = until_ms
            self._send(order.uid)
        elif order.for_ms > 0:
            self._begin(order, until_ms)

    def _begin(self, order: Tap, until_ms: float) -> None:
        clock = self._slot.clock
        tapped = [subtask for subtask in self._subtasks.values() if subtask.has(order.uid)]
        samplers = [(subtask, Sampler(subtask.id.index, order.records_per_s, clock)) for subtask in tapped]
        if samplers:
            for subtask, sampler in samplers:
                subtask.tap(order.uid, sampler.see)
            self._open[order.uid] = _Tap(samplers, until_ms)
            self._look_later(order.uid)

    def _look_later(self, uid: str) -> None:
        def look() -> None:
            if uid in self._open:
                self._send(uid)
                self._look_later(uid)

        self._slot.call_later(SEND_EVERY_MS, look)

    def _send(self, uid: str) -> None:
        """Send the samples; end the tap if its time is over."""
        tap = self._open[uid]
        samples = [sample for _, sampler in tap.samplers for sample in sampler.taken()]
        if samples:
            self._slot.send(LiveOutput(attempt=self._slot.attempt, uid=uid, samples=samples))
        if self._slot.clock.monotonic_ms() >= tap.until_ms:
            del self._open[uid]
            for subtask, _ in tap.samplers:
                subtask.tap(uid, None)
