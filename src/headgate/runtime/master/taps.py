"""Taps of a job: who looks at what leaves an operator.

Slots are told so again and again, and those of each new attempt are, too. A slot's tap ends by itself soon after nobody
says so any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol, final

from headgate.clock import Clock
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement
from headgate.ids import Attempt
from headgate.operators.sampler import Sample
from headgate.runtime.control.messages import LiveOutput, Tap, ToSlot

RENEW_MS: Final = 2_000.0
FOR_MS: Final = 6_000.0
"""How long slots go on by themselves."""
RECORDS_PER_S_MAX: Final = 20.0
"""Of each subtask."""
ALL_RECORDS_PER_S_MAX: Final = 200.0
"""Of all subtasks of an operator together."""

See = Callable[[list[Sample]], None]
"""Takes samples, on the job's thread. Must not block."""


class TapsHost(Protocol):
    """What taps ask of the job master."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    @property
    def placement(self) -> Placement:
        """The placement of the newest attempt that has run."""
        ...

    def send_all(self, message: ToSlot) -> None:
        """Send a message to every slot."""
        ...


@final
class Taps:
    """Owned by the job master's loop."""

    def __init__(self, plan: JobGraph, host: TapsHost) -> None:
        self._plan = plan
        self._host = host
        self._attempt: Attempt | None = None
        self._open: dict[str, list[See]] = {}
        self.wake_ms: float | None = None
        """When to call `step` next, None: no need."""

    def open(self, uid: str, see: See) -> None:
        """Have samples of what leaves an operator shown to `see` from now on."""
        self._open.setdefault(uid, []).append(see)
        self._order([uid], FOR_MS)

    def close(self, uid: str, see: See) -> None:
        """Show `see` no more."""
        seeing = self._open.get(uid, [])
        if see in seeing:
            seeing.remove(see)
        if not seeing and self._open.pop(uid, None) is not None:
            self._order([uid], 0.0)

    def started(self, attempt: Attempt) -> None:
        """An attempt runs, in slots that know of no tap."""
        self._attempt = attempt
        self._order(self._open, FOR_MS)

    def ended(self) -> None:
        """The attempt is over."""
        self._attempt = None
        self.wake_ms = None

    def step(self, now_ms: float) -> None:
        """Tell slots again, if it is time."""
        if self.wake_ms is not None and now_ms >= self.wake_ms:
            self._order(self._open, FOR_MS)

    def received(self, message: LiveOutput) -> None:
        """Show samples to all who look."""
        for see in list(self._open.get(message.uid, ())):
            see(message.samples)

    def _order(self, uids: Iterable[str], for_ms: float) -> None:
        if self._attempt is None:
            return
        for uid in uids:
            rate = min(RECORDS_PER_S_MAX, ALL_RECORDS_PER_S_MAX / self._parallelism(uid))
            self._host.send_all(Tap(attempt=self._attempt, uid=uid, records_per_s=rate, for_ms=for_ms))
        self.wake_ms = self._host.clock.monotonic_ms() + RENEW_MS if self._open else None

    def _parallelism(self, uid: str) -> int:
        vertices = (vertex for vertex in self._plan.vertices if any(own.uid == uid for own in vertex.operators))
        return next((self._host.placement.parallelism[vertex.id] for vertex in vertices), 1)
