"""The world of a simulation: virtual time, one source of randomness, and a trace of what happened.

Everything that happens is an action with a time. Actions run one after the other, ordered by time, then by the order in
which they were planned. All random choices come from one generator, so a seed determines a run completely.
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
        """Descriptions of broken promises; the first one ends the run."""
        self.actions = 0
        self.slow_hops = 0.0
        """The share of messages and elements that are slow."""
        self.frame_gap_ms = 0.0
        """Milliseconds that one element occupies a connection between slots."""
        self.slow_work = 0.0
        """The share of slow work on I/O threads."""
        self.slow_work_until_ms = 0.0
        """The time until which all work on I/O threads is slow."""
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
        """Run actions until `is_over`, or until a promise is broken. Too much time or too many actions break one."""
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
