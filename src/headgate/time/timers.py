"""Timers: calls that a function has asked for, for a key, at a time.

What timers a key has is state of that key; so they are saved, restored and moved to other subtasks with it. A timer is
known by key, namespace and time: asking twice for the same one is asking once. Event-time timers are due when the
watermark comes to their time, processing-time timers when the wall clock does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol, final

from headgate.state.backend import KeyedBackend
from headgate.state.cells import EPOCH, KEY, Cell

EVENT_TIMERS: Final = "_timers/event"
PROCESSING_TIMERS: Final = "_timers/processing"


class CurrentCell(Protocol):
    """Has the cell that timers are asked for: a backend, or a view of one of its namespaces."""

    cell: Cell


@final
class Timers:
    """The timers of one clock."""

    __slots__ = ("_backend", "_column", "_index", "_owner")

    def __init__(self, backend: KeyedBackend, name: str, owner: CurrentCell | None = None) -> None:
        self._backend = backend
        self._owner: CurrentCell = backend if owner is None else owner
        self._column, self._index = backend.timers(name)

    @property
    def head_ms(self) -> int:
        """The time of the next timer, or somewhat earlier; `NEVER` when there is none."""
        return self._index.head_ms

    def register(self, timestamp_ms: int) -> None:
        """Ask for a timer for the current key. Raises `StateAccessError` where there is none."""
        cell = self._owner.cell
        timers = cell[self._column]
        if timers is None:
            cell[self._column] = {timestamp_ms: None}
        elif timestamp_ms in timers:
            return
        else:
            timers[timestamp_ms] = None
        self._index.add(timestamp_ms, cell[KEY])

    def delete(self, timestamp_ms: int) -> None:
        """Take back a timer of the current key; one that was never asked for is no error."""
        cell = self._owner.cell
        if self._take(cell, timestamp_ms):
            self._index.remove(timestamp_ms, cell[KEY])

    def _take(self, cell: Cell, timestamp_ms: int) -> bool:
        timers = cell[self._column]
        if timers is None or timestamp_ms not in timers:
            return False
        del timers[timestamp_ms]
        if not timers:
            cell[self._column] = None
            self._backend.emptied.append(cell)
        return True

    def due(self, until_ms: int, limit: int) -> Iterator[int]:
        """Yield the times of timers due at `until_ms` or before, about `limit`, each with its key as the current one.

        What is registered meanwhile, and is due, has its turn as well.
        """
        backend, index = self._backend, self._index
        cells = backend.cells
        while index.head_ms <= until_ms and limit > 0:
            timestamp_ms, keys = index.pop(limit)
            limit -= max(1, len(keys))
            for key in keys:
                cell = cells.get(key)
                if cell is None or cell[EPOCH] != backend.epoch:
                    cell = backend.enter(key, cell)
                if self._take(cell, timestamp_ms):
                    backend.cell = cell
                    yield timestamp_ms
