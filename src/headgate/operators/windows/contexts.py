"""How window functions are called, and the contexts that functions, triggers, assigners and evictors are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, final

from headgate.errors import ProgramError
from headgate.functions.context import KeyedStateStore, RuntimeContext
from headgate.functions.metrics import MetricGroup
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.evictors import Evictor
from headgate.functions.windows.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headgate.functions.windows.trigger import Trigger
from headgate.functions.windows.window import GLOBAL_WINDOW, Window
from headgate.operators.calls import expect_records
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.runtime_context import StatesByKind
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import StateDescriptor


@final
class AssignerContext(WindowAssigner.WindowAssignerContext):
    """What an assigner may ask."""

    __slots__ = ("_runtime", "_timers")

    def __init__(self, timers: KeyedTimerService, runtime: RuntimeContext) -> None:
        self._timers = timers
        self._runtime = runtime

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime


@final
class TriggerContext(Trigger.OnMergeContext, Evictor.EvictorContext):
    """What triggers and evictors may ask.

    Whoever calls `on_merge` sets before: `target`, the namespace of the merged window, and `sources`, the namespaces of
    the windows that are gone.
    """

    __slots__ = ("_backend", "_runtime", "_timers", "sources", "target")

    def __init__(self, timers: KeyedTimerService, runtime: RuntimeContext, backend: KeyedBackend) -> None:
        self._timers = timers
        self._runtime = runtime
        self._backend = backend
        self.target: Any = None
        self.sources: list[Any] = []

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def get_current_watermark(self) -> int:
        return self._timers.watermark_ms

    def get_metric_group(self) -> MetricGroup:
        return self._runtime.get_metrics_group()

    def register_processing_time_timer(self, time: int) -> None:
        self._timers.register_processing_time_timer(time)

    def register_event_time_timer(self, time: int) -> None:
        self._timers.register_event_time_timer(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self._timers.delete_processing_time_timer(time)

    def delete_event_time_timer(self, time: int) -> None:
        self._timers.delete_event_time_timer(time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._backend.namespaces.state(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        self._backend.namespaces.state(state_descriptor)
        self._backend.namespaces.merge(state_descriptor, self.target, self.sources)


@final
class WindowStates(StatesByKind):
    """The states of the current key and window."""

    def __init__(self, operator_name: str, backend: KeyedBackend, *, merging: bool) -> None:
        super().__init__(operator_name)
        self._backend = backend
        self._merging = merging

    def _state(self, descriptor: StateDescriptor) -> Any:
        if self._merging:
            raise ProgramError(
                f"operator {self._operator_name!r} asks for window state {descriptor.name!r}, which windows that merge "
                "do not have: use context.global_state()"
            )
        return self._backend.namespaces.state(descriptor)


@final
class WindowContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """What window functions may ask."""

    __slots__ = ("_runtime", "_states", "_timers", "current", "enter_key", "enter_window")

    def __init__(self, timers: KeyedTimerService, runtime: RuntimeContext, states: WindowStates) -> None:
        self._timers = timers
        self._runtime = runtime
        self._states = states
        self.current: Window = GLOBAL_WINDOW
        self.enter_key: Callable[[], None] | None = None
        """Sets the current key of the state. None: whoever evaluates the window has set it."""
        self.enter_window: Callable[[], None] | None = None
        """Sets the current key and window of the state. None: whoever evaluates the window has set them."""

    def window(self) -> Any:
        return self.current

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        return self._timers.watermark_ms

    def window_state(self) -> KeyedStateStore:
        if self.enter_window is not None:
            self.enter_window()
        return self._states

    def global_state(self) -> KeyedStateStore:
        if self.enter_key is not None:
            self.enter_key()
        return self._runtime


AnyProcessFunction = ProcessWindowFunction[Any, Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any]
"""A window function with a context."""

AnyWindowFunction = WindowFunction[Any, Any, Any, Any] | AllWindowFunction[Any, Any, Any] | AnyProcessFunction
"""A window function of any kind."""

Evaluation = Callable[[Any, WindowContext, list[Any]], Iterable[Any]]
"""Returns the results of a window, given its key, the context and the inputs."""


def evaluation(function: AnyWindowFunction) -> Evaluation:
    """Return the call of a window function. It raises ProgramError for results that are no records."""
    call = _call(function)
    method = function.apply if isinstance(function, WindowFunction | AllWindowFunction) else function.process

    def checked(key: Any, context: WindowContext, inputs: list[Any]) -> Iterable[Any]:
        results = call(key, context, inputs)
        if results is None:
            return ()
        expect_records(results, method)
        return results

    return checked


def clearing(function: AnyWindowFunction) -> AnyProcessFunction | None:
    """Return the function if it clears state of windows that are over."""
    inherited = (ProcessWindowFunction.clear, ProcessAllWindowFunction.clear)
    if isinstance(function, ProcessWindowFunction | ProcessAllWindowFunction):
        return None if type(function).clear in inherited else function
    return None


def _call(function: AnyWindowFunction) -> Callable[[Any, WindowContext, list[Any]], Iterable[Any] | None]:
    if isinstance(function, WindowFunction):
        return lambda key, context, inputs: function.apply(key, context.current, inputs)
    if isinstance(function, AllWindowFunction):
        return lambda key, context, inputs: function.apply(context.current, inputs)
    if isinstance(function, ProcessWindowFunction):
        return function.process
    return lambda key, context, inputs: function.process(context, inputs)
