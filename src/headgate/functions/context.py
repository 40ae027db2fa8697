"""Contexts that the runtime gives to user functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any

from headgate import unsupported
from headgate.errors import ProgramError

if TYPE_CHECKING:
    from headgate.functions.metrics import MetricGroup
    from headgate.state.descriptors import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )


class KeyedStateStore(ABC):
    """Gives access to keyed state: each state has a separate value for each key.

    The same name gives the same state each time. All methods raise StateAccessError in a function that does not run on
    a keyed stream, ProgramError when the name is in use for another kind or type, and RestoreError when the value that
    a checkpoint holds under this name cannot be converted to the declared type.
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
        """Return a state that holds the combination of the added values, for each key."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """Return a state that holds an accumulator of the added values, for each key."""


class RuntimeContext(KeyedStateStore):
    """Tells a function where it runs, and gives it keyed state. Valid from `open` to `close`."""

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
        """Return a global job parameter, `default_value` when it is not set."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the group of the function's own metrics.

        Raises ProgramError when metrics are switched off (`python.metric.enabled: false`).
        """


class TimerService(ABC):
    """The clocks of an operator, and the timers of the current key. Times are in milliseconds since 1970 UTC.

    A key has at most one timer for each clock and time: registering the timer again changes nothing, and deleting a
    timer that does not exist does nothing. The methods for timers raise StateAccessError where there is no current key.
    The methods that register a timer also raise it for a time that is not a whole number.
    """

    __slots__ = ()

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the time of the wall clock."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the event time that has been reached, -2**63 before the first watermark."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Have `on_timer` called when the watermark reaches `timestamp`; if that has passed, at the next one."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Have `on_timer` called when the wall clock reaches `timestamp`; if that has passed, at once."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete an event-time timer of the current key."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a processing-time timer of the current key."""


class TimeDomain(Enum):
    """The clock that a timer follows."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class Context:
    """Tells `process_element` about the current record."""

    __slots__ = ("_timestamp",)

    def __init__(self) -> None:
        self._timestamp: int | None = None

    def timestamp(self) -> int:
        """Return the event time of the current record in milliseconds.

        Raises ProgramError where the stream has none.
        """
        if self._timestamp is None:
            raise ProgramError(
                "ctx.timestamp() was called on a stream whose records have no timestamps: call "
                "assign_timestamps_and_watermarks(WatermarkStrategy...with_timestamp_assigner(...)) before it, or use "
                "the wall clock, ctx.timer_service().current_processing_time()"
            )
        return self._timestamp


unsupported.guard_members("datastream.functions", globals())
