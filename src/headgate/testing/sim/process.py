"""A simulated process, which can be stopped, can hang, and can die."""

from __future__ import annotations

from collections.abc import Callable

from headgate.testing.sim.work import SimIo
from headgate.testing.sim.world import Action, World

NAP_MS = 1e-6


class Process:
    """A process with a loop that runs in steps, and work on an I/O thread. Subclasses define a step."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.io = SimIo(self, world)
        self._stopped_until_ms = 0.0
        self._busy_until_ms = 0.0
        self._step_ms: float | None = None

    def step(self) -> float | None:
        """Do one step of the loop; return the time of the next step."""
        raise NotImplementedError

    # --- time

    def stop_for(self, duration_ms: float) -> None:
        """Stop the whole process, its I/O threads included, as SIGSTOP does."""
        self.world.note(self.name, f"is stopped for {duration_ms:.0f} ms")
        self._stopped_until_ms = max(self._stopped_until_ms, self.world.now_ms + duration_ms)
        self._busy_until_ms = max(self._busy_until_ms, self._stopped_until_ms)

    def hang_for(self, duration_ms: float) -> None:
        """Have user code not return; I/O threads continue."""
        self.world.note(self.name, f"hangs for {duration_ms:.0f} ms")
        self._busy_until_ms = max(self._busy_until_ms, self.world.now_ms + duration_ms)

    def work_until(self, when_ms: float) -> None:
        """Keep the loop's thread busy until `when_ms`."""
        self._busy_until_ms = max(self._busy_until_ms, when_ms)

    def on_loop(self, when_ms: float, action: Action) -> None:
        """Plan an action of the loop's thread; it waits while the process is stopped or hangs.

        Actions run in the order of their times: a pause may become longer but never shorter.
        """
        self._guarded(when_ms, action, lambda: self._busy_until_ms)

    def on_io_thread(self, when_ms: float, action: Action) -> None:
        """Plan an action of another thread; it waits while the process is stopped."""
        self._guarded(when_ms, action, lambda: self._stopped_until_ms)

    def _guarded(self, when_ms: float, action: Action, barred_until_ms: Callable[[], float]) -> None:
        def attempt() -> None:
            if not self.alive:
                return
            if self.world.now_ms < barred_until_ms():
                self.world.at(barred_until_ms() + NAP_MS, attempt)
                return
            action()

        self.world.at(when_ms, attempt)

    def wake(self, when_ms: float | None = None) -> None:
        """Step the loop at `when_ms` (None: soon), unless a step is planned earlier."""
        if when_ms is None:
            when_ms = self.world.now_ms + self.world.rng.uniform(0.01, 0.5)
        if self._step_ms is not None and self._step_ms <= when_ms:
            return
        self._step_ms = due_ms = when_ms

        def turn() -> None:
            if self._step_ms == due_ms:
                self._step_ms = None
                self._turn()

        self.on_loop(when_ms, turn)

    def _turn(self) -> None:
        next_ms = self.step()
        if next_ms is not None and self.alive:
            self.wake(max(next_ms, self.world.now_ms + self.world.rng.uniform(0.2, 2.0)))

    # --- the end

    def die(self, why: str) -> None:
        """End the process. Operations that its other threads had begun may still happen, in whole or in part."""
        if self.alive:
            self.world.note(self.name, f"dies: {why}")
            self.alive = False
            self.io.crash()
            self.on_death(why)

    def lose_power(self) -> None:
        """End the process with its machine: operations that its other threads had begun end as well."""
        if self.alive:
            self.world.note(self.name, "loses power")
            self.alive = False
            self.io.close()
            self.on_death("loss of power")

    def on_death(self, why: str) -> None:
        """Handle the consequences of this process's end for others."""
