"""The runtime context of a user function: its subtask, its metrics, and handles of its keyed state."""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import Any, cast, final

from headgate.errors import ProgramError, StateAccessError
from headgate.functions.context import KeyedStateStore, RuntimeContext
from headgate.functions.metrics import MetricGroup
from headgate.operators.base import OperatorContext
from headgate.options import USER_METRICS
from headgate.state.backend import KeyedBackend
from headgate.state.descriptors import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headgate.types.record_copies import Passing


class StatesByKind(KeyedStateStore):
    """Keyed state by kind. Raises `ProgramError` for a descriptor of another kind."""

    any_given = False
    """Whether the function has got a state handle, which it may use whenever there is a current key."""

    def __init__(self, operator_name: str) -> None:
        self._operator_name = operator_name

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return cast("ValueState[Any]", self._keyed(state_descriptor, ValueStateDescriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return cast("ListState[Any]", self._keyed(state_descriptor, ListStateDescriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return cast("MapState[Any, Any]", self._keyed(state_descriptor, MapStateDescriptor))

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        return cast("ReducingState[Any]", self._keyed(state_descriptor, ReducingStateDescriptor))

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        return cast("AggregatingState[Any, Any]", self._keyed(state_descriptor, AggregatingStateDescriptor))

    def _keyed(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        if not isinstance(descriptor, kind):
            raise ProgramError(f"operator {self._operator_name!r} needs a {kind.__name__} here, not {descriptor!r}")
        self.any_given = True
        return self._state(descriptor)

    @abstractmethod
    def _state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of the state."""


@final
class Runtime(StatesByKind, RuntimeContext):
    """The `RuntimeContext` of a user function."""

    def __init__(self, context: OperatorContext, backend: KeyedBackend | None = None) -> None:
        super().__init__(context.name)
        self._context = context
        self._backend = backend

    @property
    def passing(self) -> Passing:
        """How records pass between function and state, copied or shared, for functions that wrap user functions."""
        return self._context.passing

    @property
    def native(self) -> ModuleType | None:
        """The compiled module, None if the job runs in Python."""
        return self._context.native

    def get_task_name(self) -> str:
        return self._context.name

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._context.name} ({self._context.subtask + 1}/{self._context.parallelism})"

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._context.subtask

    def get_attempt_number(self) -> int:
        return self._context.attempt - 1

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        return self._context.parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        if not self._context.settings.get(USER_METRICS):
            raise ProgramError(
                f"operator {self._context.name!r} asks for its metrics, but {USER_METRICS.key} is false: leave that out"
            )
        return self._context.metrics

    def _state(self, descriptor: StateDescriptor) -> Any:
        if self._backend is None:
            raise StateAccessError(
                f"operator {self._context.name!r} asks for keyed state {descriptor.name!r} but does not run on a "
                "keyed stream; call key_by(...) before it, and for asynchronous calls enable_async_state() and "
                "process(...)"
            )
        return self._backend.state(descriptor)
