"""Samples of records that functions fail for: a few of each second, as text, until the slot reports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

SAMPLES_MAX: Final = 5
"""Samples of one operator in one report: a flood of failures is counted, and costs no more text than these."""
TEXT_MAX: Final = 500
TRACEBACK_MAX: Final = 4_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSample:
    """A record that a function failed for, as text of bounded length. `dealt`: "skipped", or the side output's tag."""

    uid: str
    error: str
    traceback: str
    record: str
    key: str | None
    dealt: str


@final
class FailedSamples:
    """The samples of one operator in one subtask since the last report. Owned by the slot's loop."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[FailedSample] = []

    @property
    def is_full(self) -> bool:
        """Whether no more are wanted until the next report."""
        return len(self._kept) >= SAMPLES_MAX

    def add(self, sample: FailedSample) -> None:
        """Keep a sample."""
        self._kept.append(sample)

    def take(self) -> list[FailedSample]:
        """Return what is kept, and begin again."""
        if not self._kept:
            return []
        taken, self._kept = self._kept, []
        return taken
