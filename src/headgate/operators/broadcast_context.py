"""The contexts of functions with broadcast state, for broadcast elements and for the records of the other stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NoReturn, final

from headgate.clock import Clock
from headgate.errors import StateAccessError
from headgate.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from headgate.functions.context import TimerService
from headgate.operators.keyed_context import KeyedContext, KeyedTimerService
from headgate.operators.plain import RecordContext
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import MapStateDescriptor, StateDescriptor
from headgate.state.keyed.cells import GENERATION
from headgate.state.operator.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from headgate.state.operator.operator_state import OperatorStateStore
from headgate.types.typed_key import untyped

KEYS_AT_ONCE: Final = 1024


@final
class BroadcastStates:
    """The broadcast states of one operator in one subtask, by the descriptors that `broadcast(...)` was called with."""

    def __init__(self, store: OperatorStateStore, descriptors: Sequence[MapStateDescriptor]) -> None:
        self._store = store
        self._known = {descriptor.name: descriptor for descriptor in descriptors}
        self._read_only = {name: store.get_broadcast_state(each).read_only() for name, each in self._known.items()}

    def writable(self, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Return a state. Raises `StateAccessError` for an unknown name, `ProgramError` for another type."""
        self._check(descriptor)
        return self._store.get_broadcast_state(descriptor)

    def read_only(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        """Return a read-only view of a state. Raises the errors of `writable`."""
        self._check(descriptor)
        return self._read_only[descriptor.name]

    def _check(self, descriptor: MapStateDescriptor) -> None:
        name = getattr(descriptor, "name", None)
        known = None if name is None else self._known.get(name)
        if known is None:
            raise StateAccessError(
                f"{descriptor!r} is not a broadcast state of this function, only {', '.join(map(repr, self._known))}: "
                "look for a slip in its name, or pass it to broadcast(...), too"
            )
        if known is not descriptor:
            self._store.get_broadcast_state(descriptor)
            self._known[descriptor.name] = descriptor


class _Times(RecordContext, BaseBroadcastProcessFunction.BaseContext):
    """The times and states that contexts without a current key share."""

    __slots__ = ("_states", "_times")

    def __init__(self, times: TimerService, states: BroadcastStates) -> None:
        super().__init__()
        self._times = times
        self._states = states

    def current_processing_time(self) -> int:
        return self._times.current_processing_time()

    def current_watermark(self) -> int:
        return self._times.current_watermark()


@final
class PlainReadOnlyContext(_Times, BroadcastProcessFunction.ReadOnlyContext):
    """The context of a record of a stream without keys."""

    __slots__ = ()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        return self._states.read_only(state_descriptor)

    def timer_service(self) -> NoReturn:
        """Always raise an error: Flink's class has no such method."""
        raise StateAccessError(
            "setting timers is only supported on a keyed stream: call key_by(...) before connect(...)"
        )


@final
class PlainWritableContext(_Times, BroadcastProcessFunction.Context):
    """The context of a broadcast element, connected to a stream without keys."""

    __slots__ = ()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._states.writable(state_descriptor)

    def timer_service(self) -> NoReturn:
        """Always raise an error: Flink's class has no such method."""
        raise _no_timers()


@final
class KeyedReadOnlyContext(KeyedContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """The context of a record or timer of a keyed stream."""

    __slots__ = ("_states",)

    def __init__(self, backend: KeyedBackend, clock: Clock, states: BroadcastStates) -> None:
        super().__init__(backend, clock)
        self._states = states

    def current_processing_time(self) -> int:
        return self.timers.current_processing_time()

    def current_watermark(self) -> int:
        return self.timers.current_watermark()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        return self._states.read_only(state_descriptor)


@final
class KeyedWritableContext(_Times, KeyedBroadcastProcessFunction.Context):
    """The context of a broadcast element, connected to a keyed stream."""

    __slots__ = ("_backend", "_timers")

    def __init__(self, backend: KeyedBackend, timers: KeyedTimerService, states: BroadcastStates) -> None:
        super().__init__(timers, states)
        self._backend = backend
        self._timers = timers

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._states.writable(state_descriptor)

    def timer_service(self) -> NoReturn:
        """Always raise an error: Flink's class has no such method."""
        raise _no_timers()

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], Iterable[Any] | None]
    ) -> list[Any]:
        backend = self._backend
        state = backend.state(state_descriptor)
        keys = list(backend.keys(state_descriptor.name))
        out: list[Any] = []
        self._timers.refusal = _no_timers()
        try:
            for start in range(0, len(keys), KEYS_AT_ONCE):
                self._apply(keys[start : start + KEYS_AT_ONCE], lambda key: function(key, state), out)
        finally:
            self._timers.refusal = None
        return out

    def _apply(self, keys: list[Any], call: Callable[[Any], Iterable[Any] | None], out: list[Any]) -> None:
        backend = self._backend
        if backend.prefetch is not None:
            backend.prefetch(keys)
        for key in keys:
            cell = backend.cells.get(key)
            if cell is None or cell[GENERATION] != backend.generation:
                cell = backend.enter(key, cell)
            backend.current.cell = cell
            try:
                results = call(untyped(key))
                if results is not None:
                    out += results
            except Exception as error:
                error.add_note(f"in apply_to_keyed_state(), for key {key!r}")
                raise
        backend.leave()


def _no_timers() -> StateAccessError:
    return StateAccessError(
        "there are no timers for broadcast elements, which have no key: set them in process_element() or on_timer()"
    )
