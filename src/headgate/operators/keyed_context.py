"""The context of functions on a keyed stream: the current key, the time, and timers."""

from __future__ import annotations

from typing import Any, Self, final

from headgate.clock import Clock
from headgate.elements import MIN_TIMESTAMP
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import TimeDomain, TimerService
from headgate.operators.plain import RecordContext
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import KEY, Current
from headgate.time.timers import EVENT_TIMERS, PROCESSING_TIMERS, Timers, timers_of
from headgate.types.typed_key import untyped


@final
class KeyedTimerService(TimerService):
    """The timers of an operator, and its current times. The timers of a domain are created at the first access."""

    __slots__ = ("_backend", "_clock", "_current", "event", "processing", "refusal", "watermark_ms")

    def __init__(self, backend: KeyedBackend, clock: Clock, current: Current | None = None) -> None:
        """`current` has the cell of a key and namespace that timers belong to. None: timers are in the key's cell."""
        self._backend = backend
        self._clock = clock
        self._current = current
        self.refusal: Exception | None = None
        """The error that setting or deleting a timer raises while there is no current key; None otherwise."""
        self.watermark_ms = MIN_TIMESTAMP
        self.event: Timers | None = None
        self.processing: Timers | None = None

    @property
    def in_use(self) -> bool:
        """Whether the operator may have processing-time timers."""
        return self.processing is not None

    def restore(self) -> None:
        """Load the timers from restored state."""
        self.event = timers_of(self._backend, EVENT_TIMERS, self._current)
        self.processing = timers_of(self._backend, PROCESSING_TIMERS, self._current)

    def current_processing_time(self) -> int:
        return self._clock.wall_ms()

    def current_watermark(self) -> int:
        return self.watermark_ms

    def earliest_event_time_timer(self) -> int | None:
        """Return the time of the current key's earliest event-time timer, None if the key has none."""
        return None if self.event is None else self.event.earliest()

    def register_event_time_timer(self, timestamp: int) -> None:
        if self.event is None or self.refusal is not None:
            self.event = self._made(self.event, EVENT_TIMERS)
        self.event.register(timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        if self.processing is None or self.refusal is not None:
            self.processing = self._made(self.processing, PROCESSING_TIMERS)
        self.processing.register(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.event = self._made(self.event, EVENT_TIMERS)
        self.event.delete(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.processing = self._made(self.processing, PROCESSING_TIMERS)
        self.processing.delete(timestamp)

    def _made(self, timers: Timers | None, name: str) -> Timers:
        if self.refusal is not None:
            raise self.refusal
        return timers_of(self._backend, name, self._current) if timers is None else timers


class KeyedContext(RecordContext, KeyedProcessFunction.OnTimerContext):
    """The context of the current record or timer, and of its key."""

    __slots__ = ("_backend", "_domain", "timers")

    def __init__(self, backend: KeyedBackend, clock: Clock, current: Current | None = None) -> None:
        super().__init__()
        self._backend = backend
        self._domain = TimeDomain.EVENT_TIME
        self.timers = KeyedTimerService(backend, clock, current)

    def get_current_key(self) -> Any:
        """Return the key of the current record. Raises `StateAccessError` without a current record."""
        return untyped(self._backend.current.cell[KEY])

    def timer_service(self) -> TimerService:
        return self.timers

    def time_domain(self) -> TimeDomain:
        return self._domain

    def of_timers(self, domain: TimeDomain) -> Self:
        """Set the time domain of the timers that are fired next; return the context itself."""
        self._domain = domain
        return self
