"""Slices that hold all records: each record once, with a number that tells when it came."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from operator import itemgetter
from typing import Any, Final, final

from headgate.operators.windows.slice_values import Found, SlicesBetween

ARRIVALS: Final = "window-arrivals"
"""The state with the numbers of a slice's records."""

Numbered = tuple[list[Any], "array[int]"]
"""The records of a slice, in order of arrival, and their numbers."""


@final
class ElementSlices:
    """`SliceValues` of lists of records. Numbers grow over all slices of the subtask."""

    states: Final = (ARRIVALS,)

    def __init__(
        self,
        check: Callable[[Any], Any] | None,
        between: SlicesBetween,
        each_copied: Callable[[list[Any]], list[Any]],
    ) -> None:
        """`check` returns a record as one of the declared type, or raises. `each_copied` copies records of a slice."""
        self._check = check
        self._between = between
        self._each_copied = each_copied
        self._next = count()
        self._window = (0, 0)

    def steps(self) -> tuple[Callable[[Any], Numbered], Callable[[Any, Numbered], Numbered]]:
        number, check = self._next.__next__, self._check

        def first(record: Any) -> Numbered:
            return [record if check is None else check(record)], array("q", (number(),))

        def more(record: Any, value: Numbered) -> Numbered:
            value[0].append(record if check is None else check(record))
            value[1].append(number())
            return value

        return first, more

    def copied(self, value: Numbered) -> Numbered:
        return list(value[0]), value[1][:]

    @property
    def arrivals(self) -> int:
        return next(self._next)

    def resume(self, arrivals: int) -> None:
        self._next = count(arrivals)

    def clear(self) -> None:
        """Nothing is kept from one window to the next."""

    def move(self, start: int, end: int) -> None:
        self._window = start, end

    def values(self) -> Iterator[tuple[Any, list[Any]]]:
        return self.together(values.items() for _, values in self._between(*self._window))

    def together(self, slices: Iterable[Iterable[tuple[Any, Numbered]]]) -> Iterator[tuple[Any, list[Any]]]:
        found: dict[Any, list[Numbered]] = {}
        for items in slices:
            for key, value in items:
                found.setdefault(key, []).append(value)
        return ((key, self._each_copied(in_order(values))) for key, values in found.items())

    def has_taken(self, at: int) -> bool:
        return False

    def add_late(self, at: int, key: Any, record: Any) -> None:
        """Nothing was taken."""

    def of_windows(self, found: Found, at: int, windows: Sequence[int], size: int) -> list[Any]:
        slices = ([value for start, value in found if window <= start < window + size] for window in windows)
        return [self._each_copied(in_order(each)) for each in slices]

    def of_saved(self, value: Numbered) -> list[Any]:
        return self._each_copied(value[0])

    def to_saved(self, value: list[Any]) -> tuple[list[Any], None]:
        return value, None

    def joined(self, older: list[Any], newer: list[Any]) -> list[Any]:
        return older + newer


def in_order(slices: Sequence[Numbered]) -> list[Any]:
    """Return the records of slices in order of arrival.

    >>> in_order([(["a", "d"], array("q", [1, 4])), (["c"], array("q", [3]))])
    ['a', 'c', 'd']
    """
    records = [record for each, _ in slices for record in each]
    if all(one[1][-1] < other[1][0] for one, other in pairwise(slices)):
        return records
    numbers = [number for _, each in slices for number in each]
    return [record for _, record in sorted(zip(numbers, records, strict=True), key=itemgetter(0))]
