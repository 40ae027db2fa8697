"""Summary of a figure: least, most, average, and percentiles of the newest values. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, final

WINDOW: Final = 10_000
"""Values that percentiles are of: the newest ones, as in Flink."""

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@final
class Summary:
    """Collects values of one figure.

    >>> summary = Summary([1.0, 2.0, 4.0])
    >>> summary.least, summary.most, summary.quantile(0.5)
    (1.0, 4.0, 2.0)
    """

    __slots__ = ("_newest", "_total", "count", "least", "most")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self.count = 0
        self.least: float | None = None
        self.most: float | None = None
        self._total = 0.0
        self._newest: deque[float] = deque(maxlen=WINDOW)
        for value in values:
            self.add(value)

    def add(self, value: float) -> None:
        """Take a value in."""
        self.count += 1
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)
        self._total += value
        self._newest.append(value)

    @property
    def average(self) -> float | None:
        """The mean of all values; None when there is none."""
        return self._total / self.count if self.count else None

    def quantile(self, part: float) -> float | None:
        """Return the value that `part` (0 to 1) of the newest values lie below; None when there is none.

        Between two values it is interpolated, at position `part * (count + 1)` of the sorted values, counted from 1.
        """
        ordered = sorted(self._newest)
        if not ordered:
            return None
        place = part * (len(ordered) + 1) - 1
        below = min(max(int(place), 0), len(ordered) - 1)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + min(max(place - below, 0.0), 1.0) * (ordered[above] - ordered[below])
