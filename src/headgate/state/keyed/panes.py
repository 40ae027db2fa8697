"""Panes: the state of windows whose times all keys share, a dictionary for each window instead of a cell for each key.

A *pane* holds the values of all keys that a window has. Between two barriers values are read and written in one open
dictionary. A barrier seals it: from then on nothing changes it, so that a snapshot takes it at leisure, and it is the
increment as well. The first access to a key after that copies its value to the open dictionary; where several
dictionaries have a key, the newest counts.

Snapshots know nothing of panes. They hold an entry for each key and window, with its value and its timers, as cells
would be saved, and what was saved from cells becomes panes again: the layout may change from one start to the next.

A backend that has a database may write values there, and let go of them: then the oldest of the dictionaries is a
`StoredValues`, which reads what it has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, final

from headgate.state.keyed.cells import CHUNK_CELLS, KEY, NAMESPACED, Cell, namespace_of
from headgate.state.keyed.stored_values import StoredValues

Namespace = tuple[Any, ...]
"""The start and the end of a window, or what stands for a slice."""

PaneTimers = Callable[[Any], "dict[int, None] | None"]

ToWindows = Callable[["list[SealedPane]"], "Iterable[SealedPane]"]

_LEVELS_MAX: Final = 4
"""With more sealed dictionaries than so many, those that are in the base are made one."""


@final
class Pane:
    """The values of a window, by key.

    `timers` are those of an entry before the window is evaluated, that of its end first; `over` those that are left
    after that: None, if it is over then. A slice has none: its windows do not belong to it alone.
    """

    __slots__ = ("evaluated", "is_evaluated", "open", "over", "sealed", "stored", "timers")

    def __init__(self, timers: dict[int, None] | None, over: dict[int, None] | None) -> None:
        self.open: dict[Any, Any] = {}
        self.sealed: list[tuple[int, dict[Any, Any]]] = []
        """With the generation at whose end each was sealed, the newest first."""
        self.stored: StoredValues | None = None
        """The last of those, where a database has values, too."""
        self.timers = timers
        self.over = over
        self.is_evaluated = False
        self.evaluated: set[Any] = set()
        """Keys whose window had been evaluated before a restore, while those of others had not."""

    def sealed_value(self, key: Any) -> Any:
        """Return the value of a key as of the last barrier, which is not to be changed; None if there was none."""
        self.evaluated.discard(key)
        for _, values in self.sealed:
            if key in values:
                return values[key]
        return None

    def value_of(self, key: Any) -> Any:
        """Return the value of a key, which is not to be changed; None if there is none."""
        for values in (self.open, *(values for _, values in self.sealed)):
            if key in values:
                return values[key]
        return None

    def values(self) -> dict[Any, Any]:
        """Return all values that are in memory; they are not to be changed."""
        return newest([self.open, *(values for _, values in self.sealed)]) if self.sealed else self.open

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return all keys with their values, which are not to be changed; those in a database are read in pieces."""
        at_hand, stored = self.values(), self.stored
        if stored is None or stored.is_whole:
            return at_hand.items()
        rest = ((key, value) for key, value, _ in stored.rest(None) if key not in at_hand)
        return chain(_there(at_hand), rest)

    def due(self) -> Iterable[tuple[Any, Any]]:
        """Return what `items` does of the keys whose window has yet to be evaluated."""
        at_hand, stored, evaluated = self.values(), self.stored, self.evaluated
        items: Iterable[tuple[Any, Any]] = at_hand.items()
        if evaluated:
            items = [item for item in items if item[0] not in evaluated]
        if stored is None or stored.is_whole:
            return items
        rest = (
            (key, value)
            for key, value, timers in stored.rest(None)
            if key not in at_hand and not self.was_evaluated(timers)
        )
        return chain(_there(dict(items)), rest)

    def was_evaluated(self, timers: dict[int, None] | None) -> bool:
        """Return whether these timers are of a key whose window has been evaluated."""
        return self.timers is not None and next(iter(self.timers)) not in (timers or ())

    def now_evaluated(self, generation: int) -> None:
        """The window has been evaluated, which the next snapshot has to tell of all keys."""
        self.sealed = [(generation, self.values())]
        if self.stored is not None:
            self.sealed = [(generation, dict(_there(self.sealed[0][1]))), (0, self.stored)]
            self.stored.outdate()
        self.open = {}
        self.is_evaluated = True
        self.evaluated.clear()

    def timers_of(self) -> PaneTimers:
        """Return what tells the timers of a key, as they are now."""
        timers, over, evaluated = self.timers, self.over, frozenset(self.evaluated)
        if self.is_evaluated:
            return lambda key: over
        return (lambda key: over if key in evaluated else timers) if evaluated else lambda key: timers

    def merge_until(self, generation: int) -> None:
        """Make one of the dictionaries that were sealed until then, if there are many."""
        old = [level for level in self.sealed if level[0] <= generation]
        if len(old) > _LEVELS_MAX:
            merged = newest([values for _, values in old])
            self.sealed = [*(level for level in self.sealed if level[0] > generation), (old[0][0], merged)]


def _there(at_hand: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Return the items without those of keys of which it is known only that the database has none."""
    return (item for item in at_hand.items() if item[1] is not None)


def newest(levels: list[dict[Any, Any]]) -> dict[Any, Any]:
    """Return the values of dictionaries, of which the first that has a key counts."""
    found: dict[Any, Any] = {}
    for values in reversed(levels):
        found.update(values)
    return found


@final
@dataclass(frozen=True, slots=True)
class SealedPane:
    """What a pane holds at a barrier, which nothing changes. `levels` has the newest dictionary first."""

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
    """Some entries for a snapshot: the keys of cells, and what they have in some columns; None: they are gone."""

    keys: list[Any]
    columns: dict[int, list[Any]] | None


class Panes:
    """The panes of one operator. In entries, values lie in `columns`, and timers in `timers`.

    With several columns a value is a tuple with the content of each.
    """

    is_spilled = False
    """Whether some values are in a database only."""

    def __init__(self, columns: tuple[int, ...], timers: int) -> None:
        self.columns = columns
        self.timers = timers
        self.by_window: dict[Namespace, Pane] = {}
        self.notes_drops = False
        """Whether a snapshot to come may have to tell what is gone."""
        self.to_windows: Callable[[], ToWindows] = lambda: lambda panes: panes
        """Returns, as of now, what makes of panes those that there would be if each window were kept by itself."""
        self._dropped: dict[int, list[tuple[Namespace, list[dict[Any, Any]]]]] = {}
        """What is gone since a snapshot had it, by the generation in which it went."""

    def adopt(self, cells: Iterable[Cell], make: Callable[[Namespace], Pane]) -> list[Cell]:
        """Take over what cells hold of the state, and their timers; return the cells that held some.

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
        """Note that a batch comes which may add so many entries."""

    def load(self, keys: Iterable[Any], namespaces: Iterable[Namespace]) -> None:
        """Read the values of these keys of a batch, each in a pane, where they are in a database only."""

    def parts(self) -> Iterator[Callable[[Pane], Iterable[tuple[Any, Any]]]]:
        """Return what `Pane.items` returns in parts, each of which fits into memory for all panes, by key group."""
        yield Pane.items

    def seal(self, generation: int) -> None:
        """A barrier ends the generation."""
        for pane in self.by_window.values():
            if pane.open:
                pane.sealed.insert(0, (generation, pane.open))
                pane.open = {}

    def drop(self, namespace: Namespace, generation: int) -> None:
        """A window is over."""
        pane = self.by_window.pop(namespace)
        if self.notes_drops and pane.sealed:
            self._dropped.setdefault(generation, []).append((namespace, [values for _, values in pane.sealed]))

    def drop_all(self) -> None:
        """All windows are over, where no snapshot is ever taken."""
        self.by_window.clear()
        self._dropped.clear()

    def base_moved(self, since: int) -> None:
        """Let go of what no snapshot to come needs; the next one builds on the end of the generation `since`."""
        self._dropped = {generation: gone for generation, gone in self._dropped.items() if generation > since}
        for pane in self.by_window.values():
            pane.merge_until(since)

    def __len__(self) -> int:
        """Number of entries; of those that several dictionaries have, each counts."""
        return self.changed(-1)

    def changed(self, since: int) -> int:
        """Return how many entries have changed since the end of a generation."""
        return sum(
            len(pane.open) + sum(len(values) for generation, values in pane.sealed if generation > since)
            for pane in self.by_window.values()
        )

    def pieces(self, since: int) -> Iterator[PanePiece]:
        """Return, for a snapshot that is taken just after `seal`, what has changed since the end of a generation.

        With -1 that is everything. It may be iterated later, in pieces: nothing that happens meanwhile changes it.
        """
        gone = [each for generation, some in self._dropped.items() if generation > since for each in some]
        return chain(self._removals(gone if since >= 0 else []), self.pieces_of(self.sealed(since)))

    def sealed(self, since: int) -> list[SealedPane]:
        """Return what the panes hold just after `seal` of values that have changed since the end of a generation."""
        return [
            SealedPane(
                namespace, pane.timers_of(), [values for generation, values in pane.sealed if generation > since]
            )
            for namespace, pane in self.by_window.items()
        ]

    def _removals(self, gone: list[tuple[Namespace, list[dict[Any, Any]]]]) -> Iterator[PanePiece]:
        for namespace, levels in gone:
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
