"""The triggers of Flink: by event time, by processing time, by count, by difference, and triggers that wrap another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final, TypeVar, final

from headgate.errors import ProgramError
from headgate.functions.windows.assigner import is_whole, millis_of
from headgate.functions.windows.trigger import Trigger, TriggerResult
from headgate.functions.windows.window import GlobalWindow, TimeWindow, Window
from headgate.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from headgate.types.instant import Duration, Time
from headgate.types.typeinfo import TypeInformation, Types

W = TypeVar("W", bound=Window)

_CONTINUE: Final = TriggerResult.CONTINUE
_FIRE: Final = TriggerResult.FIRE


class QuietTrigger(Trigger[Any, W]):
    """A trigger that does nothing: its subclasses override some of the methods."""

    def on_element(self, element: Any, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _CONTINUE

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        pass


@final
class NeverTrigger(QuietTrigger[GlobalWindow]):
    """Never fires: the default of `GlobalWindows`."""

    def can_merge(self) -> bool:
        return False


@final
class EventTimeTrigger(QuietTrigger[TimeWindow]):
    """Fires when the watermark passes the end of the window, and then for each late record."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """Return the trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _FIRE if time == window.max_timestamp() else _CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


@final
class ProcessingTimeTrigger(QuietTrigger[TimeWindow]):
    """Fires when the wall clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Return the trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class _Continuous(QuietTrigger[TimeWindow]):
    """Fires at each multiple of an interval while the window has records; `fire-time` holds the next time."""

    def __init__(self, interval: int) -> None:
        if not is_whole(interval) or interval <= 0:
            raise ProgramError(
                f"{type(self).__name__} needs an interval of more than 0 ms, as a whole number, not {interval!r}"
            )
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", min, Types.LONG())

    def _begin(self, now: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Set the first time, if none is set."""
        next_fire = ctx.get_partitioned_state(self.state_desc)
        if next_fire.get() is None:
            self._set_next(now - now % self.interval, window, ctx)

    def _set_next(self, now: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        time = min(now + self.interval, window.max_timestamp())
        ctx.get_partitioned_state(self.state_desc).add(time)
        self._register(time, ctx)

    def _is_next(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> bool:
        """Return whether the window fires now; the next time is then set."""
        next_fire = ctx.get_partitioned_state(self.state_desc)
        if next_fire.get() != time:
            return False
        next_fire.clear()
        if time < window.max_timestamp():
            self._set_next(time, window, ctx)
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.state_desc)
        next_fire = ctx.get_partitioned_state(self.state_desc).get()
        if next_fire is not None:
            self._register(next_fire, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        next_fire = ctx.get_partitioned_state(self.state_desc)
        time = next_fire.get()
        if time is not None:
            self._delete(time, ctx)
            next_fire.clear()

    @abstractmethod
    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Register a timer of the clock that the trigger follows."""

    @abstractmethod
    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Delete a timer of that clock."""


@final
class ContinuousEventTimeTrigger(_Continuous):
    """Fires each time the watermark passes a multiple of the interval, and at the end of the window."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousEventTimeTrigger:
        """Return the trigger. Raises ProgramError."""
        return ContinuousEventTimeTrigger(millis_of("the interval", interval))

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._begin(timestamp, window, ctx)
        return _CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _FIRE if time == window.max_timestamp() or self._is_next(time, window, ctx) else _CONTINUE

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        super().clear(window, ctx)
        ctx.delete_event_time_timer(window.max_timestamp())

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        super().on_merge(window, ctx)
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


@final
class ContinuousProcessingTimeTrigger(_Continuous):
    """Fires each time the wall clock passes a multiple of the interval, and at the end of the window."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousProcessingTimeTrigger:
        """Return the trigger. Raises ProgramError."""
        return ContinuousProcessingTimeTrigger(millis_of("the interval", interval))

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        self._begin(ctx.get_current_processing_time(), window, ctx)
        return _CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _FIRE if self._is_next(time, window, ctx) else _CONTINUE

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


@final
class CountTrigger(QuietTrigger[Window]):
    """Fires each time the window has received `window_size` more records."""

    def __init__(self, window_size: int) -> None:
        if not is_whole(window_size) or window_size < 1:
            raise ProgramError(f"a CountTrigger needs a count of at least 1, as a whole number, not {window_size!r}")
        self._window_size = window_size
        self._count = ReducingStateDescriptor("count", lambda count, more: count + more, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Return the trigger. Raises ProgramError."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self._window_size:
            return _CONTINUE
        count.clear()
        return _FIRE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()


@final
class DeltaTrigger(QuietTrigger[Window]):
    """Fires when a record differs by more than a threshold from the record that fired last.

    >>> by_distance = DeltaTrigger.of(50.0, lambda old, new: abs(new[1] - old[1]), Types.PICKLED_BYTE_ARRAY())
    """

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float], type_info: TypeInformation
    ) -> None:
        self._threshold = threshold
        self._delta_function = delta_function
        self._last = ValueStateDescriptor("last-element", type_info)

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float], type_info: TypeInformation) -> DeltaTrigger:
        """Return the trigger; `delta_function` is given the record that fired last and the new one."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(self._last)
        last = state.value()
        if last is None:
            state.update(element)
            return _CONTINUE
        if self._delta_function(last, element) <= self._threshold:
            return _CONTINUE
        state.update(element)
        return _FIRE

    def can_merge(self) -> bool:
        return False

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()


@final
class PurgingTrigger(Trigger[Any, Window]):
    """Behaves like another trigger, and removes the window's contents whenever that trigger fires."""

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise ProgramError(f"a PurgingTrigger needs another Trigger to wrap, not {nested_trigger!r}")
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Return the trigger. Raises ProgramError."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result is _FIRE else result
