"""What sliding windows need of slices: values of slices in, values of windows out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

SlicesBetween = Callable[[int, int], Iterator[tuple[int, dict[Any, Any]]]]
"""Returns the slices that start from a time on and before another, in order: their starts, and their values by key."""

Found = Sequence[tuple[int, Any]]
"""The slices that have a key, in order: their starts, and its values."""


class SliceValues(Protocol):
    """Makes values of one window after the other, for all keys. It changes no value of a slice but by its `steps`.

    The values of windows are those that a window would have that is kept by itself, and the caller's to change.
    """

    @property
    def states(self) -> tuple[str, ...]:
        """Further states in which values of slices lie: then a value is a tuple, of the contents first."""
        ...

    def steps(self) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
        """Return what makes of the first record a slice's value, and what makes of a record and that the next."""
        ...

    def copied(self, value: Any) -> Any:
        """Return a slice's value that may be changed."""
        ...

    @property
    def arrivals(self) -> int:
        """How many records have come, at the most."""
        ...

    def resume(self, arrivals: int) -> None:
        """Go on behind so many records; before `steps`."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def move(self, start: int, end: int) -> None:
        """Make these the start and the end of the window."""
        ...

    def values(self) -> Iterator[tuple[Any, Any]]:
        """Return each key that the window has with its value."""
        ...

    def together(self, slices: Iterable[Iterable[tuple[Any, Any]]]) -> Iterator[tuple[Any, Any]]:
        """Return each key with its value in a window that has these slices, and no others; they come in order."""
        ...

    def has_taken(self, at: int) -> bool:
        """Return whether something is kept of the values of the slice that starts then."""
        ...

    def add_late(self, at: int, key: Any, record: Any) -> None:
        """A record has come to a slice that may have been taken."""
        ...

    def of_windows(self, found: Found, at: int, windows: Sequence[int], size: int) -> list[Any]:
        """Return the values of some windows of a key, of which `found` has all slices.

        `windows` are starts, in order; all have the slice `at`, which is in `found`.
        """
        ...

    def of_saved(self, value: Any) -> Any:
        """Return the value of a window that was restored as such."""
        ...

    def to_saved(self, value: Any) -> Any:
        """Return the value of a window as it is saved: a tuple, if there are further states."""
        ...

    def joined(self, older: Any, newer: Any) -> Any:
        """Return the value of a window whose value was `older` before the records that make `newer`."""
        ...
