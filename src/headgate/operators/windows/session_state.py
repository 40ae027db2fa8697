"""The state of session windows: what the cell of a key holds of its sessions, and when the sessions are due. Pure.

A session is a tuple: its start, its end, the value of its records, and whether it was evaluated since the last record.
Most keys have one session, which is *open*: it is the newest, and was not evaluated. Three columns of the key's cell
hold the parts of the open session, so that a record which extends it makes no tuple. A fourth column has a list of the
other sessions, in order.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from types import ModuleType
from typing import Any, Final, final

from headgate.elements import MAX_TIMESTAMP
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.keyed.timer_index import NEVER
from headgate.types.typeinfo import TypeInformation, Types

Session = tuple[int, int, Any, bool]
"""Start, end, value, and whether it was evaluated."""

Columns = tuple[int | None, int | None, Any, list[Session] | None]
"""The columns of a key's cell: start, end and value of the open session, and the other sessions. None: no session."""

END_MAX: Final = MAX_TIMESTAMP + 1
"""The latest end of a session: the end of the input evaluates every session."""

END: Final = "window-session-end"
OTHERS: Final = "window-sessions"


def session_states(of_value: TypeInformation) -> list[ValueStateDescriptor]:
    """Return the descriptors of the states of a key, in the order of `Columns`, where values are of this type."""
    session = Types.TUPLE([Types.LONG(), Types.LONG(), of_value, Types.BOOLEAN()])
    return [
        ValueStateDescriptor("window-session-start", Types.LONG()),
        ValueStateDescriptor(END, Types.LONG()),
        ValueStateDescriptor("window-session", of_value),
        ValueStateDescriptor(OTHERS, Types.LIST(session)),
    ]


def rows_of(columns: Columns) -> list[Session]:
    """Return all sessions of a key, in order.

    >>> rows_of((30, 40, 2, [(0, 10, 5, True)])), rows_of((None, None, None, None))
    ([(0, 10, 5, True), (30, 40, 2, False)], [])
    """
    start, end, value, others = columns
    return [*(others or ()), *(() if start is None or end is None else ((start, end, value, False),))]


def columns_of(rows: list[Session]) -> Columns:
    """Return the columns of a key's cell for these sessions, which are in order.

    >>> columns_of([(30, 40, 2, False)]), columns_of([(0, 10, 5, True)])
    ((30, 40, 2, None), (None, None, None, [(0, 10, 5, True)]))
    """
    if not rows or rows[-1][3]:
        return None, None, None, rows or None
    start, end, value, _ = rows[-1]
    return start, end, value, rows[:-1] or None


def met(sessions: list[Session], start: int, end: int) -> slice:
    """Return the range of a key's sessions that a new session overlaps or touches. If empty, its start is the place.

    >>> met([(0, 10, 5, False), (20, 30, 2, False)], 10, 19), met([(0, 10, 5, False), (20, 30, 2, False)], 12, 15)
    (slice(0, 1, None), slice(1, 1, None))
    """
    first = last = bisect_left(sessions, start, key=itemgetter(1))
    while last < len(sessions) and sessions[last][0] <= end:
        last += 1
    return slice(first, last)


def over_ms(end: int, lateness_ms: int) -> int:
    """Return when a session with this end takes no more late records; `NEVER` for later than any time."""
    last_ms = end - 1 + lateness_ms
    return last_ms if last_ms < MAX_TIMESTAMP else NEVER


def first_due(sessions: list[Session], lateness_ms: int) -> tuple[int, int]:
    """Return when the first of a key's sessions is due, and its index. Due sessions are evaluated or removed.

    >>> first_due([(0, 10, 5, True), (20, 30, 2, False)], lateness_ms=15)
    (24, 0)
    """
    _, end, _, is_evaluated = sessions[0]
    if not is_evaluated:
        return end - 1, 0
    over = over_ms(end, lateness_ms), 0
    return next((min(over, (end - 1, at)) for at, (_, end, _, done) in enumerate(sessions) if not done), over)


@final
class DueKeys:
    """Keys by the earliest time at which something of theirs is due. A time may be too early, never too late.

    Each key is there once. Where an earlier time turns up, the one before stays behind, and does not count. Nothing is
    kept for a time that is `NEVER`.
    """

    __slots__ = ("_earlier", "_keys", "_times")

    def __init__(self) -> None:
        self._keys: dict[int, list[Any]] = {}
        self._times: list[int] = []
        """A heap of the times that keys have."""
        self._earlier: dict[Any, int] = {}
        """The time that counts, for keys that may have others."""

    def __len__(self) -> int:
        """Number of times that keys have."""
        return len(self._times)

    @property
    def head_ms(self) -> int:
        """The earliest time of all; `NEVER` when there is none."""
        return self._times[0] if self._times else NEVER

    def add(self, time_ms: int, key: Any) -> None:
        """Give a key its time."""
        keys = self._keys.get(time_ms)
        if time_ms >= NEVER:
            pass
        elif keys is None:
            self._keys[time_ms] = [key]
            heapq.heappush(self._times, time_ms)
        else:
            keys.append(key)
        if self._earlier and key in self._earlier:
            self._earlier[key] = time_ms

    def add_earlier(self, time_ms: int, key: Any) -> None:
        """Give a key a time that is before the one it has."""
        self._earlier[key] = time_ms
        self.add(time_ms, key)

    def drop(self, key: Any) -> None:
        """Forget a key that has no sessions left."""
        self._earlier.pop(key, None)

    def until(self, until_ms: int, limit: int) -> Iterator[tuple[int, list[Any]]]:
        """Take out times until then, in order, with about `limit` keys, which are to be given their next times."""
        times, left = self._times, limit
        while times and times[0] <= until_ms and left > 0:
            time_ms = times[0]
            keys = self._keys[time_ms]
            if len(keys) <= left:
                del self._keys[heapq.heappop(times)]
            else:
                keys[-left:], keys = (), keys[-left:]
            left -= len(keys)
            yield time_ms, [key for key in keys if self._counts(time_ms, key)] if self._earlier else keys

    def _counts(self, time_ms: int, key: Any) -> bool:
        return self._earlier.get(key, time_ms) == time_ms


def due_keys(native: ModuleType | None) -> DueKeys:
    """Return an empty `DueKeys`. It is compiled if the job runs compiled."""
    if native is None:
        return DueKeys()
    made: DueKeys = native.DueKeys()
    return made
