"""Values of slices: how a slice's value grows with each record, and how a window's value is made of its slices.

`CombinedSlices` has one value for each key and slice, for contents that can be combined. `ElementSlices` has all
records of a key and slice, each once, with a number that tells when the record came.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from operator import itemgetter
from typing import Any, Final, Protocol, final

from headgate.operators.windows.two_stacks import SlicesBetween, TwoStacks

Found = Sequence[tuple[int, Any]]
"""The slices that have a key, in order: their starts, and its values."""


class SliceValues(Protocol):
    """Makes the values of one window after the other, for all keys. Only `steps` change values of slices.

    A window's value equals the value that a window with state of its own would have. The caller may change it.
    """

    @property
    def states(self) -> tuple[str, ...]:
        """The further states that hold values of slices: with one, a value is a tuple with the contents first."""
        ...

    def steps(self) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
        """Return two functions: one makes a slice's value of the first record, one adds a record to the value."""
        ...

    def copied(self, value: Any) -> Any:
        """Return a copy of a slice's value, which the caller may change."""
        ...

    @property
    def arrivals(self) -> int:
        """The number of records so far, or more."""
        ...

    def resume(self, arrivals: int) -> None:
        """Number the next records from here on. Called before `steps`."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def move(self, start: int, end: int) -> None:
        """Set the start and the end of the current window."""
        ...

    def values(self) -> Iterator[tuple[Any, Any]]:
        """Return the keys of the current window with their values."""
        ...

    def together(self, slices: Iterable[Iterable[tuple[Any, Any]]]) -> Iterator[tuple[Any, Any]]:
        """Return the keys with their values in a window that has exactly these slices, which come in order."""
        ...

    def has_taken(self, at: int) -> bool:
        """Return whether this object keeps values of the slice that starts then."""
        ...

    def add_late(self, at: int, key: Any, record: Any) -> None:
        """Add a record to the slice that starts then, if this object keeps values of the slice."""
        ...

    def of_windows(self, found: Found, at: int, windows: Sequence[int], size: int) -> list[Any]:
        """Return the values of some windows of a key, of which `found` has all slices.

        `windows` are starts, in order; all have the slice `at`, which is in `found`.
        """
        ...

    def of_saved(self, value: Any) -> Any:
        """Return the value of a window, given the value that a snapshot has of the window."""
        ...

    def to_saved(self, value: Any) -> Any:
        """Return the value of a window for a snapshot: a tuple, if there are further states."""
        ...

    def joined(self, older: Any, newer: Any) -> Any:
        """Return the value of a window: `older` has its earlier records, `newer` the later ones."""
        ...


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
