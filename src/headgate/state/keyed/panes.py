"""Panes: the state of windows whose times all keys share, a dictionary for each window instead of a cell for each key.

A *pane* holds the values of all keys of a window. Between two barriers, the operator reads and writes values in one
open dictionary. A barrier seals the dictionary: nothing changes it any more, so that a snapshot can take it piece by
piece, and an increment consists of it. The first access to a key after the barrier copies the key's value to the new
open dictionary. Where several dictionaries have a key, the newest counts.

Snapshots know nothing of panes. They hold an entry for each key and window, with its value and its timers, as cells are
saved. A restore makes panes of entries that cells wrote, and the other way round: the layout may change from one start
to the next.

A backend with a database may write values there and evict them from memory. Then the oldest dictionary is a
`StoredValues`, which reads a missing value from the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, final

from headgate.state.keyed.cells import CHUNK_CELLS, KEY, NAMESPACED, Cell, namespace_of
from headgate.state.keyed.stored_values import StoredValues

Namespace = tuple[Any, ...]
"""The start and the end of a window; for a slice, a mark before both."""

PaneTimers = Callable[[Any], "dict[int, None] | None"]

ToWindows = Callable[["list[SealedPane]"], "Iterable[SealedPane]"]

_LEVELS_MAX: Final = 4
"""With more sealed dictionaries than this, a pane merges the dictionaries that the increment base already has."""


@final
class Pane:
    """The values of a window, by key.

    `timers` are the timers of an entry before the window is evaluated, the timer of the window's end first. `over` are
    the timers after the evaluation; None if the window closes then. A slice has no timers, because several windows
    share it.
    """

    __slots__ = ("evaluated", "is_evaluated", "open", "over", "sealed", "stored", "timers")

    def __init__(self, timers: dict[int, None] | None, over: dict[int, None] | None) -> None:
        self.open: dict[Any, Any] = {}
        self.sealed: list[tuple[int, dict[Any, Any]]] = []
        """The sealed dictionaries, the newest first, with the generation at whose end each was sealed."""
        self.stored: StoredValues | None = None
        """The oldest sealed dictionary, if a database also holds values of the pane."""
        self.timers = timers
        self.over = over
        self.is_evaluated = False
        self.evaluated: set[Any] = set()
        """Keys whose window had been evaluated before a restore, while the window of other keys had not."""

    def sealed_value(self, key: Any) -> Any:
        """Return the value of a key as of the last barrier, None if it had none. Do not change the value."""
        self.evaluated.discard(key)
        for _, values in self.sealed:
            if key in values:
                return values[key]
        return None

    def value_of(self, key: Any) -> Any:
        """Return the value of a key, None if it has none. Do not change the value."""
        for values in (self.open, *(values for _, values in self.sealed)):
            if key in values:
                return values[key]
        return None

    def values(self) -> dict[Any, Any]:
        """Return all values in memory. Do not change them."""
        return newest([self.open, *(values for _, values in self.sealed)]) if self.sealed else self.open

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return all keys with their values. Do not change the values. Values in a database are read in pieces."""
        in_memory, stored = self.values(), self.stored
        if stored is None or stored.is_whole:
            return in_memory.items()
        rest = ((key, value) for key, value, _ in stored.scan(None) if key not in in_memory)
        return chain(_there(in_memory), rest)

    def due(self) -> Iterable[tuple[Any, Any]]:
        """Return the items of the keys whose window has not been evaluated yet."""
        in_memory, stored, evaluated = self.values(), self.stored, self.evaluated
        items: Iterable[tuple[Any, Any]] = in_memory.items()
        if evaluated:
            items = [item for item in items if item[0] not in evaluated]
        if stored is None or stored.is_whole:
            return items
        rest = (
            (key, value)
            for key, value, timers in stored.scan(None)
            if key not in in_memory and not self.was_evaluated(timers)
        )
        return chain(_there(dict(items)), rest)

    def was_evaluated(self, timers: dict[int, None] | None) -> bool:
        """Return whether these timers belong to a key whose window has been evaluated."""
        return self.timers is not None and next(iter(self.timers)) not in (timers or ())

    def now_evaluated(self, generation: int) -> None:
        """Note that the window has been evaluated for all keys, so the next snapshot must save all of them."""
        self.sealed = [(generation, self.values())]
        if self.stored is not None:
            self.sealed = [(generation, dict(_there(self.sealed[0][1]))), (0, self.stored)]
            self.stored.mark_outdated()
        self.open = {}
        self.is_evaluated = True
        self.evaluated.clear()

    def timers_of(self) -> PaneTimers:
        """Return a function that returns the timers of a key, as of now."""
        timers, over, evaluated = self.timers, self.over, frozenset(self.evaluated)
        if self.is_evaluated:
            return lambda key: over
        return (lambda key: over if key in evaluated else timers) if evaluated else lambda key: timers

    def merge_until(self, generation: int) -> None:
        """Merge the dictionaries that were sealed until this generation, if there are many."""
        old = [level for level in self.sealed if level[0] <= generation]
        if len(old) > _LEVELS_MAX:
            merged = newest([values for _, values in old])
            self.sealed = [*(level for level in self.sealed if level[0] > generation), (old[0][0], merged)]


def _there(in_memory: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Return the items without the keys that are noted only because the database lacks them."""
    return (item for item in in_memory.items() if item[1] is not None)


def newest(levels: list[dict[Any, Any]]) -> dict[Any, Any]:
    """Merge dictionaries; for each key, the first dictionary that has it counts."""
    found: dict[Any, Any] = {}
    for values in reversed(levels):
        found.update(values)
    return found


@final
@dataclass(frozen=True, slots=True)
class SealedPane:
    """The content of a pane at a barrier, which nothing changes. `levels` has the newest dictionary first."""

    namespace: Namespace
    timers_of: PaneTimers
    levels: list[dict[Any, Any]]

    def with_over(self, keys: frozenset[Any], over: dict[int, None] | None) -> SealedPane:
        """Return the pane with the timers `over` of these keys; None: without them."""
        if over is not None:
            timers_of = self.timers_of
            return replace(self, timers_of=lambda key: over if key in keys else timers_of(key))
        left = {key: value for key, value in newest(self.levels).items() if key not in keys}
        return replace(self, levels=[left])


@final
@dataclass(frozen=True, slots=True)
class PanePiece:
    """Some entries for a snapshot: the keys of cells with their values by column. None: the entries are removed."""

    keys: list[Any]
    columns: dict[int, list[Any]] | None


class Panes:
    """The panes of one operator. `columns` are the columns of the values in entries.

    `timers` is the column of the timers. With several columns a value is a tuple with the content of each.
    """

    is_spilled = False
    """Whether some values are in a database only."""

    def __init__(self, columns: tuple[int, ...], timers: int) -> None:
        self.columns = columns
        self.timers = timers
        self.by_window: dict[Namespace, Pane] = {}
        self.notes_drops = False
        """Whether later snapshots may have to list removed entries."""
        self.to_windows: Callable[[], ToWindows] = lambda: lambda panes: panes
        """Returns a function for canonical savepoints that converts panes to one pane for each window, as of now."""
        self._dropped: dict[int, list[tuple[Namespace, list[dict[Any, Any]]]]] = {}
        """The removed windows that some snapshot still holds, by the generation in which they were removed."""

    def adopt(self, cells: Iterable[Cell], make: Callable[[Namespace], Pane]) -> list[Cell]:
        """Move the values of the state, and their timers, from cells to panes. Return the cells that had values.

        A window whose end is not among its timers had been evaluated.
        """
        adopted = []
        for cell in cells:
            contents, namespace = [cell[column] for column in self.columns], namespace_of(cell[KEY])
            if contents[0] is None or namespace is None:
                continue
            key, value = cell[KEY][1], contents[0] if len(contents) == 1 else tuple(contents)
            pane = self.by_window.get(namespace)
            if pane is None:
                pane = self.by_window[namespace] = make(namespace)
                pane.sealed.append((0, {}))
            pane.sealed[0][1][key] = value
            if pane.was_evaluated(cell[self.timers]):
                pane.evaluated.add(key)
            for column in (*self.columns, self.timers):
                cell[column] = None
            adopted.append(cell)
        return adopted

    def count(self, entries: int) -> None:
        """Note that the next batch may add this many entries."""

    def load(self, keys: Iterable[Any], namespaces: Iterable[Namespace]) -> None:
        """Read the values of a batch's keys, each with its window, that are only in a database."""

    def parts(self) -> Iterator[Callable[[Pane], Iterable[tuple[Any, Any]]]]:
        """Yield functions that each return a part of a pane's items. A part of all panes fits into memory."""
        yield Pane.items

    def seal(self, generation: int) -> None:
        """Seal the open dictionaries: a barrier ends the generation."""
        for pane in self.by_window.values():
            if pane.open:
                pane.sealed.insert(0, (generation, pane.open))
                pane.open = {}

    def drop(self, namespace: Namespace, generation: int) -> None:
        """Remove the pane of a closed window."""
        pane = self.by_window.pop(namespace)
        if self.notes_drops and pane.sealed:
            self._dropped.setdefault(generation, []).append((namespace, [values for _, values in pane.sealed]))

    def drop_all(self) -> None:
        """Remove all panes, in a job that takes no snapshots."""
        self.by_window.clear()
        self._dropped.clear()

    def base_moved(self, since: int) -> None:
        """Drop everything that later snapshots do not need. They build on generation `since` or a later one."""
        self._dropped = {generation: removed for generation, removed in self._dropped.items() if generation > since}
        for pane in self.by_window.values():
            pane.merge_until(since)

    def __len__(self) -> int:
        """Number of entries; an entry in several dictionaries counts several times."""
        return self.changed(-1)

    def changed(self, since: int) -> int:
        """Return how many entries have changed since the end of a generation."""
        return sum(
            len(pane.open) + sum(len(values) for generation, values in pane.sealed if generation > since)
            for pane in self.by_window.values()
        )

    def pieces(self, since: int) -> Iterator[PanePiece]:
        """Return the entries that have changed since the end of a generation, for a snapshot just after `seal`.

        With -1, return all entries. The caller may iterate later, in pieces: later changes do not affect the result.
        """
        removed = [each for generation, some in self._dropped.items() if generation > since for each in some]
        return chain(self._removals(removed if since >= 0 else []), self.pieces_of(self.sealed(since)))

    def sealed(self, since: int) -> list[SealedPane]:
        """Return the panes just after `seal`, with the values that have changed since the end of a generation."""
        return [
            SealedPane(
                namespace, pane.timers_of(), [values for generation, values in pane.sealed if generation > since]
            )
            for namespace, pane in self.by_window.items()
        ]

    def _removals(self, removed: list[tuple[Namespace, list[dict[Any, Any]]]]) -> Iterator[PanePiece]:
        for namespace, levels in removed:
            for keys in _chunks(iter({key: None for values in levels for key in values})):
                yield PanePiece([(NAMESPACED, key, namespace) for key in keys], None)

    def pieces_of(self, panes: Iterable[SealedPane]) -> Iterator[PanePiece]:
        """Return the entries of these panes."""
        for pane in panes:
            for number, values in enumerate(pane.levels):
                newer = pane.levels[:number]
                for items in _chunks(iter(values.items())):
                    kept = [item for item in items if not any(item[0] in each for each in newer)] if newer else items
                    if kept:
                        yield self._piece(pane, kept)

    def _piece(self, pane: SealedPane, items: list[tuple[Any, Any]]) -> PanePiece:
        keys, values = [(NAMESPACED, key, pane.namespace) for key, _ in items], [value for _, value in items]
        contents = [values] if len(self.columns) == 1 else list(map(list, zip(*values, strict=True)))
        timers = [pane.timers_of(key) for key, _ in items]
        return PanePiece(keys, dict(zip((*self.columns, self.timers), (*contents, timers), strict=True)))


def _chunks(items: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(items, CHUNK_CELLS)):
        yield chunk
