"""Session windows of event time with the default trigger: the cell of a key holds the key's sessions.

`merging_windows` has all other session windows, and emits the same results for the same sessions.

A record that extends the open session of its key costs a look at the key's cell. No session has a cell or timers of its
own, and there is no set of windows. Only memory holds when sessions are due; a restore computes it again. A record that
extends a session does not move the time at which its key is due: the operator looks at the key at the earlier end, and
again at the present end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, final

from headgate.functions.windows.session_windows import DynamicEventTimeSessionWindows, EventTimeSessionWindows
from headgate.functions.windows.time_windows import check_timestamp
from headgate.operators.base import USER_ERRORS, UserCodeError, last_index
from headgate.operators.windows.base import BulkWindows, Opened, Windowing
from headgate.operators.windows.contents import Contents, PaneContents
from headgate.operators.windows.contexts import AnyWindowFunction
from headgate.operators.windows.session_loop import SessionSteps, session_loop
from headgate.operators.windows.session_snapshots import MergedSessions, SessionRows, SessionTerms, cells_of, saved_keys
from headgate.operators.windows.session_state import (
    Session,
    columns_of,
    due_keys,
    first_due,
    met,
    over_ms,
    rows_of,
    session_states,
)
from headgate.state.backend import KeyedSnapshot
from headgate.state.keyed.cells import Cell
from headgate.types.typed_key import untyped

_KEYS_AT_ONCE: Final = 128
"""Number of keys that are evaluated before the operator counts the results."""


@final
class SessionWindows(BulkWindows):
    """Sessions of event time with the default trigger and no evictor."""

    def __init__(self, windowing: Windowing, contents: Contents, function: AnyWindowFunction, opened: Opened) -> None:
        super().__init__(windowing, contents, function, opened)
        assigner = windowing.assigner
        assert isinstance(assigner, EventTimeSessionWindows | DynamicEventTimeSessionWindows)
        assert isinstance(contents, PaneContents)
        self._kept = contents
        self._first, self._more = contents.steps()
        self._lateness = windowing.lateness_ms
        states = [self._backend.state(each).column for each in session_states(contents.type_info)]
        self._start, self._end, self._value, self._others = states
        self._terms = SessionTerms(
            contents.described, self._lateness, lambda: opened.context.services.scratch(opened.context.uid)
        )
        self._due_keys = due_keys(opened.context.native)
        steps = SessionSteps(
            backend=self._backend,
            start=self._start,
            end=self._end,
            value=self._value,
            others=self._others,
            gap_ms=assigner.session_gap if isinstance(assigner, EventTimeSessionWindows) else 0,
            gap_of=assigner.gap_ms,
            first=self._first,
            more=self._more,
            note=self._due_keys.add,
            drop=self._due_keys.drop,
            merge=self._merge,
            take=self._take_due,
            keeps=self._lateness > 0,
        )
        self._loop = session_loop(opened.context.native, steps)
        for cell, sessions in MergedSessions(self._backend, self._timers, contents).taken():
            self._keep(cell, sessions)
        self._note_restored()

    def rows(self, keyed: KeyedSnapshot) -> KeyedSnapshot:
        return SessionRows(keyed, self._terms)

    # --- records

    def add(self, keys: list[Any], timestamps: Iterable[int], records: Iterator[Any]) -> None:
        self._loop.add(keys, timestamps, records, self._timers.watermark_ms)

    def _merge(self, key: Any, cell: Cell, own: tuple[int, int], value: Any) -> None:
        """Merge the session of a record with the sessions that it overlaps or touches."""
        start, end = own
        check_timestamp(start)
        sessions = self._sessions(cell)
        due_ms = first_due(sessions, self._lateness)[0] if sessions else None
        place = met(sessions, start, end)
        joined = sessions[place]
        if joined:
            start, end = min(start, joined[0][0]), max(end, joined[-1][1])
        if over_ms(end, self._lateness) <= self._timers.watermark_ms:
            self._too_late(value, own[0])
            return
        session = start, end, self._combined(value, joined), end - 1 <= self._timers.watermark_ms
        sessions[place] = [session]
        self._keep(cell, sessions)
        next_ms, _ = first_due(sessions, self._lateness)
        if due_ms is None:
            self._due_keys.add(next_ms, key)
        elif next_ms < due_ms:
            self._due_keys.add_earlier(next_ms, key)
        if session[3]:
            self._begin(start, end)
            self._evaluate_some(iter([(key, session[2])]))

    def _combined(self, value: Any, joined: list[Session]) -> Any:
        """Return the value of a record and the sessions that it joins."""
        values = [session[2] for session in joined]
        so_far = values[0] if len(values) == 1 else self._kept.merged(values)
        if so_far is not None:
            return self._more(value, so_far)
        if joined:
            self._none_made()
        return self._first(value)

    # --- what is kept of a key

    def _note_restored(self) -> None:
        """Note when restored sessions are due."""
        for key, cell in cells_of(self._backend, saved_keys(self._backend)):
            due_ms, _ = first_due(self._sessions(cell), self._lateness)
            self._due_keys.add(due_ms, key)

    def _sessions(self, cell: Cell) -> list[Session]:
        """Return all sessions of a key, in order. The caller changes the list and calls `_keep`."""
        return rows_of((cell[self._start], cell[self._end], cell[self._value], cell[self._others]))

    def _keep(self, cell: Cell, sessions: list[Session]) -> None:
        """Set the sessions of a key."""
        cell[self._start], cell[self._end], cell[self._value], cell[self._others] = columns_of(sessions)

    # --- time

    def count_open(self) -> int:
        return len(self._due_keys)

    def is_due(self, until_ms: int) -> bool:
        return self._due_keys.head_ms <= until_ms

    def evaluate(self, until_ms: int, records_max: int) -> None:
        left = records_max
        try:
            while left > 0 and self.is_due(until_ms) and len(self.out) < records_max:
                self._evaluate_all(*self._loop.take(self._due_keys.until(until_ms, min(left, _KEYS_AT_ONCE))))
                left -= _KEYS_AT_ONCE
        finally:
            self._backend.leave()

    def _take_due(self, key: Any, cell: Cell, time_ms: int) -> Session | None:
        """Return the session of a key that is due at this time, if any. State keeps it if it waits for late records."""
        sessions = self._sessions(cell)
        due_ms, at = first_due(sessions, self._lateness)
        if due_ms > time_ms:
            self._due_keys.add(due_ms, key)
            return None
        session = start, end, value, _ = sessions[at]
        sessions[at : at + 1] = [(start, end, value, True)] if over_ms(end, self._lateness) > time_ms else []
        self._keep(cell, sessions)
        if sessions:
            self._due_keys.add(first_due(sessions, self._lateness)[0], key)
        else:
            self._due_keys.drop(key)
            self._backend.emptied.append(cell)
        return session

    def _evaluate_all(self, keys: list[Any], sessions: list[Session]) -> None:
        """Evaluate sessions that have ended, and let the function clear its state of sessions that are over."""
        position = iter(sessions)
        try:
            if self._emission is not None:
                self._emission.emit_sessions(position, self.out, self.times)
            else:
                for session, key in zip(position, keys, strict=True):
                    self._finish(key, session)
        except USER_ERRORS as error:
            at = last_index(sessions, position)
            during = f"the timer of a window ({sessions[at][1] - 1})"
            raise UserCodeError(key=untyped(keys[at]), during=during) from error

    def _finish(self, key: Any, session: Session) -> None:
        """Evaluate a session that has ended, or clear the state of a session that was evaluated before."""
        start, end, value, is_evaluated = session
        self._begin(start, end)
        if not is_evaluated:
            self._evaluate_some(iter([(key, value)]))
        if is_evaluated or not self._lateness:
            self._clear(key)
