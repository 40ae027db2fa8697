"""Taps of a job: samples of the records that leave an operator, for viewers. Pure.

While there is a viewer, the master renews the tap in all slots every two seconds, and when a new attempt starts. A slot
ends a tap that is not renewed within six seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, final

from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement
from headgate.ids import Attempt
from headgate.operators.samples import Sample
from headgate.runtime.control.messages import LiveOutput, Tap
from headgate.runtime.master.services import SendToAll

RENEW_MS: Final = 2_000.0
"""Milliseconds between two orders to the slots, while there is a viewer."""
FOR_MS: Final = 6_000.0
"""Milliseconds for which a slot sends samples after an order."""
RECORDS_PER_S_MAX: Final = 20.0
"""The greatest number of samples per second from each subtask."""
ALL_RECORDS_PER_S_MAX: Final = 200.0
"""The greatest number of samples per second from all subtasks of an operator together."""

See = Callable[[list[Sample]], None]
"""Takes samples, on the job's thread. Must not block."""


@final
class Taps:
    """The taps of one job: decides the orders to slots. Pure; owned by the job master's loop."""

    def __init__(self, plan: JobGraph) -> None:
        self._plan = plan
        self._attempt: Attempt | None = None
        self._placement: Placement | None = None
        self._open: dict[str, list[See]] = {}
        self.wake_ms: float | None = None
        """When to call `step` next, None: no need."""

    def open(self, uid: str, see: See, now_ms: float) -> list[SendToAll]:
        """Call `see` with samples of the records that leave an operator from now on."""
        self._open.setdefault(uid, []).append(see)
        return self._order([uid], FOR_MS, now_ms)

    def close(self, uid: str, see: See, now_ms: float) -> list[SendToAll]:
        """Call `see` with no more samples."""
        seeing = self._open.get(uid, [])
        if see in seeing:
            seeing.remove(see)
        if not seeing and self._open.pop(uid, None) is not None:
            return self._order([uid], 0.0, now_ms)
        return []

    def started(self, attempt: Attempt, placement: Placement, now_ms: float) -> list[SendToAll]:
        """Begin an attempt: order all taps from its slots."""
        self._attempt, self._placement = attempt, placement
        return self._order(self._open, FOR_MS, now_ms)

    def ended(self) -> None:
        """Note that the attempt has ended: no orders are sent."""
        self._attempt = None
        self.wake_ms = None

    def step(self, now_ms: float) -> list[SendToAll]:
        """Renew the taps in the slots, if it is time."""
        if self.wake_ms is not None and now_ms >= self.wake_ms:
            return self._order(self._open, FOR_MS, now_ms)
        return []

    def received(self, message: LiveOutput) -> None:
        """Pass samples to all viewers of the operator."""
        for see in list(self._open.get(message.uid, ())):
            see(message.samples)

    def _order(self, uids: Iterable[str], for_ms: float, now_ms: float) -> list[SendToAll]:
        if self._attempt is None or self._placement is None:
            return []
        self.wake_ms = now_ms + RENEW_MS if self._open else None
        return [SendToAll(self._tap(self._attempt, self._placement, uid, for_ms)) for uid in uids]

    def _tap(self, attempt: Attempt, placement: Placement, uid: str, for_ms: float) -> Tap:
        vertices = (vertex for vertex in self._plan.vertices if any(own.uid == uid for own in vertex.operators))
        subtasks = next((placement.parallelism[vertex.id] for vertex in vertices), 1)
        rate = min(RECORDS_PER_S_MAX, ALL_RECORDS_PER_S_MAX / subtasks)
        return Tap(attempt=attempt, uid=uid, records_per_s=rate, for_ms=for_ms)
