"""The keyed operator: runs user functions on a keyed stream, with state and timers for each key.

All functions on keyed streams run through one `KeyedLoop` and differ only in their `KeyedCall`, which turns a record
into results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from headgate.elements import MAX_TIMESTAMP, Barrier, Batch, Flow
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.broadcast import KeyedBroadcastProcessFunction
from headgate.functions.connected import KeyedCoProcessFunction
from headgate.functions.context import TimeDomain
from headgate.functions.record_errors import RecordErrors
from headgate.ids import CheckpointId
from headgate.operators.base import USER_ERRORS, Operator, OperatorContext, OperatorSnapshot, UserCodeError, last_index
from headgate.operators.calls import many
from headgate.operators.keyed_context import KeyedContext
from headgate.operators.keyed_loop import KeyedCall, keyed_loop
from headgate.operators.outputs import split_sides
from headgate.operators.runtime_context import Runtime
from headgate.operators.user_function import UserFunction
from headgate.state.backend import BackendContext, KeyedSnapshot, open_backend
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.timer_index import NEVER
from headgate.time.timers import Timers
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import untyped

TIMERS_PER_TICK: Final = 1024

_WITHOUT_TIMERS: Final = (
    None,
    KeyedProcessFunction.on_timer,
    KeyedCoProcessFunction.on_timer,
    KeyedBroadcastProcessFunction.on_timer,
)
"""The `on_timer` methods that a function has if its class does not override them."""


def has_timers(function: object) -> bool:
    """Return whether the function's class overrides `on_timer`."""
    return getattr(type(function), "on_timer", None) not in _WITHOUT_TIMERS


class KeyedOperator(Operator):
    """Runs a user function for each record, with the record's key as the current key."""

    timer_delay_ms = 0
    """Milliseconds by which processing-time timers fire after their time."""

    def __init__(
        self, function: object, bind: Callable[[Any, Any], KeyedCall], errors: RecordErrors | None = None
    ) -> None:
        self._user = UserFunction(function, errors)
        self._bind = bind

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        services = context.services
        self._extend, self._copied = context.passing.extend, context.passing.copied
        self._backend = backend = open_backend(
            BackendContext(
                uid=context.uid,
                name=context.name,
                subtask=context.subtask,
                key_groups=context.key_groups,
                max_parallelism=context.max_parallelism,
                clock=services.clock,
                settings=context.settings,
                services=services.of_backend(context.uid),
                scratch=lambda: services.scratch(context.uid),
                checkpointing=context.checkpointing,
            )
        )
        if context.restored.keyed:
            backend.restore(context.restored.keyed, f"keyed state of operator {context.uid!r}")
        self._keyed_loop = keyed_loop(context.native, backend, self._extend)
        self._runtime = self._open_function(context)
        self._context = self._make_context()
        self._call = self._user.guarded(self._bind(self._user.function, self._runtime))
        self._on_timer = many(getattr(self._user.function, "on_timer", _nothing), context.native)
        if context.restored.keyed and self._has_timers():
            self._context.timers.restore()
        self._set_alarm()

    def _open_function(self, context: OperatorContext) -> Runtime:
        return self._user.open(context, self._backend)

    def _make_context(self) -> KeyedContext:
        return KeyedContext(self._backend, self.context.services.clock)

    def _has_timers(self) -> bool:
        return has_timers(self._user.function)

    # --- records

    def process(self, batch: Batch) -> Batch:
        return self._process(batch, self._call)

    def _process(self, batch: Batch, call: KeyedCall, during: str = "") -> Batch:
        """Process a batch of either input. `during` names the method, for operators that call several."""
        keys, backend = batch.keys, self._backend
        if keys is None:
            raise UserCodeError(during="a keyed operator got records without keys")
        if backend.prefetch is not None:
            backend.prefetch(keys)
        self._position = iter(batch.records)
        try:
            timestamps = batch.timestamps
            out = self._run(keys, call) if timestamps is None else self._run_timed(keys, timestamps, call)
        except USER_ERRORS as error:
            index = last_index(batch.records, self._position)
            raise UserCodeError(record=batch.records[index], key=untyped(keys[index]), during=during) from error
        finally:
            backend.leave()
        if self._context.timers.in_use:
            self._set_alarm()
        return self._split(out)

    def _run(self, keys: list[Any], call: KeyedCall) -> Batch:
        return Batch(self._keyed_loop.run(keys, self._position, call, self._context.at(None)))

    def _run_timed(self, keys: list[Any], timestamps: list[int], call: KeyedCall) -> Batch:
        return Batch(*self._keyed_loop.run_timed(keys, timestamps, self._position, call, self._context))

    def _split(self, out: Batch) -> Batch:
        if not OutputTag.in_use:
            return out
        main, self.sides = split_sides(out.records, out.timestamps)
        return main

    # --- time

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        timers = self._context.timers
        timers.watermark_ms = watermark_ms
        event = timers.event
        if event is None or event.head_ms > watermark_ms:
            return None
        fired = self._fire(event, watermark_ms, records_max, TimeDomain.EVENT_TIME)
        if timers.in_use:
            self._set_alarm()
        return fired

    def tick(self, now_ms: float) -> list[Flow]:
        flows: list[Flow] = []
        timers = self._context.timers
        processing, wall_ms = timers.processing, self.context.services.clock.wall_ms() - self.timer_delay_ms
        if processing is not None and processing.head_ms <= wall_ms:
            flows.append(self._fire(processing, wall_ms, TIMERS_PER_TICK, TimeDomain.PROCESSING_TIME))
        self._background_ms = self._backend.background(now_ms)
        self._set_alarm()
        return flows

    def _fire(self, timers: Timers, until_ms: int, limit: int, domain: TimeDomain) -> Batch:
        """Call the function for at most about `limit` due timers; return the results.

        Results of an event-time timer have the timer's time as timestamp. Results of a processing-time timer have none.
        """
        context, backend = self._context.of_timers(domain).at(until_ms), self._backend
        try:
            out, times = self._keyed_loop.fire(timers, until_ms, limit, self._on_timer, context)
        except USER_ERRORS as error:
            during = f"on_timer({context._timestamp})"
            raise UserCodeError(key=untyped(backend.current.cell[KEY]), during=during) from error
        finally:
            backend.leave()
        return self._split(Batch(out, times if domain is TimeDomain.EVENT_TIME else None))

    def end_keys(self, records_max: int) -> Iterator[Batch]:
        """Fire all timers, then drop all state: a batch job's input is sorted by key, so these keys are done.

        Event-time timers fire first, including timers that they register. Processing-time timers fire next; they may
        register event-time timers, which then fire, but no processing-time timers. Yields the results of about
        `records_max` timers at a time. Raises `UserCodeError`.
        """
        timers = self._context.timers
        watermark_ms, timers.watermark_ms = timers.watermark_ms, MAX_TIMESTAMP
        yield from self._fire_event_timers(records_max)
        if timers.processing is not None:
            timers.processing.is_closed = True
            while timers.processing.head_ms != NEVER:
                yield self._fire(timers.processing, MAX_TIMESTAMP, records_max, TimeDomain.PROCESSING_TIME)
            yield from self._fire_event_timers(records_max)
            timers.processing.is_closed = False
        timers.watermark_ms = watermark_ms
        assert isinstance(self._backend, HashMapBackend)  # batch jobs have no other backend
        self._backend.drop_all()

    def _fire_event_timers(self, records_max: int) -> Iterator[Batch]:
        event = self._context.timers.event
        while event is not None and event.head_ms != NEVER:
            yield self._fire(event, MAX_TIMESTAMP, records_max, TimeDomain.EVENT_TIME)

    _background_ms: float | None = 0.0
    """When the backend next has background work, on the monotonic clock; 0.0 asks it at the first tick."""

    def _set_alarm(self) -> None:
        """Set `wake_ms` to the next processing-time timer or the backend's background work, whichever is first."""
        wake_ms = self._background_ms
        processing = self._context.timers.processing
        if processing is not None and processing.head_ms != NEVER:
            clock = self.context.services.clock
            due_ms = clock.monotonic_ms() + max(0, processing.head_ms + self.timer_delay_ms - clock.wall_ms())
            wake_ms = due_ms if wake_ms is None else min(wake_ms, due_ms)
        self.wake_ms = wake_ms

    # --- checkpoints

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        lists = self._user.snapshot(barrier)
        return OperatorSnapshot(uid=self.context.uid, keyed=self._keyed_snapshot(barrier), lists=lists)

    def _keyed_snapshot(self, barrier: Barrier) -> KeyedSnapshot | None:
        if not self._backend.has_states:
            return None
        if barrier.savepoint is not None:
            return self._backend.savepoint(barrier.checkpoint_id, barrier.savepoint.format)
        return self._backend.snapshot(barrier.checkpoint_id) if self.context.checkpointing else None

    def forget(self, snapshot: OperatorSnapshot) -> None:
        if snapshot.keyed is not None:
            self._backend.forget(snapshot.keyed)

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        self._backend.notify_completed(checkpoint_id)
        self._user.notify_completed(checkpoint_id)

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        self._backend.notify_aborted(checkpoint_id)
        self._user.notify_aborted(checkpoint_id)

    def end_input(self) -> None:
        self._user.finish()

    def close(self) -> None:
        try:
            self._user.close()
        finally:
            self._backend.close()


def no_call(value: Any, context: KeyedContext) -> None:
    """A `KeyedCall` that does nothing, for operators that process whole batches."""


def _nothing(timestamp: int, ctx: KeyedContext) -> None:
    """Do nothing: the `on_timer` of a function that has none."""


__all__ = ["KeyedCall", "KeyedContext", "KeyedOperator", "no_call"]
