"""Timers: calls that a function has registered for a key and a time.

The timers of a key are part of the key's state: they are saved, restored and moved to other subtasks with it. A key has
at most one timer for each time domain, namespace and time; registering it again changes nothing. Event-time timers are
due when the watermark reaches their time, processing-time timers when the wall clock does.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sized
from typing import Final, cast, final

from headgate.errors import StateAccessError
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import GENERATION, KEY, Current
from headgate.state.keyed.timer_index import HeapTimerIndex

EVENT_TIMERS: Final = "_timers/event"
PROCESSING_TIMERS: Final = "_timers/processing"

_TIME_MAX: Final = 2**63
_KEYS_AT_ONCE: Final = 128
"""Number of timers of one time that fire before the loop checks how many records they have emitted."""


@final
class Timers:
    """The timers of one time domain."""

    __slots__ = ("_backend", "_column", "_current", "_index", "is_closed")

    def __init__(self, backend: KeyedBackend, name: str, current: Current | None = None) -> None:
        self._backend = backend
        self._current = backend.current if current is None else current
        self._column, self._index = backend.timers(name)
        self.is_closed = False
        """While it is True, timers that are registered never fire, so that timers that register the next one end."""

    @property
    def head_ms(self) -> int:
        """The time of the next timer, or an earlier time; `NEVER` without timers."""
        return self._index.head_ms

    def count_times(self) -> int:
        """Return the number of different times of the timers. Only for timers that are all in memory."""
        return len(cast("HeapTimerIndex", self._index))

    def earliest(self) -> int | None:
        """Return the time of the current key's earliest timer; None if the key has no timer."""
        timers = self._current.cell[self._column]
        return None if timers is None else min(timers)

    def register(self, timestamp: int) -> None:
        """Register a timer of the current key, at a time in milliseconds.

        Raises StateAccessError without a current key, or for a time that is not a whole number of 64 bits.
        """
        if type(timestamp) is not int or not -_TIME_MAX <= timestamp < _TIME_MAX:
            timestamp = whole_time(timestamp)
        cell = self._current.cell
        timers = cell[self._column]
        if timers is None:
            cell[self._column] = {timestamp: None}
        elif timestamp in timers:
            return
        else:
            timers[timestamp] = None
        if not self.is_closed:
            self._index.add(timestamp, cell[KEY])

    def delete(self, timestamp: int) -> None:
        """Delete a timer of the current key. Do nothing if the timer does not exist."""
        cell = self._current.cell
        timers = cell[self._column]
        if timers is None or timestamp not in timers:
            return
        del timers[timestamp]
        if not timers:
            cell[self._column] = None
            self._backend.emptied.append(cell)
        self._index.remove(int(timestamp), cell[KEY])

    def due(self, until_ms: int, limit: int, out: Sized = ()) -> Iterator[int]:
        """Yield the time of each timer that is due at `until_ms`, with the timer's key as the current key.

        Stop after about `limit` timers, or when `out` has `limit` records. Due timers that are registered meanwhile are
        included.
        """
        backend, index, column = self._backend, self._index, self._column
        cell_of, generation, emptied = backend.cells.get, backend.generation, backend.emptied
        current, left = backend.current, limit
        while index.head_ms <= until_ms and left > 0 and len(out) < limit:
            timestamp_ms, keys = index.pop(min(left, _KEYS_AT_ONCE))
            left -= len(keys) or 1
            for key in keys:
                cell = cell_of(key)
                if cell is None or cell[GENERATION] != generation:
                    cell = backend.enter(key, cell)
                timers = cell[column]
                if timers is None or timestamp_ms not in timers:
                    continue
                del timers[timestamp_ms]
                if not timers:
                    cell[column] = None
                    emptied.append(cell)
                current.cell = cell
                yield timestamp_ms


def timers_of(backend: KeyedBackend, name: str, current: Current | None = None) -> Timers:
    """Return the timers of a backend that are called `name`. The object is compiled if the job runs compiled.

    `current` has the cell of a key and namespace that registered timers belong to. None: timers are in the key's cell.
    """
    if backend.native is None:
        return Timers(backend, name, current)
    made: Timers = backend.native.Timers(backend, name, current, whole_time)
    return made


def whole_time(timestamp: object) -> int:
    """Return the time as an int. Raises StateAccessError if it is not a whole number of 64 bits."""
    try:
        whole = int(operator.index(timestamp))  # type: ignore[arg-type]
    except TypeError:
        raise StateAccessError(
            f"the time of a timer must be a whole number of milliseconds, not {timestamp!r}: round it with int(...)"
        ) from None
    if not -_TIME_MAX <= whole < _TIME_MAX:
        raise StateAccessError(f"the time of a timer is {whole} ms, but must be from -2**63 to 2**63-1 ms")
    return whole
