"""Asynchronous functions on a keyed stream: invocations of different keys run at the same time.

Each invocation is a transaction. The records and timers of one key are processed one after the other. A watermark waits
for all earlier invocations; later invocations wait for the watermark and the timers that it fires. A snapshot holds the
state without the writes of invocations in progress, together with their inputs.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, cast, final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Barrier, Batch, Flow, Watermark, WatermarkStatus
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import TimeDomain
from headgate.operators.base import OperatorContext, OperatorSnapshot, UserCodeError
from headgate.operators.calls import expect_records
from headgate.operators.invocation_state import Draft, cell_of
from headgate.operators.invocations import DraftOwner, FiredTimer, Invocation
from headgate.operators.keyed import KeyedOperator, no_call
from headgate.operators.keyed_context import KeyedTimerService
from headgate.operators.outputs import split_sides
from headgate.operators.pending import PENDING_STATE, CallingOperator, PendingInput, Progress, TimersDue, time_of
from headgate.operators.runtime_context import Runtime
from headgate.options import ASYNC_STATE_LIMIT
from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.timer_index import NEVER
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.time.timers import Timers
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped

PROGRESS_STATE: Final = "headgate:pending-progress"
"""For each subtask: its key groups (start, stop), its current event time, and the last watermark it received."""

EVENT, PROCESSING = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME
_CHANGES: Final = {
    (EVENT, True): KeyedTimerService.register_event_time_timer,
    (EVENT, False): KeyedTimerService.delete_event_time_timer,
    (PROCESSING, True): KeyedTimerService.register_processing_time_timer,
    (PROCESSING, False): KeyedTimerService.delete_processing_time_timer,
}
"""The method that changes a timer, by time domain and whether the timer is registered or deleted."""


@final
class AsyncKeyedOperator(CallingOperator, KeyedOperator):
    """Runs the coroutines of a `KeyedProcessFunction`."""

    def __init__(self, function: KeyedProcessFunction) -> None:
        CallingOperator.__init__(self, 1, ordered=False, keyed=True)
        KeyedOperator.__init__(self, function, lambda _function, _runtime: no_call)
        self._function = function
        self._queues: dict[Any, deque[PendingInput]] = {}
        """The inputs of each key before the next watermark; the first input of a key is in progress."""
        self._fired: dict[tuple[Any, FiredTimer], PendingInput] = {}
        """The due timers, by key, except timers whose invocations have begun."""
        self._begun = self._segments[0]
        """The segment whose inputs may begin."""
        self._calls: dict[PendingInput, tuple[Invocation, asyncio.Task[None]]] = {}
        self._reached_ms = MIN_TIMESTAMP
        self._is_over = False
        """Whether a batch job has fired its last event-time timers; then no processing-time timer can be registered."""

    def open(self, context: OperatorContext) -> None:
        self._capacity = context.settings.get(ASYNC_STATE_LIMIT)
        super().open(context)

    def _open_function(self, context: OperatorContext) -> Runtime:
        self._owner = DraftOwner(self._backend, self._loop)
        return self._loop.call(partial(self._user.open, context, cast("KeyedBackend", self._owner)))

    def _restore(self, context: OperatorContext) -> None:
        """Add the restored inputs. Make due the timers that a waiting watermark was about to fire.

        The saved subtasks may have received different watermarks. The smallest watermark of the subtasks whose keys are
        here now makes its timers due; later timers wait for the next watermark.
        """
        progress = [
            times
            for first, end, *times in context.restored.values(PROGRESS_STATE)
            if first < context.key_groups.stop and context.key_groups.start < end
        ]
        reached_ms, received_ms = map(min, zip(*progress, strict=True)) if progress else (MIN_TIMESTAMP,) * 2
        saved = [(min(after_ms, received_ms), *given) for *given, after_ms in context.restored.values(PENDING_STATE)]
        for after_ms, record, timestamp, key in sorted(saved, key=itemgetter(0)):
            reached_ms = self._wait_for(after_ms, reached_ms)
            self._add(PendingInput(record, timestamp, key))
        self._wait_for(received_ms, reached_ms)

    def _wait_for(self, time_ms: int, reached_ms: int) -> int:
        if time_ms > reached_ms:
            self.put_behind(TimersDue(time_ms))
            self.woken = True
        return max(time_ms, reached_ms)

    # --- which inputs begin

    def _add(self, pending: PendingInput) -> None:
        self._put(self._segments[-1], pending)

    def _put(self, segment: Any, pending: PendingInput) -> None:
        self._note(segment, pending)
        if segment is self._begun:
            self._enqueue(pending)

    def _note(self, segment: Any, pending: PendingInput) -> None:
        segment.inputs[pending] = None
        self._segment_of[pending] = segment
        if type(pending.record) is FiredTimer:
            self._fired[pending.key, pending.record] = pending

    def _enqueue(self, pending: PendingInput) -> None:
        queue = self._queues.setdefault(pending.key, deque())
        queue.append(pending)
        if len(queue) == 1:
            self._to_begin.append(pending)

    def begin(self, pending: PendingInput) -> None:
        time, domain = pending.timestamp, EVENT
        if type(pending.record) is FiredTimer:
            time, domain = pending.record.timestamp, pending.record.domain
            del self._fired[pending.key, pending.record]
        draft = Draft(self._backend, pending.key, self._owner.forms)
        invocation = Invocation(draft, self._context.timers, time, domain)
        self._calls[pending] = invocation, self._loop.create_task(self._invoke(pending, invocation))

    async def _invoke(self, pending: PendingInput, invocation: Invocation) -> None:
        invocation.begin()
        try:
            results = await self._results(pending.record, invocation)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # the loop would only log it
            self._failed(pending, error)
        else:
            invocation.end()
            if pending in self._calls:
                self.done(pending, results)

    async def _results(self, record: Any, invocation: Invocation) -> list[Any]:
        method: Callable[[Any, Any], Any] = self._function.process_element
        if type(record) is FiredTimer:
            method, record = self._function.on_timer, record.timestamp
        given = method(self._copied(record), invocation)
        out: list[Any] = []
        if inspect.isasyncgen(given):
            async for each in given:
                emitted = [each]
                del each  # the loop's own reference, which would count as a holder
                self._extend(out, emitted)
            return out
        results = await given if inspect.isawaitable(given) else given
        if results is not None:
            expect_records(results, method)
            self._extend(out, results)
        return out

    def _failed(self, pending: PendingInput, error: BaseException) -> None:
        if pending not in self._calls:
            return
        key, record = untyped(pending.key), pending.record
        if type(record) is FiredTimer:
            self._fail(UserCodeError(key=key, during=f"on_timer({record.timestamp})"), error)
        else:
            self._fail(UserCodeError(record=record, key=key), error)

    # --- how inputs end

    def resume(self, records_max: int) -> list[Flow]:
        flows = super().resume(records_max)
        self._open_segment()
        self._begin()
        self._left()
        return [self._main(flow) for flow in flows] if OutputTag.in_use else flows

    def _main(self, flow: Flow) -> Flow:
        if not isinstance(flow, Batch):
            return flow
        main, sides = split_sides(flow.records, flow.timestamps)
        self.sides = (*self.sides, *sides)
        return main

    def _left(self) -> None:
        self._backend.leave()
        self._set_alarm()

    def _set_alarm(self) -> None:
        super()._set_alarm()
        if self.room <= 0:
            self.wake_ms = None

    def _open_segment(self) -> None:
        if self._segments[0] is not self._begun:
            self._begun = self._segments[0]
            for pending in self._begun.inputs:
                self._enqueue(pending)

    def _take(self, segment: Any, pending: PendingInput) -> list[Any]:
        """Apply the writes of the invocation, and let the key's next invocation begin."""
        results = super()._take(segment, pending)
        invocation, _ = self._calls.pop(pending)
        invocation.draft.apply()
        queue = self._queues[pending.key]
        queue.popleft()
        for change in invocation.changes:
            self._change(pending.key, queue, change.timer, registered=change.registered)
        if queue:
            self._to_begin.append(queue[0])
        else:
            del self._queues[pending.key]
        return results

    def _change(self, key: Any, queue: deque[PendingInput], timer: FiredTimer, *, registered: bool) -> None:
        """Register or delete a timer, which may already be due and wait in the queue."""
        if self._is_over and timer.domain is PROCESSING:
            return
        fired = self._fired.get((key, timer))
        if registered and fired is None:
            later = self._fired_later(queue, timer)
            if later is None:
                self._set(key, timer, registered=True)
            else:
                pending = PendingInput(timer, timer.timestamp, key)
                self._note(self._begun, pending)
                queue.insert(later, pending)
        elif not registered and fired is not None:
            self._drop(fired, queue)
        elif not registered:
            self._set(key, timer, registered=False)

    def _set(self, key: Any, timer: FiredTimer, *, registered: bool) -> None:
        """Register or delete a timer in the state of the key."""
        self._backend.current.cell = cell_of(self._backend, key)
        _CHANGES[timer.domain, registered](self._context.timers, timer.timestamp)

    def _drop(self, fired: PendingInput, queue: deque[PendingInput]) -> None:
        """Drop a due timer, which waits in the key's queue or in a segment that has not begun."""
        segment = self._segment_of.pop(fired)
        del segment.inputs[fired], self._fired[fired.key, fired.record]
        if segment is self._begun:
            queue.remove(fired)

    def _fired_later(self, queue: deque[PendingInput], timer: FiredTimer) -> int | None:
        """Return the position in the queue of the first due event-time timer with a later time; None without one."""
        if timer.domain is not EVENT or not self._fired:
            return None
        for at, each in enumerate(queue):
            fired = each.record
            if type(fired) is FiredTimer and fired.domain is EVENT and fired.timestamp > timer.timestamp:
                return at
        return None

    # --- time

    def hold(self, progress: Watermark | WatermarkStatus) -> bool:
        if super().hold(progress):
            return True
        if not isinstance(progress, Watermark) or not self._makes_due(progress.timestamp_ms):
            return False
        self.put_behind(progress)
        self.woken = True
        return True

    def _makes_due(self, watermark_ms: int) -> bool:
        event, processing = self._context.timers.event, self._context.timers.processing
        if event is not None and event.head_ms <= watermark_ms:
            return True
        return self.context.all_keys and processing is not None and processing.head_ms != NEVER

    def reach(self, progress: Progress) -> bool:
        self._open_segment()
        if isinstance(progress, WatermarkStatus):
            return True
        timers = self._context.timers
        self._reached_ms = progress.timestamp_ms
        if isinstance(progress, Watermark):
            timers.watermark_ms = progress.timestamp_ms
        if timers.event is not None:
            self._fire_into(self._begun, timers.event, progress.timestamp_ms, EVENT)
        if self.context.all_keys and timers.processing is not None and not self._begun.inputs:
            self._is_over = True
            self._fire_into(self._begun, timers.processing, MAX_TIMESTAMP, PROCESSING)
        return not self._begun.inputs

    def _fire_into(self, segment: Any, timers: Timers, until_ms: int, domain: TimeDomain) -> None:
        """Add an input for each due timer, as far as there is room."""
        for time_ms in timers.due(until_ms, max(1, self.room)):
            timestamp = time_ms if domain is EVENT else None
            self._put(segment, PendingInput(FiredTimer(time_ms, domain), timestamp, self._backend.current.cell[KEY]))

    def tick(self, now_ms: float) -> list[Flow]:
        processing = self._context.timers.processing
        if processing is not None and self.room > 0:
            wall_ms = self.context.services.clock.wall_ms()
            self._fire_into(self._segments[-1], processing, wall_ms, PROCESSING)
        self._background_ms = self._backend.background(now_ms)
        self._begin()
        self._left()
        return []

    # --- checkpoints

    @property
    def _after_ms(self) -> int:
        """The last watermark before the inputs that may begin; an earlier time while its timers are called."""
        reached_ms = max(self._reached_ms, self._context.timers.watermark_ms)
        end_ms = time_of(self._begun.end, MAX_TIMESTAMP)
        return min(reached_ms, end_ms - 1)

    def in_order(self) -> Iterator[tuple[PendingInput, int]]:
        turns = {key: iter(queue) for key, queue in self._queues.items()}
        after_ms = self._after_ms
        for pending in self._begun.inputs:
            yield next(turns[pending.key]), after_ms
        for segment in self._segments:
            if segment is not self._begun:
                yield from zip(segment.inputs, repeat(after_ms))  # ends with the inputs
            after_ms = time_of(segment.end, after_ms)

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        self._backend.leave()
        state = KeyedOperator.snapshot(self, barrier)
        received_ms = self._after_ms
        for segment in self._segments:
            received_ms = time_of(segment.end, received_ms)
        groups = self.context.key_groups
        progress = ListElements.of([(groups.start, groups.stop, self._after_ms, received_ms)], ListMode.UNION)
        return replace(state, lists={**state.lists, **super().snapshot(barrier).lists, PROGRESS_STATE: progress})

    def end_input(self) -> None:
        self._loop.call(self._user.finish)

    def close(self) -> None:
        """Cancel the invocations in progress, which then have no effect, and close the function."""
        calls, self._calls = self._calls, {}
        self._cancel(task for _, task in calls.values())
        try:
            self._loop.call_and_wait(self._user.close)
        finally:
            self._backend.close()


@final
@dataclass(frozen=True, slots=True)
class AsyncKeyedFactory:
    """Makes an `AsyncKeyedOperator`."""

    function: KeyedProcessFunction

    def create(self) -> AsyncKeyedOperator:
        return AsyncKeyedOperator(self.function)
