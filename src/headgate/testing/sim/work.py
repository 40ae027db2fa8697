"""Work of a simulated I/O thread: it pauses at each external operation, which takes effect at its own time.

Each piece of work is a greenlet. Before it reads, writes, lists or deletes a file, or commits, it yields to the world.
So the work of other processes can happen between any two of its operations, and its process can die there.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeVar, final

import greenlet

from headgate.testing.sim.world import Action, World

if TYPE_CHECKING:
    from headgate.testing.sim.process import Process

T = TypeVar("T")

_START_MS = (0.1, 4.0)
_BRISK_MS = (0.05, 3.0)
_SLOW_MS = (5.0, 60.0)
_VERY_SLOW_MS = (0.2, 120.0)


@final
class OperationFate(Enum):
    """What happens to an operation."""

    WHOLE = "whole"
    TORN = "torn"
    """The process has died during the operation."""


def operation(world: World, what: str) -> OperationFate:
    """Pause the running work until an external operation takes effect; return what happens to the operation.

    Does not return if the process dies before. Loops must not call this themselves: they would block.
    """
    work = work_now()
    if work is not None:
        return work.wait()
    world.violated(f"a loop itself does what takes long: {what}")
    return OperationFate.WHOLE


def work_now() -> Work | None:
    """Return the running work, None when a loop runs."""
    return getattr(greenlet.getcurrent(), "work", None)


@final
class Work:
    """One piece of work. The actions that it plans switch to it; in between, it switches back to the world."""

    def __init__(self, io: SimIo, body: Callable[[], None]) -> None:
        self.is_over = False
        """Whether the work must end at its next operation."""
        self._greenlet = greenlet.greenlet(body)
        self._greenlet.work = self
        self._io = io
        self._has_begun = False
        slow = _VERY_SLOW_MS if io.world.now_ms < io.world.slow_work_until_ms else _SLOW_MS
        self._pace_ms = slow if slow is _VERY_SLOW_MS or io.world.chance(io.world.slow_work) else _BRISK_MS

    def wait(self) -> OperationFate:
        """Yield to the world until the next operation takes effect."""
        if self.is_over:
            raise greenlet.GreenletExit
        self._io.operation_begins()
        self._io.owner.on_io_thread(self._io.world.now_ms + self._io.world.rng.uniform(*self._pace_ms), self._go_on)
        fate = self._greenlet.parent.switch()
        assert isinstance(fate, OperationFate)
        return fate

    def begin(self) -> None:
        """Run up to the first operation."""
        self._has_begun = True
        self._switch()

    def _go_on(self) -> None:
        if not self.is_over:
            self._switch(OperationFate.WHOLE)

    def end(self, fate: OperationFate | None, delay_ms: float) -> None:
        """End the work, as its process is gone; with a fate, after the current operation."""
        self.is_over = True
        if fate is None or not self._has_begun:
            self.abandon()
        else:
            self._io.world.after(0.0, delay_ms, partial(self._switch, fate))

    def abandon(self) -> None:
        """End the work, if it has not ended."""
        self.is_over = True
        if not self._greenlet.dead:
            self._greenlet.throw()

    def _switch(self, *result: OperationFate) -> None:
        self._greenlet.parent = greenlet.getcurrent()
        self._greenlet.switch(*result)


@final
class SimIo:
    """The `Io` of a simulated process: work runs at later times, and its result arrives even later."""

    def __init__(self, owner: Process, world: World) -> None:
        self.owner = owner
        self.world = world
        self.crash_delay_ms = 0.0
        """Milliseconds after the end of the process within which its last operations may still take effect."""
        self.operations_left: int | None = None
        """Number of operations until `on_last_operation` is called; None: never."""
        self.on_last_operation: Action = lambda: None
        self._under_way: list[Work] = []

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        world, owner = self.world, self.owner

        def body() -> None:
            try:
                result: T | BaseException = work()
            except Exception as error:  # noqa: BLE001  # handed to the loop, as a thread pool does
                result = error
            self._under_way.remove(under_way)
            if not under_way.is_over:
                owner.on_loop(world.now_ms + world.rng.uniform(0.1, 6.0), lambda: deliver(result))

        def deliver(result: T | BaseException) -> None:
            done(result)
            owner.wake()

        under_way = Work(self, body)
        self._under_way.append(under_way)
        owner.on_io_thread(world.now_ms + world.rng.uniform(*_START_MS), under_way.begin)

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.submit(work, done)

    def operation_begins(self) -> None:
        """Note that an operation begins."""
        if self.operations_left is not None:
            self.operations_left -= 1
            if self.operations_left == 0:
                self.operations_left = None
                self.world.at(self.world.now_ms, self.on_last_operation)

    def crash(self) -> None:
        """End all work; current operations are lost, or still happen, wholly or in part."""
        for work in self._under_way:
            fate = self.world.rng.choice((None, None, OperationFate.WHOLE, OperationFate.TORN))
            self.world.note(self.owner.name, f"work ends, its last operation is {fate.value if fate else 'lost'}")
            work.end(fate, self.crash_delay_ms)

    def close(self) -> None:
        """End all work at once: the simulation is over."""
        for work in self._under_way:
            work.abandon()
