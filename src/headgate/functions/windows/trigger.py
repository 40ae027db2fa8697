"""Triggers: they decide when a window is evaluated, and when its contents are removed."""

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
    """What happens to a window. An empty window is never evaluated."""

    CONTINUE = (False, False)
    """Keep the window as it is."""
    FIRE_AND_PURGE = (True, True)
    """Evaluate the window, and remove its contents."""
    FIRE = (True, False)
    """Evaluate the window, and keep its contents."""
    PURGE = (False, True)
    """Remove the contents, without evaluating the window."""

    def is_fire(self) -> bool:
        """Return whether the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the contents are removed."""
        return self.value[1]


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Decides when a window is evaluated. One object serves all windows of a subtask: keep data of a window in state.

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
        """Gives a trigger the time, and the timers and state of the current key and window."""

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
        """The context of `on_merge`, which can also merge state."""

        __slots__ = ()

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the states of the merged windows into the state of the new window.

            Raises ProgramError for a state of a kind that cannot be merged: a value or a map.
            """

    @abstractmethod
    def on_element(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Decide what happens to the window after a record was added to it."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when a processing-time timer is due: one of the trigger's, or the window's end."""

    @abstractmethod
    def on_event_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when an event-time timer is due: one of the trigger's, or the window's clean-up."""

    def can_merge(self) -> bool:
        """Return whether the trigger can be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W_contra, ctx: Trigger.OnMergeContext) -> None:
        """Register timers, and merge state, after several windows were merged into `window`.

        The timers of the old windows are deleted afterwards.
        """

    @abstractmethod
    def clear(self, window: W_contra, ctx: Trigger.TriggerContext) -> None:
        """Delete the timers and state of a window that has expired."""
