"""Growth: when a job that runs in fewer slots than it wants goes on with more of them. Pure.

After the cooldown, slots are counted now and then. If there are as many as the job wants, it takes them at once. If
there are more than it has, enough to be worth a restart, it takes them when that has been so for a while.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

COUNT_EVERY_MS: Final = 1_000.0
FAILURES_MAX: Final = 6
"""From then on the time between two tries stays the same: 64 times the cooldown."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthSettings:
    """How eager a job is. `increase_min` is the least number of further slots that are worth a restart."""

    cooldown_ms: float
    stabilization_ms: float
    increase_min: int


@final
class Growth:
    """Watches one job. Owned by the job master's loop.

    >>> growth = Growth(GrowthSettings(cooldown_ms=5_000.0, stabilization_ms=3_000.0, increase_min=1))
    >>> growth.started(slots=1, wanted=3, now_ms=0.0)
    >>> growth.counting(4_999.0), growth.counting(5_000.0)
    (False, True)
    >>> growth.counted(2, 5_000.0), growth.counted(2, 8_000.0), growth.counted(3, 8_000.0)
    (False, True, True)
    """

    def __init__(self, settings: GrowthSettings) -> None:
        self._settings = settings
        self._slots = self._wanted = 0
        self._failures = 0
        self._count_ms: float | None = None
        self._since_ms: float | None = None
        """Since when there have been enough further slots."""

    @property
    def wake_ms(self) -> float | None:
        """When slots are to be counted next, None: no need."""
        return self._count_ms

    def started(self, slots: int, wanted: int, now_ms: float) -> None:
        """An attempt runs in so many slots, of those that the job wants."""
        if slots > self._slots:
            self._failures = 0
        self._slots, self._wanted = slots, wanted
        self._since_ms = None
        self._cool_down(now_ms)

    def failed(self, now_ms: float) -> None:
        """The job has not come to run with more slots: the next try waits for twice as long as this one did."""
        self._failures = min(self._failures + 1, FAILURES_MAX)
        self._cool_down(now_ms)

    def _cool_down(self, now_ms: float) -> None:
        cooldown_ms = self._settings.cooldown_ms * 2**self._failures
        self._count_ms = now_ms + cooldown_ms if self._slots < self._wanted else None

    def ended(self) -> None:
        """The attempt is over."""
        self._count_ms = None

    def counting(self, now_ms: float) -> bool:
        """Return whether slots are to be counted now."""
        if self._count_ms is None or now_ms < self._count_ms:
            return False
        self._count_ms = now_ms + COUNT_EVERY_MS
        return True

    def counted(self, slots_max: int, now_ms: float) -> bool:
        """Return whether the job is to go on with more slots, now that there can be so many."""
        if self._count_ms is None:
            return False
        if slots_max >= self._wanted:
            return True
        if slots_max < self._slots + self._settings.increase_min:
            self._since_ms = None
            return False
        if self._since_ms is None:
            self._since_ms = now_ms
        return now_ms - self._since_ms >= self._settings.stabilization_ms
