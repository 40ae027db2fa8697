"""The world of a simulation: virtual time, one source of randomness, and a trace of what happened.

Whatever happens is an action at a time. Actions run one after the other, ordered by time and then by when they were
planned; everything random is drawn from one generator. So a seed determines a run to the last detail.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import final

from headgate.clock import VirtualClock

Action = Callable[[], None]


@final
class World:
    """Owns time. Everything in a simulation runs inside an action that `run` calls."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.clock = VirtualClock()
        self.trace: list[str] = []
        self.violations: list[str] = []
        """What broke a promise; the first one ends the run."""
        self.actions = 0
        self.slow_hops = 0.0
        """How much of all that travels takes long."""
        self.frame_gap_ms = 0.0
        """How long one element takes to get through a connection between slots."""
        self.slow_work = 0.0
        """How much of all work on I/O threads takes long."""
        self.slow_work_until_ms = 0.0
        """Until when all of it does."""
        self._planned: list[tuple[float, int, Action]] = []
        self._planned_count = 0

    @property
    def now_ms(self) -> float:
        """Virtual time."""
        return self.clock.monotonic_ms()

    def at(self, when_ms: float, action: Action) -> None:
        """Plan an action."""
        self._planned_count += 1
        heapq.heappush(self._planned, (when_ms, self._planned_count, action))

    def after(self, least_ms: float, most_ms: float, action: Action) -> None:
        """Plan an action after a random delay."""
        self.at(self.now_ms + self.rng.uniform(least_ms, most_ms), action)

    def chance(self, probability: float) -> bool:
        """Return True with that probability."""
        return self.rng.random() < probability

    def note(self, who: str, what: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{self.now_ms:10.3f} {who:8} {what}")

    def violated(self, what: str) -> None:
        """Report that a promise was broken. Does not raise: the code under test must not be able to catch it."""
        self.note("oracle", f"VIOLATION {what}")
        self.violations.append(what)

    def run(self, is_over: Callable[[], bool], until_ms: float, actions_max: int) -> None:
        """Run actions until the end is reached or a promise is broken; too much time or work breaks one, too."""
        while not (self.violations or is_over()):
            if not self._planned:
                self.violated("deadlock: nothing is left to happen, and the job has not ended")
                return
            when_ms, _, action = heapq.heappop(self._planned)
            self.clock.advance_to(when_ms)
            self.actions += 1
            if when_ms > until_ms or self.actions > actions_max:
                self.violated(f"no end after {self.now_ms:.0f} ms of virtual time and {self.actions} actions")
                return
            action()
