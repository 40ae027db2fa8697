"""Contexts that the runtime hands to user functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headgate import unsupported

if TYPE_CHECKING:
    from headgate.state.descriptors import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )
    from headgate.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState


class KeyedStateStore(ABC):
    """The way to keyed state, which has a content for each key.

    The same name gives the same state each time. All methods raise `StateAccessError` in a function that does not run
    on a keyed stream, `ProgramError` when the name is in use for another kind or type, and `RestoreError` when what a
    checkpoint holds under this name cannot become what is declared.
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return a state that holds one value for each key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a state that holds a list for each key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return a state that holds a map for each key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return a state that holds the combination of what was added, for each key."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """Return a state that holds an accumulator of what was added, for each key."""


class RuntimeContext(KeyedStateStore):
    """What a function may ask about where it runs, and its way to keyed state. Valid from `open` to `close`."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the operator."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the name with the subtask, counted from 1, as in `count (2/4)`."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the max parallelism of the operator, which is its number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how often the job was restarted before: 0 in its first execution."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """Return a global job parameter."""


class Context:
    """What `process_element` may ask about the current record."""

    __slots__ = ("_timestamp",)

    def __init__(self) -> None:
        self._timestamp: int | None = None

    def timestamp(self) -> int | None:
        """Return the event time of the current record in milliseconds, None where the stream has none."""
        return self._timestamp


unsupported.guard_members("datastream.functions", globals())
