"""Keyed states by the kinds of their descriptors, as user functions ask for them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, cast

from headgate.errors import ProgramError
from headgate.functions.context import KeyedStateStore
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


class StatesByKind(KeyedStateStore):
    """Checks that a descriptor is of the kind that is asked for."""

    any_given = False
    """Whether a handle of a state has been given out, which may be used whenever a key is the current one."""

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
