"""The simulated connection between the job master and one slot: in order, late, and lost as a whole.

Messages travel as bytes, as they do between processes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Final, Generic, TypeVar, final

from headgate.testing.sim.process import Process
from headgate.testing.sim.world import World

M = TypeVar("M")

HOP_MS: Final = (0.05, 4.0)
SLOW_HOP_MS: Final = (10.0, 150.0)


@final
class Pipe(Generic[M]):
    """One direction of a connection."""

    def __init__(self, world: World, receiver: Process, deliver: Callable[[M], None]) -> None:
        self.is_open = True
        self._world = world
        self._receiver = receiver
        self._deliver = deliver
        self._arrival_ms = 0.0

    def send(self, message: M) -> float:
        """Have the message arrive, some time after all that was sent before; it is lost if the pipe breaks first.

        Return when it arrives.
        """
        rng = self._world.rng
        hop_ms = rng.uniform(*(SLOW_HOP_MS if rng.random() < self._world.slow_hops else HOP_MS))
        self._arrival_ms = max(self._arrival_ms, self._world.now_ms + hop_ms)
        data = pickle.dumps(message, 5)
        self._receiver.on_loop(self._arrival_ms, lambda: self._arrive(data))
        return self._arrival_ms

    def stall(self, duration_ms: float) -> None:
        """Hold back everything sent from now on."""
        self._arrival_ms = max(self._arrival_ms, self._world.now_ms + duration_ms)

    def _arrive(self, data: bytes) -> None:
        if self.is_open:
            self._deliver(pickle.loads(data))  # noqa: S301  # pickled when it was sent
            self._receiver.wake()
