"""The operator harness: runs one function or operator alone, with a clock that only the test moves.

A test feeds records, checks the output, takes a snapshot, and continues from the snapshot in a new harness, also with
another parallelism. There are no threads: work that an operator submits to storage is done at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, final

from headgate.clock import VirtualClock
from headgate.datastream.data_stream import DataStream
from headgate.elements import MAX_TIMESTAMP, Barrier, Batch, Flow, SavepointOrder, Watermark
from headgate.functions.metrics import MetricGroup
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.operators.base import Operator, OperatorContext, OperatorFactory, OperatorSnapshot, UserCodeError
from headgate.runtime.exchange.credit import encoded
from headgate.state.descriptors import MapStateDescriptor
from headgate.state.files import KeyedState
from headgate.state.keygroups import group_of_key, subtask_of_group
from headgate.testing.factories import KeySelection, factory_of, factory_of_stream
from headgate.testing.recording_services import InMemoryWriter, RecordingServices
from headgate.testing.saved_operator import SavedOperator, Setup, held, restored_state
from headgate.types.output_tag import OutputTag
from headgate.types.typed_key import all_typed

__all__ = ["OperatorHarness", "SavedOperator", "Setup", "UserCodeError"]

_RESUMED_MAX: Final = 1000


def _travelled(batch: Batch) -> Batch:
    """Return the batch as it arrives in another slot. Raises `UserCodeError` naming a record that cannot be pickled."""
    return Batch.decode(encoded(batch))


@final
class OperatorHarness:
    """Runs one operator of one subtask, and is a context manager that opens and closes it.

    Records are pickled and unpickled on their way to the operator and back, as between slots. So the function shares no
    record with the test, and a record that cannot be pickled fails the test. The function itself is the object that the
    test passes: a test may look at it, and give it stand-ins of services. A job pickles its functions: pass a new one
    to each harness, and use `MiniCluster` to test that it can be pickled.

    Only the test moves time: `watermark` moves event time, `advance_time` the clocks, and both return what timers emit.
    The clock of each harness begins at 0, also in a restored harness: where that matters, as for time to live, move the
    clock to the time of the snapshot first.

    >>> from headgate.functions.api import KeyedProcessFunction
    >>> class Total(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
    ...     def process_element(self, value, ctx):
    ...         self.total.update((self.total.value() or 0) + value[1])
    ...         yield value[0], self.total.value()
    >>> from headgate.state.descriptors import ValueStateDescriptor
    >>> from headgate.types.typeinfo import Types
    >>> with OperatorHarness.of(Total(), key_by=lambda pair: pair[0]) as harness:
    ...     harness.process(("a", 1), ("b", 5), ("a", 2))
    ...     saved = harness.snapshot()
    [('a', 1), ('b', 5), ('a', 3)]
    >>> with OperatorHarness.of(Total(), key_by=lambda pair: pair[0], restored=[saved]) as harness:
    ...     harness.process(("a", 10))
    [('a', 13)]

    >>> class Alarm(KeyedProcessFunction):
    ...     missed = OutputTag("missed")
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(value[1])
    ...     def on_timer(self, timestamp, ctx):
    ...         yield f"{ctx.get_current_key()} at {timestamp}"
    ...         yield self.missed, ctx.timer_service().current_watermark() - timestamp
    >>> with OperatorHarness.of(Alarm(), key_by=lambda pair: pair[0]) as harness:
    ...     harness.process(("a", 30), ("b", 20), ("c", 70))
    ...     harness.watermark(50)
    ...     harness.side(Alarm.missed)
    []
    ['b at 20', 'a at 30']
    [30, 20]
    """

    def __init__(
        self,
        factory: OperatorFactory,
        *,
        key_by: KeySelection | None = None,
        key_by_second: KeySelection | None = None,
        restored: Iterable[SavedOperator] = (),
        setup: Setup | None = None,
    ) -> None:
        """`key_by` is the key selector of the first, or only, input. `restored` are snapshots of all subtasks.

        The harness restores the part of its own subtask.
        """
        self.services = RecordingServices()
        self.metrics = MetricGroup()
        """The metrics of the operator and its function."""
        self.operator: Operator = factory.create()
        self.setup = setup or Setup()
        self._key_by = key_by
        self._key_by_second = key_by_second
        self._sides: dict[str, list[Any]] = {}
        self._saved = list(restored)
        self._last_id = CheckpointId(max((saved.checkpoint_id for saved in self._saved), default=0))

    @classmethod
    def of(
        cls,
        function: Any,
        *,
        key_by: KeySelection | None = None,
        broadcast: Sequence[MapStateDescriptor] = (),
        **options: Any,
    ) -> OperatorHarness:
        """Return a harness around a user function, on a keyed stream if `key_by` is given.

        `broadcast` are the broadcast states, if there are any. A keyed second input uses `key_by`, too, unless
        `key_by_second` is given; further `options` are arguments of the constructor. Raises TypeError for any other
        object.
        """
        factory = factory_of(function, broadcast, is_keyed=key_by is not None)
        return cls(factory, key_by=key_by, **{"key_by_second": None if broadcast else key_by, **options})

    @classmethod
    def of_stream(cls, build: Callable[..., DataStream], **options: Any) -> OperatorHarness:
        """Return a harness around the operator that `build` adds to a stream, or to two, with their keys.

        `build` is what a program does with its streams. Raises TypeError if it adds no operator, or several.

        >>> from headgate.datastream.window import TumblingEventTimeWindows
        >>> from headgate.types.instant import Time
        >>> def sums(orders):
        ...     windows = TumblingEventTimeWindows.of(Time.seconds(10))
        ...     return orders.key_by(lambda order: order[0]).window(windows).sum(1)
        >>> with OperatorHarness.of_stream(sums) as harness:
        ...     harness.process(("fr", 1), ("fr", 2), timestamp_ms=1_000)
        ...     harness.process(("fr", 5), timestamp_ms=12_000)
        ...     harness.watermark(9_999)
        []
        []
        [('fr', 3)]
        """
        factory, keys = factory_of_stream(build)
        return cls(factory, **{"key_by": keys.get(0), "key_by_second": keys.get(1), **options})

    @property
    def clock(self) -> VirtualClock:
        """The clock that the operator reads."""
        return self.services.clock

    def open(self) -> None:
        """Restore and open the operator. Raises `UserCodeError`, `RestoreError`, `DamagedFileError`."""
        place = self.setup
        self.operator.open(
            OperatorContext(
                job_id=JobId("0" * 32),
                lineage=Lineage("0" * 32, 0),
                name="operator",
                uid="operator",
                subtask=place.subtask,
                parallelism=place.parallelism,
                max_parallelism=place.max_parallelism,
                attempt=Attempt(2 if self._saved else 1),
                checkpointing=place.checkpointing,
                parameters={},
                settings=place.settings,
                metrics=self.metrics,
                services=self.services,
                restored=restored_state(self._saved, place, is_source=self.operator.is_source),
                splits=None if self._saved else list(place.splits),
            )
        )
        self.operator.start()

    def close(self) -> None:
        """Close the operator, and remove its files."""
        self.operator.close()
        self.services.end_event_loop()
        if self.services.folder is not None:
            self.services.folder.cleanup()

    def __enter__(self) -> OperatorHarness:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def process(self, *records: Any, timestamp_ms: int | None = None) -> list[Any]:
        """Process records as one batch, all with the same timestamp; return the records that are emitted."""
        times = None if timestamp_ms is None else [timestamp_ms] * len(records)
        return self.process_batch(Batch(list(records), times)).records

    def process_second(self, *records: Any, timestamp_ms: int | None = None) -> list[Any]:
        """Process records, or broadcast elements, of the second input; return the records that are emitted."""
        times = None if timestamp_ms is None else [timestamp_ms] * len(records)
        batch = _travelled(Batch(list(records), times))
        if self._key_by_second is not None:
            batch.keys = all_typed([self._key_by_second(record) for record in batch.records])
        return self._emitted(self.operator.process_second(batch)).records

    def process_batch(self, batch: Batch) -> Batch:
        """Process a batch; return what is emitted. Raises `UserCodeError`."""
        batch = _travelled(batch)
        if self._key_by is not None:
            batch.keys = all_typed([self._key_by(record) for record in batch.records])
        return self._emitted(self.operator.process(batch))

    def watermark(self, timestamp_ms: int, records_max: int = 1000) -> list[Any]:
        """Move event time to `timestamp_ms`; return what the due timers emit, fired `records_max` at a time.

        An operator with running coroutines processes the watermark when they have ended, in `advance_time`.
        """
        if self.operator.room is not None and self.operator.hold(Watermark(timestamp_ms)):
            return self.later()
        out: list[Any] = []
        while (fired := self.operator.advance(timestamp_ms, records_max)) is not None:
            out += self._emitted(fired).records
        return out

    def end_input(self) -> list[Any]:
        """End the input, as bounded input ends: event time goes to its end, then the function is finished.

        Return what the last timers and coroutines emit. Snapshots may follow, but no records. Raises `UserCodeError`.
        """
        out = self.watermark(MAX_TIMESTAMP)
        self.operator.end_input()
        return out

    def advance_time(self, by_ms: float) -> list[Any]:
        """Move the clocks by `by_ms`; return what is emitted meanwhile, for example by processing-time timers.

        A coroutine that waits for a time on the way continues at that time; a timer starts coroutines at its time.
        """
        until_ms = self.clock.monotonic_ms() + by_ms
        out = self.later()
        while self.operator.room is not None and (wake_ms := self._wake_ms()) <= until_ms:
            self.clock.advance_to(wake_ms)
            out += self._due() + self.later()
        self.clock.advance_to(until_ms)
        return out + self._due()

    def _wake_ms(self) -> float:
        """Return the time at which the next coroutine or timer is due."""
        times = self.services.event_loop().wake_ms, self.operator.wake_ms
        return max(self.clock.monotonic_ms(), min((time for time in times if time is not None), default=math.inf))

    def _due(self) -> list[Any]:
        """Fire the due timers; return what they emit."""
        out: list[Any] = []
        while self.operator.wake_ms is not None and self.operator.wake_ms <= self.clock.monotonic_ms():
            out += self._records_of(self.operator.tick(self.clock.monotonic_ms()))
        return out

    def later(self) -> list[Any]:
        """Run the operator's coroutines, such as asynchronous calls, as far as they can; return what they emit.

        Coroutines that wait for a time continue in `advance_time`. Raises `UserCodeError`.
        """
        out: list[Any] = []
        while self.operator.room is not None:
            loop = self.services.event_loop()
            loop.step()
            if self.operator.woken:
                out += self._records_of(self.operator.resume(_RESUMED_MAX))
            elif not loop.is_ready:
                break
        return out

    def side(self, tag: OutputTag) -> list[Any]:
        """Return all values that the operator has emitted to a side output so far."""
        return self._sides.get(tag.tag_id, [])

    def state(self, name: str) -> dict[Any, Any]:
        """Return the values of a keyed state, by key; in windows, by key and window: as `("a", (0, 60000))`.

        A window of time appears as its start and end, a count window as its number. Lists and maps are Python lists and
        dicts; with a time to live, values come with the time of their last access. The result is empty for a state
        without values, and for a name that the function has never used.
        """
        return held(self.finish(self._savepoint_barrier()), name, self.setup.key_groups)

    def _records_of(self, flows: list[Flow]) -> list[Any]:
        self._take_sides()
        return [record for flow in flows if isinstance(flow, Batch) for record in _travelled(flow).records]

    def _emitted(self, batch: Batch) -> Batch:
        self._take_sides()
        return _travelled(batch)

    def _take_sides(self) -> None:
        sides, self.operator.sides = self.operator.sides, ()
        for tag_id, batch in sides:
            self._sides.setdefault(tag_id, []).extend(_travelled(batch).records)

    def owns(self, key: Any) -> bool:
        """Return whether records of the key belong to this subtask."""
        place = self.setup
        group = group_of_key(key, place.max_parallelism)
        return subtask_of_group(group, place.parallelism, place.max_parallelism) == place.subtask

    def barrier(self) -> OperatorSnapshot:
        """Take only the synchronous part of a snapshot; `finish` completes it later."""
        self._last_id = CheckpointId(self._last_id + 1)
        return self.operator.snapshot(Barrier(self._last_id, self.clock.wall_ms()))

    def _savepoint_barrier(self) -> OperatorSnapshot:
        order = SavepointOrder("/nowhere")
        return self.operator.snapshot(Barrier(self._last_id, self.clock.wall_ms(), savepoint=order))

    def finish(self, snapshot: OperatorSnapshot) -> SavedOperator:
        """Complete a snapshot that `barrier` has begun: read its keyed state, secure it, and return its contents."""
        snapshot.secure()
        keyed: KeyedState | None = None
        if snapshot.keyed is not None:
            while not snapshot.keyed.advance():
                pass
            keyed = snapshot.keyed.store(InMemoryWriter())
            self.operator.forget(snapshot)
        return SavedOperator(
            checkpoint_id=self._last_id,
            keyed=keyed,
            lists=dict(snapshot.lists),
            max_parallelism=self.setup.max_parallelism,
        )

    def snapshot(self) -> SavedOperator:
        """Take a whole snapshot."""
        return self.finish(self.barrier())

    def savepoint(self) -> SavedOperator:
        """Take a canonical savepoint: state in a special layout is written in the form that every backend reads."""
        self._last_id = CheckpointId(self._last_id + 1)
        return self.finish(self._savepoint_barrier())

    def complete(self) -> None:
        """Tell the operator that the last checkpoint is complete, so that sinks commit."""
        self.operator.notify_completed(self._last_id)

    def abort(self) -> None:
        """Tell the operator that the last checkpoint was aborted."""
        self.operator.notify_aborted(self._last_id)
