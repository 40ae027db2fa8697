"""Invocations: calls of a user's coroutine for a record or a timer, each with a draft of its writes to state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, final

from headgate.errors import StateAccessError
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import TimeDomain, TimerService
from headgate.operators.invocation_state import Draft, DraftList, DraftMap
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.stepped_loop import SteppedLoop
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import StateDescriptor
from headgate.state.keyed.cells import KEY, NO_CELL
from headgate.state.kinds.binding import bind
from headgate.state.kinds.forms import StoredForm
from headgate.time.timers import whole_time
from headgate.types.typed_key import untyped

T = TypeVar("T")


@final
class JointReads(Generic[T]):
    """Gathers the read requests of coroutines, and reads all items at once when every coroutine waits.

    >>> from headgate.clock import VirtualClock
    >>> from headgate.operators.stepped_loop import SteppedLoop
    >>> loop = SteppedLoop(VirtualClock())
    >>> reads = JointReads(loop, print)
    >>> naps = [loop.create_task(reads.wanted(key)) for key in "ab"]
    >>> loop.step()
    ['a', 'b']
    >>> loop.end()
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, read: Callable[[list[T]], None]) -> None:
        self._loop = loop
        self._read = read
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []

    async def wanted(self, item: T) -> None:
        """Wait until the item is read, together with all items requested meanwhile.

        Raises the error that reading this item alone raises.
        """
        if not self._waiting:
            self._loop.call_soon(self._read_all)
        future = self._loop.create_future()
        self._waiting.append((item, future))
        await future

    def _read_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        has_failed = self._error_of([item for item, _ in waiting]) is not None
        for item, future in waiting:
            error = self._error_of([item]) if has_failed else None
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    def _error_of(self, items: list[T]) -> Exception | None:
        try:
            self._read(items)
        except Exception as error:  # noqa: BLE001  # also what a class of the user raises when it is read
            return error
        return None


_UNDER_WAY: Final[ContextVar[Invocation]] = ContextVar("invocation")


@final
@dataclass(frozen=True, slots=True)
class FiredTimer:
    """A due timer as a pending input, in place of a record. Until its invocation begins it can be deleted."""

    timestamp: int
    domain: TimeDomain


@final
@dataclass(frozen=True, slots=True)
class TimerChange:
    """A timer that an invocation has registered, or deleted if `registered` is false."""

    timer: FiredTimer
    registered: bool


@final
class Invocation(KeyedProcessFunction.OnTimerContext, TimerService):
    """One call: it is the context and the timer service of the call, and holds the draft of the key's state."""

    __slots__ = ("_domain", "_is_over", "_times", "changes", "draft")

    def __init__(self, draft: Draft, times: KeyedTimerService, timestamp: int | None, domain: TimeDomain) -> None:
        super().__init__()
        self.draft = draft
        """The draft that state handles read and write. Tasks that outlive the call get no access to it."""
        self.changes: list[TimerChange] = []
        self._times = times
        self._timestamp = timestamp
        self._domain = domain
        self._is_over = False

    def begin(self) -> None:
        """Make this invocation the current one for state handles, in the calling task and the tasks it creates."""
        _UNDER_WAY.set(self)

    def open_draft(self) -> Draft:
        """Return the draft. Raises StateAccessError once the call has ended: later writes would be lost."""
        self._check_under_way()
        return self.draft

    def end(self) -> None:
        """Mark the call as returned: from now on its tasks may not use state or timers."""
        self._is_over = True

    def _check_under_way(self) -> None:
        if self._is_over:
            raise StateAccessError(
                f"state or timers of key {self.get_current_key()!r:.100} were used after their call had ended: a call "
                "must await every task that it creates before it returns"
            )

    def get_current_key(self) -> Any:
        return untyped(self.draft[KEY])

    def timer_service(self) -> TimerService:
        return self

    def time_domain(self) -> TimeDomain:
        return self._domain

    def current_processing_time(self) -> int:
        return self._times.current_processing_time()

    def current_watermark(self) -> int:
        return self._times.current_watermark()

    def register_event_time_timer(self, timestamp: int) -> None:
        self._change(timestamp, TimeDomain.EVENT_TIME, registered=True)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._change(timestamp, TimeDomain.PROCESSING_TIME, registered=True)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._change(timestamp, TimeDomain.EVENT_TIME, registered=False)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._change(timestamp, TimeDomain.PROCESSING_TIME, registered=False)

    def _change(self, timestamp: int, domain: TimeDomain, *, registered: bool) -> None:
        self._check_under_way()
        self.changes.append(TimerChange(FiredTimer(whole_time(timestamp), domain), registered))


@final
class DraftOwner:
    """The owner that state handles see in place of a backend: its current cell is the draft of the invocation."""

    def __init__(self, backend: KeyedBackend, loop: SteppedLoop) -> None:
        self.native = None
        self.current = _CurrentDraft()
        self.forms: dict[int, StoredForm] = {}
        self._backend = backend
        self._clock = loop.clock
        self._handles: dict[str, Any] = {}
        self._cells: JointReads[Any] = JointReads(loop, self._load)
        self._entries = JointReads(loop, backend.load_entries)

    def state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of a state. Raises the errors of `KeyedBackend.state`."""
        plain = self._backend.state(descriptor)
        if descriptor.name not in self._handles:
            self.forms[plain.column] = descriptor.kind.form
            cleanup = None if descriptor.ttl is None else plain.lifetime.cleanup
            handle = bind(descriptor, self, plain.column, self._clock, cleanup)  # type: ignore[arg-type]
            self._handles[descriptor.name] = handle
        return self._handles[descriptor.name]

    async def loaded(self) -> None:
        """Wait until the key's cell is in memory. All keys that wait at the same time are read at once."""
        key = self.current.cell[KEY]
        if self._backend.prefetch is not None and key not in self._backend.cells:
            await self._cells.wanted(key)

    def _load(self, keys: list[Any]) -> None:
        if self._backend.prefetch is not None:
            self._backend.prefetch(keys)

    async def entry_loaded(self, column: int, key: Any) -> None:
        """Wait, as `loaded` does, until the entry of the map in this column is in memory."""
        await self.loaded()
        content = self.current.cell[column]
        stored = None if content is None else content.stored(key)
        if stored is not None and self._backend.lacks(stored, key):
            await self._entries.wanted((stored, key))

    def new_list(self, column: int, values: list[Any]) -> DraftList:
        """Return a list that replaces the column's content."""
        return DraftList(None, values)

    def new_map(self, column: int) -> DraftMap:
        """Return an empty map that replaces the column's content."""
        return DraftMap(None)

    def drop(self, column: int) -> None:
        """Remove the column's list or map."""
        self.current.cell[column] = None


@final
class _CurrentDraft:
    """Replaces the backend's current cell."""

    def __init__(self) -> None:
        self.emptied = _Nowhere()

    @property
    def cell(self) -> Any:
        """The draft of the current invocation; NO_CELL without one."""
        invocation = _UNDER_WAY.get(None)
        return NO_CELL if invocation is None else invocation.open_draft()


@final
class _Nowhere(list[Any]):
    """Replaces the backend's list of emptied cells. Ignores drafts, because they are no cells of the backend."""

    def append(self, cell: Any) -> None:
        pass
