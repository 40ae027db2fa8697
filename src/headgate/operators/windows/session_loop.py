"""The loops over the keys of session windows: adding records to sessions, and taking out the sessions that are due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, final

from headgate.operators.windows.contents import First, More
from headgate.operators.windows.session_state import END_MAX, Session
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import GENERATION, Cell


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSteps:
    """The columns of sessions in cells, and the functions that the loops call. They stay the same while a job runs."""

    backend: KeyedBackend
    start: int
    end: int
    value: int
    others: int
    gap_ms: int
    """The gap in milliseconds; 0 where it depends on the record."""
    gap_of: Callable[[Any], int]
    """Returns the gap of a record."""
    first: First
    """Makes a value of the first record of a session."""
    more: More
    """Adds a record to the value so far."""
    note: Callable[[int, Any], None]
    """Notes a time at which sessions of a key may be due."""
    drop: Callable[[Any], None]
    """Forgets a key that has no sessions left."""
    merge: Callable[[Any, Cell, tuple[int, int], Any], None]
    """Adds a record, whose own session is given, where it may be late or join several sessions."""
    take: Callable[[Any, Cell, int], Session | None]
    """Takes out the session of a key that is due at a time, where sessions stay for late records; None for none."""
    keeps: bool
    """Whether sessions stay for late records."""


@final
class SessionLoop:
    """The two loops."""

    def __init__(self, steps: SessionSteps) -> None:
        self._steps = steps

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any], watermark_ms: int) -> None:
        """Add records, with a key and a timestamp each, to sessions."""
        steps, backend, end_max = self._steps, self._steps.backend, END_MAX
        start_at, end_at, value_at, others_at = steps.start, steps.end, steps.value, steps.others
        gap, gap_of, first, more, note = steps.gap_ms, steps.gap_of, steps.first, steps.more, steps.note
        cell_of, generation = backend.cells.get, backend.generation
        for key, time, value in zip(keys, timestamps, records):  # noqa: B905  # lengths agree
            cell = cell_of(key)
            if cell is None or cell[GENERATION] != generation:
                cell = backend.enter(key, cell)
            until = time + (gap or gap_of(value))
            if until > end_max:
                until = end_max
            so_far, end = cell[value_at], cell[end_at]
            if so_far is not None and cell[start_at] <= time <= end:
                if until > end:
                    cell[end_at] = until
                cell[value_at] = more(value, so_far)
            elif time <= watermark_ms or (cell[others_at] if end is None else time <= end):
                steps.merge(key, cell, (time, until), value)
            else:
                if end is None:
                    note(until - 1, key)
                else:
                    self._close(cell)
                cell[start_at], cell[end_at], cell[value_at] = time, until, first(value)

    def _close(self, cell: Cell) -> None:
        """Move the open session to the end of the other sessions."""
        steps = self._steps
        session = cell[steps.start], cell[steps.end], cell[steps.value], False
        others = cell[steps.others]
        if others is None:
            cell[steps.others] = [session]
        else:
            others.append(session)

    def take(self, due_keys: Iterable[tuple[int, list[Any]]]) -> tuple[list[Any], list[Session]]:
        """Return sessions that are due, behind their keys, and change them in state as their evaluation will.

        `due_keys` yields times, with the keys that may have a session which is due then. Most sessions have been
        extended since their end was noted.
        """
        steps, backend = self._steps, self._steps.backend
        note, drop, keeps = steps.note, steps.drop, steps.keeps
        start_at, end_at, value_at, others_at = steps.start, steps.end, steps.value, steps.others
        cell_of, generation = backend.cells.get, backend.generation
        of_keys: list[Any] = []
        sessions: list[Session] = []
        for time_ms, keys in due_keys:
            if backend.prefetch is not None:
                backend.prefetch(keys)
            for key in keys:
                cell = cell_of(key)
                if cell is None or cell[GENERATION] != generation:
                    cell = backend.enter(key, cell)
                others = cell[others_at]
                end = others[0][1] if others else cell[end_at]
                if end is None:
                    continue
                if end - 1 > time_ms:
                    note(end - 1, key)
                elif others and not keeps:
                    of_keys.append(key)
                    sessions.append(self._take_first(key, cell, others))
                elif not keeps:
                    of_keys.append(key)
                    sessions.append((cell[start_at], end, cell[value_at], False))
                    cell[start_at] = cell[end_at] = cell[value_at] = None
                    backend.emptied.append(cell)
                    drop(key)
                elif (session := steps.take(key, cell, time_ms)) is not None:
                    of_keys.append(key)
                    sessions.append(session)
        return of_keys, sessions

    def _take_first(self, key: Any, cell: Cell, others: list[Session]) -> Session:
        """Remove and return the first of several sessions of a key, without a copy of the list."""
        steps = self._steps
        session = others.pop(0)
        end = others[0][1] if others else cell[steps.end]
        if not others:
            cell[steps.others] = None
        if end is not None:
            steps.note(end - 1, key)
        else:
            steps.drop(key)
            steps.backend.emptied.append(cell)
        return session


def session_loop(native: ModuleType | None, steps: SessionSteps) -> SessionLoop:
    """Return the loops. They are compiled if the job runs compiled, and the gap is one of 64 bits for all records."""
    in_python = SessionLoop(steps)
    if native is None or not 0 < steps.gap_ms < 2**63:
        return in_python
    made: SessionLoop = native.SessionLoop(steps, in_python)
    return made
