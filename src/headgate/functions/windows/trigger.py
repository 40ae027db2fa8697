"""Triggers: they say when a window is evaluated, and when its contents go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headgate.functions.windows.window import Window

if TYPE_CHECKING:
    from headgate.functions.metrics import MetricGroup
    from headgate.state.descriptors import StateDescriptor

T_contra = TypeVar("T_contra", contravariant=True)
W_contra = TypeVar("W_contra", bound=Window, contravariant=True)


class TriggerResult(Enum):
    """What becomes of a window. One that has no contents is never evaluated."""

    CONTINUE = (False, False)
    """Nothing."""
    FIRE_AND_PURGE = (True, True)
    """It is evaluated, and its contents go."""
    FIRE = (True, False)
    """It is evaluated, and keeps its contents."""
    PURGE = (False, True)
    """Its contents go."""

    def is_fire(self) -> bool:
        """Return whether the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the contents go."""
        return self.value[1]


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Says when a window is evaluated. One object serves all windows of a subtask: what it knows of one lies in state.

    >>> class AtMarkers(Trigger):
    ...     def on_element(self, element, timestamp, window, ctx):
    ...         ctx.register_event_time_timer(window.max_timestamp())
    ...         return TriggerResult.FIRE if element.is_marker else TriggerResult.CONTINUE
    ...     def on_event_time(self, time, window, ctx):
    ...         return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE
    ...     def on_processing_time(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def on_merge(self, window, ctx):
    ...         pass
    ...     def clear(self, window, ctx):
    ...         ctx.delete_event_time_timer(window.max_timestamp())
    """

    class TriggerContext(ABC):
        """What a trigger may ask and set; timers and state are those of the current key and window."""

        __slots__ = ()

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the time of the wall clock in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the group of the operator's own metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event time that has been reached, -2**63 before the first watermark."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have `on_processing_time` called when the wall clock reaches `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have `on_event_time` called when the watermark reaches `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete a processing-time timer; one that does not exist is no error."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete an event-time timer; one that does not exist is no error."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return a state of the key and window: a `ValueState`, `ReducingState` and so on."""

    class OnMergeContext(TriggerContext):
        """What `on_merge` may ask as well."""

        __slots__ = ()

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the windows that became one into that of the new one.

            Raises ProgramError for a state of a kind that cannot be merged: a value or a map.
            """

    @abstractmethod
    def on_element(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """A record has come into the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """A processing-time timer of the window is due: one of the trigger's, or that of the window's end."""

    @abstractmethod
    def on_event_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An event-time timer of the window is due: one of the trigger's, or that of the window's clean-up."""

    def can_merge(self) -> bool:
        """Return whether the trigger can be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W_contra, ctx: Trigger.OnMergeContext) -> None:
        """Several windows have become `window`. The timers of the old ones are gone after this."""

    @abstractmethod
    def clear(self, window: W_contra, ctx: Trigger.TriggerContext) -> None:
        """Delete the timers and state of a window that is over."""
