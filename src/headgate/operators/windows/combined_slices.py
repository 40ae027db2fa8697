"""Slices whose records are combined: two stacks make values of windows out of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, final

from headgate.operators.windows.slice_values import Found, SlicesBetween
from headgate.operators.windows.two_stacks import TwoStacks

Combine = Callable[[Any, Any], Any]


@final
class CombinedSlices:
    """`SliceValues` of values that may be combined."""

    states: Final = ()

    def __init__(
        self,
        steps: tuple[Callable[[Any], Any], Combine],
        combine: Combine,
        own: Callable[[Any], Any],
        between: SlicesBetween,
    ) -> None:
        self._steps = steps
        self._combine = combine
        self._stacks = TwoStacks(between, combine, own)
        self.copied = own
        self.clear, self.move, self.values = self._stacks.clear, self._stacks.move, self._stacks.values

    def steps(self) -> tuple[Callable[[Any], Any], Combine]:
        return self._steps

    arrivals: Final = 0

    def resume(self, arrivals: int) -> None:
        """Values have no order."""

    def together(self, slices: Iterable[Iterable[tuple[Any, Any]]]) -> Iterator[tuple[Any, Any]]:
        combine, own = self._combine, self.copied
        values: dict[Any, Any] = {}
        for items in slices:
            for key, value in items:
                so_far = values.get(key)
                values[key] = own(value) if so_far is None else combine(so_far, value)
        return iter(values.items())

    def has_taken(self, at: int) -> bool:
        return at < self._stacks.end

    def add_late(self, at: int, key: Any, record: Any) -> None:
        if self.has_taken(at):
            self._stacks.add(at, key, self._steps[0](record))

    def of_windows(self, found: Found, at: int, windows: Sequence[int], size: int) -> list[Any]:
        combine = self._combine
        older = _running(((start, value) for start, value in reversed(found) if start <= at), combine)
        later = ((start, value) for start, value in found if start > at)
        newer = _running(later, lambda value, so_far: combine(so_far, value))
        values, count = [], 0
        for window in windows:
            while older[-1][0] < window:
                older.pop()
            while count < len(newer) and newer[count][0] < window + size:
                count += 1
            value = older[-1][1]
            values.append(combine(value, newer[count - 1][1]) if count else self.copied(value))
        return values

    def of_saved(self, value: Any) -> Any:
        return self.copied(value)

    def to_saved(self, value: Any) -> Any:
        return value

    def joined(self, older: Any, newer: Any) -> Any:
        return self._combine(older, newer)


def _running(values: Iterator[tuple[int, Any]], combine: Combine) -> list[tuple[int, Any]]:
    """Return what values come to, until each slice."""
    found: list[tuple[int, Any]] = []
    for start, value in values:
        found.append((start, combine(value, found[-1][1]) if found else value))
    return found
