"""Pace: how many records a subtask takes at a time, so that its loop stays responsive and its output bounded."""

from __future__ import annotations

from typing import Final, final

PIECE_MS: Final = 10.0
"""A piece of work should not take longer: mails and barriers wait for it."""

EXPANSION_MAX: Final = 4
"""A piece may emit this many times a full batch before it is made smaller."""


FIRST_RECORDS: Final = 16
"""Size of the first piece, when nothing is known yet: user code may take long for each record."""


@final
class Pace:
    """The size of the next piece of work, learned from the last ones."""

    __slots__ = ("_records_max", "records")

    def __init__(self, records_max: int) -> None:
        self._records_max = records_max
        self.records = min(FIRST_RECORDS, records_max)

    def learn(self, took_ms: float, emitted: int) -> None:
        """Adapt after a piece that took `took_ms` and emitted that many records."""
        if took_ms > PIECE_MS or emitted > EXPANSION_MAX * self._records_max:
            self.shrink()
        elif self.records < self._records_max and took_ms < PIECE_MS / 4:
            self.records = min(self._records_max, self.records * 2)

    def shrink(self) -> None:
        """Halve the size of pieces."""
        self.records = max(1, self.records // 2)
