"""The loop that adds the records of a batch to panes of windows: the hot path of windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias, final

from headgate.operators.windows.contents import First, More
from headgate.state.keyed.panes import Pane

Stretch: TypeAlias = tuple[int, int, Pane | None, bool]
"""The start and the end of the times that share a pane, in milliseconds; the pane, None if its windows are over; and
whether windows of the pane have been evaluated, so that its records are late."""


@final
@dataclass(frozen=True, slots=True)
class PaneSteps:
    """The functions that `add_to_panes` calls. They stay the same for as long as an operator runs."""

    first: First
    """Makes a value of the first record of a key."""
    more: More
    """Adds a record to the value so far."""
    turn: Callable[[int], Stretch]
    """Returns the stretch that a time is in."""
    sought: Callable[[Pane, Any], Any]
    """Returns the value of a key that `Pane.open` lacks or has as None; None for none."""
    too_late: Callable[[Any, int], None]
    """Called with a record, and its time, whose windows are over."""
    again: Callable[[int, int, Any, Any], None]
    """Called with the start and the end of the stretch, the key and the record, after a late record was added."""


AddToPanes: TypeAlias = Callable[[list[Any], Iterable[int], Iterator[Any], PaneSteps], None]


def add_to_panes(keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], steps: PaneSteps) -> None:
    """Add records, with a key and a timestamp each, to panes."""
    first, more, again = steps.first, steps.more, steps.again
    start = end = 0
    pane: Pane | None = None
    values: dict[Any, Any] = {}
    is_late = False
    for key, time, value in zip(keys, timestamps, records):  # noqa: B905  # lengths agree
        if time >= end or time < start:
            start, end, pane, is_late = steps.turn(time)
            values = {} if pane is None else pane.open
        if pane is None:
            steps.too_late(value, time)
            continue
        so_far = values.get(key)
        if so_far is None and (pane.sealed or key in values):
            so_far = steps.sought(pane, key)
        values[key] = first(value) if so_far is None else more(value, so_far)
        if is_late:
            again(start, end, key, value)


def pane_loop(native: ModuleType | None) -> AddToPanes:
    """Return `add_to_panes`. The function is compiled if the job runs compiled."""
    made: AddToPanes = add_to_panes if native is None else native.add_to_panes
    return made
