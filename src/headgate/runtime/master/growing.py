"""The growth of a job that has fewer slots than it wants: slots are counted, and when there are more it is rescaled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, final

from headgate.clock import Clock
from headgate.ids import Attempt
from headgate.runtime.master.growth import Growth
from headgate.runtime.master.rescales import Rescales
from headgate.runtime.master.services import SlotCount

_log = logging.getLogger(__name__)


class GrowingHost(Protocol):
    """What growth asks of the job master."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    @property
    def free_attempt(self) -> Attempt | None:
        """The attempt that runs, if the job could go on with more slots at once."""
        ...

    def slots_counted(self, done: Callable[[SlotCount | BaseException | None], None]) -> None:
        """Count the slots that a launch could have if the present one ended; None: any number. Does not block."""
        ...


@final
class Growing:
    """Has one job grow. Owned by the job master's loop."""

    def __init__(self, growth: Growth, rescales: Rescales, host: GrowingHost) -> None:
        self._growth = growth
        self._rescales = rescales
        self._host = host
        self._is_counting = False

    @property
    def wake_ms(self) -> float | None:
        """When to call `step` next, None: no need."""
        return self._growth.wake_ms

    def started(self, slots: int, wanted: int) -> None:
        """An attempt runs in so many slots, of those that the job wants."""
        self._growth.started(slots, wanted, self._host.clock.monotonic_ms())

    def ended(self) -> None:
        """The attempt is over."""
        self._growth.ended()

    def step(self, now_ms: float) -> None:
        """Count slots, if it is time. Have the job go on with more of them, if they are enough."""
        if not self._growth.counting(now_ms) or self._is_counting:
            return
        self._is_counting = True
        attempt = self._host.free_attempt

        def done(count: SlotCount | BaseException | None) -> None:
            self._is_counting = False
            if isinstance(count, BaseException):
                _log.warning("headgate cannot count the task slots of the cluster: %s", count)
            elif attempt is not None and attempt == self._host.free_attempt and count is not None:
                self._counted(count.now)

        self._host.slots_counted(done)

    def _counted(self, slots_max: int) -> None:
        clock = self._host.clock
        if self._growth.counted(slots_max, clock.monotonic_ms()):
            self._growth.ended()
            self._rescales.grow(slots_max, lambda: self._growth.failed(clock.monotonic_ms()))
