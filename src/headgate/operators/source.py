"""The operator of a `Source`: the head of a chain that polls a reader."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from headgate.checkpoint.restore.splits import KNOWN_STATE, ORDINALS_STATE, SPLITS_STATE, ordinals_of
from headgate.elements import Barrier, Batch, Flow
from headgate.errors import ProgramError
from headgate.functions.source import (
    END_OF_INPUT,
    EndOfInput,
    NoMoreSplits,
    NoMoreStages,
    NotReady,
    Poll,
    Records,
    Result,
    Source,
    SourceReader,
    SplitAssignment,
)
from headgate.functions.watermarks import WatermarkStrategy
from headgate.ids import CheckpointId
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot, expect
from headgate.operators.input_clock import InputOfReader
from headgate.operators.sequential_watermarks import SequentialWatermarks
from headgate.operators.source_alignment import SourceAlignment
from headgate.operators.split_watermarks import SplitWatermarks
from headgate.operators.stage_watermarks import SourceWatermarks, StageWatermarks
from headgate.operators.watermarks import STALLS_PER_TIMEOUT, WatermarkMaker
from headgate.options import UNALIGNED_SPLITS
from headgate.state.operator.list_elements import ListElements
from headgate.types.output_tag import OutputTag


@final
@dataclass(frozen=True, slots=True)
class _AssignedSplit:
    """A split when it was assigned: its ordinal, its pickle, and whether it was already partly read."""

    ordinal: int
    pickle: bytes
    begun: bool


@final
class SourceOperator(Operator):
    """Polls the reader of one subtask, and keeps its splits as operator state.

    With a strategy, it also assigns timestamps and watermarks to the records that it polled.
    """

    is_source = True

    def __init__(self, source: Source[Any], strategy: WatermarkStrategy | None = None) -> None:
        self._source = source
        self._strategy = strategy
        self.makes_watermarks = strategy is not None
        self._given_more = source.in_stages or source.discovery_interval_ms is not None
        self._awaits_splits = self._given_more
        self._given = 0
        self._told_read: int | None = None
        self._known: list[str] = []
        self._unread: dict[str, _AssignedSplit] = {}
        self._event_time: SourceWatermarks | StageWatermarks | None = None
        self._alignment: SourceAlignment | None = None
        self._paused: frozenset[str] = frozenset()
        self._emit_lag_ms: int | None = None
        self._polled = Records([])
        self._positions: dict[CheckpointId, list[Any]] = {}

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._owned = context.passing.of_type(context.output_type).owned
        self._inputs = InputOfReader(context.services, self._idle_timeout_ms() / STALLS_PER_TIMEOUT)
        if self._strategy is not None:
            self._event_time = self._event_time_by(self._strategy)
            if self._strategy.alignment is not None and self._strategy.progress is not None:
                self._alignment = SourceAlignment(self._strategy.alignment, self._now_ms())
        reader = self._source.reader(_Context(context, self._wake, self._emit_side))
        self._reader: SourceReader[Any] = expect(SourceReader, reader, self._source, "reader()")
        self._known = context.restored.values(KNOWN_STATE)
        if SPLITS_STATE in context.restored.lists:
            self._take(context.restored.values(SPLITS_STATE), ordinals_of(context.restored.lists))
        else:
            splits = context.splits or []
            self._take(splits, [(context.subtask + context.parallelism * n, False) for n in range(len(splits))])

    def _event_time_by(self, strategy: WatermarkStrategy) -> SourceWatermarks | StageWatermarks:
        def maker() -> WatermarkMaker:
            return WatermarkMaker(strategy, self.context, self._inputs)

        def of_stage(source: Source[Any]) -> SourceWatermarks:
            return (
                SplitWatermarks(maker, self._now_ms()) if source.watermarks_per_split else SequentialWatermarks(maker)
            )

        return StageWatermarks(self._source.stage_of, of_stage) if self._source.in_stages else of_stage(self._source)

    def _idle_timeout_ms(self) -> int:
        return 0 if self._strategy is None else self._strategy.idle_timeout_ms or 0

    def _now_ms(self) -> float:
        return self.context.services.clock.monotonic_ms()

    def add_splits(self, splits: SplitAssignment) -> None:
        if isinstance(splits, NoMoreSplits):
            self._awaits_splits = False
            self.woken = True
        if isinstance(splits, NoMoreSplits | NoMoreStages):
            if isinstance(self._event_time, StageWatermarks):
                self._event_time.last_stage(self._now_ms())
                self._note_wake()
        else:
            self._given += len(splits)
            self._take([split for _, split in splits], [(ordinal, False) for ordinal, _ in splits])

    def _take(self, splits: list[Any], ordinals: list[tuple[int, bool]]) -> None:
        ids = self._ids(splits)
        self._known = self._source.to_remember(dict.fromkeys([*self._known, *ids]))
        pickles = ListElements.of(splits).elements
        given = {
            split_id: _AssignedSplit(ordinal, pickle, begun)
            for split_id, pickle, (ordinal, begun) in zip(ids, pickles, ordinals, strict=False)
        }
        self._unread |= given
        if self._event_time is not None:
            self._event_time.take(
                {own: each.begun and self._source.stage_of(own).one_split_at_a_time for own, each in given.items()},
                self._now_ms(),
            )
        self._note_wake()
        self._reader.add_splits(splits)
        self.woken = True

    def _ids(self, splits: list[Any]) -> list[str]:
        """Return the ids of the splits; empty if the source has none.

        Ids are kept even if the source does not discover splits, because it may in a later run of the job.
        """
        try:
            return list(map(self._source.split_id, splits))
        except NotImplementedError:
            if self._given_more or self._source.watermarks_per_split or self._source.one_split_at_a_time:
                raise
            return []

    def _emit_side(self, tag: OutputTag, value: object) -> None:
        self.sides = (*self.sides, (tag.tag_id, Batch([value])))

    def _wake(self) -> None:
        self.woken = True
        self._inputs.woken()

    def poll(self, records_max: int) -> Batch | NotReady | EndOfInput:
        """Poll the reader. Raises `SourceError`, and `ProgramError` for a reader that breaks the protocol."""
        self.woken = False
        if self._alignment is not None and self._alignment.waits:
            self._inputs.paused()
            return NotReady(math.inf)
        self._inputs.polled()
        polled: Poll = self._reader.poll(records_max)
        if isinstance(polled, NotReady):
            self._inputs.had_nothing(polled.wake_ms)
            return polled
        if isinstance(polled, EndOfInput):
            return self._at_end() if self._given_more else polled
        expect(Records, polled, self._reader, "poll()")
        times = None if polled.timestamps is None else list(polled.timestamps)  # copied: a batch changes its lists
        if isinstance(polled.records, list):
            owned, is_plain = self._owned(polled)
            batch = Batch(owned, times)
            batch.is_plain = is_plain
        else:
            batch = Batch.of_arrow(polled.records, times)
        if batch.timestamps is not None and len(batch.timestamps) != len(batch):
            raise ProgramError(
                f"poll() of {type(self._reader).__name__} returned {len(batch.timestamps)} timestamps for {len(batch)} "
                "records, but must return one for each, or None"
            )
        if polled.split in self._paused and self._reader.pauses_splits and len(batch):
            raise ProgramError(
                f"poll() of {type(self._reader).__name__} returned records of split {polled.split!r}, which is paused: "
                "the last call of pause_splits() named it"
            )
        self._polled = Records([], split=polled.split, ended=polled.ended)  # keeps no reference to the records
        self._note_lag(batch)
        return batch

    def _at_end(self) -> NotReady | EndOfInput:
        """Report once that all splits are read. Then end, or wait for more splits."""
        if self._told_read != self._given:
            self._told_read = self._given
            self.context.services.splits_read(self._given)
            if isinstance(self._event_time, StageWatermarks):
                self._event_time.wait()
        if not self._awaits_splits:
            return END_OF_INPUT
        self._inputs.had_nothing(math.inf)
        return NotReady(math.inf)

    def mark(self, batch: Batch) -> list[Flow]:
        assert self._event_time is not None
        if not len(batch) and self._polled.split is None:
            return []
        marked = self._event_time.mark(batch, self._polled.split, ended=self._polled.ended)
        self._note_lag(batch)
        self._keep_to_alignment(marked)
        self._note_wake()
        return marked

    def _note_lag(self, batch: Batch) -> None:
        if batch.timestamps:
            self._emit_lag_ms = self.context.services.clock.wall_ms() - batch.timestamps[-1]

    @property
    def emit_lag_ms(self) -> int | None:
        return self._emit_lag_ms

    def tick(self, now_ms: float) -> list[Flow]:
        assert self._event_time is not None
        ticked = self._event_time.tick(now_ms)
        self._keep_to_alignment(ticked)
        if self._alignment is not None and now_ms >= self._alignment.wake_ms:
            self._report(self._alignment, now_ms)
        self._note_wake()
        return ticked

    def _note_wake(self) -> None:
        wakes = (own.wake_ms for own in (self._event_time, self._alignment) if own is not None)
        self.wake_ms = min((wake_ms for wake_ms in wakes if wake_ms is not None), default=None)

    # --- alignment of watermarks

    def allow_watermark(self, allowed_ms: int) -> None:
        if self._alignment is not None:
            self._alignment.allow(allowed_ms)
            self._keep_to_alignment([])
            self.woken = True

    @property
    def alignment_drift_ms(self) -> int | None:
        return None if self._alignment is None else self._alignment.drift_ms

    def _report(self, alignment: SourceAlignment, now_ms: float) -> None:
        watermark_ms = alignment.take_report(now_ms)
        awaits_stage = isinstance(self._event_time, StageWatermarks) and self._event_time.awaits_stage
        self.context.services.report_watermark(None if awaits_stage else watermark_ms)

    def _keep_to_alignment(self, emitted: list[Flow]) -> None:
        """Take the emitted watermarks, and pause exactly the splits that are too far ahead now."""
        if self._alignment is None or self._event_time is None:
            return
        self._alignment.follow(emitted)
        ahead = self._alignment.ahead(self._event_time.watermarks_ms)
        if ahead != self._paused:
            self._paused = ahead
            self._pause(ahead, self._event_time)

    def _pause(self, ahead: frozenset[str], event_time: SourceWatermarks | StageWatermarks) -> None:
        if self._reader.pauses_splits:
            self._reader.pause_splits(ahead)
            event_time.pause(ahead)
        elif not self.context.settings.get(UNALIGNED_SPLITS):
            raise ProgramError(
                f"{type(self._reader).__name__} reads several splits, but cannot pause those that are ahead, now "
                f"{sorted(ahead)}, as with_watermark_alignment() needs: define pauses_splits and pause_splits(), or "
                f"set {UNALIGNED_SPLITS.key} to true to align whole subtasks only"
            )

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        positions = expect(list, self._reader.snapshot(), self._reader, "snapshot()")
        self._positions[barrier.checkpoint_id] = positions
        lists = {SPLITS_STATE: ListElements.of(positions)}
        if self._known or self._given_more:
            lists[KNOWN_STATE] = ListElements.of(self._known)
        ids = self._ids(positions)
        if ids:
            lists[ORDINALS_STATE] = ListElements.of(map(self._ordinal, ids, lists[SPLITS_STATE].elements))
        self._unread = {split_id: self._unread[split_id] for split_id in ids}
        return OperatorSnapshot(uid=self.context.uid, lists=lists)

    def _ordinal(self, split_id: str, pickle: bytes) -> tuple[int, bool]:
        given = self._unread.get(split_id)
        if given is None:
            raise ProgramError(
                f"snapshot() of {type(self._reader).__name__} returned split {split_id!r}, which the reader was not "
                f"given or had left out before; it has {sorted(self._unread)}"
            )
        return given.ordinal, given.begun or given.pickle != pickle

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        positions = self._positions.get(checkpoint_id)
        if positions is not None:
            self._reader.notify_completed(positions)
        self._positions = {own: splits for own, splits in self._positions.items() if own > checkpoint_id}

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        self._positions.pop(checkpoint_id, None)

    def close(self) -> None:
        self._reader.close()


@final
class _Context:
    """The `SourceContext` of a reader."""

    def __init__(
        self, context: OperatorContext, wake: Callable[[], None], emit_side: Callable[[OutputTag, object], None]
    ) -> None:
        self._context = context
        self._wake = wake
        self._emit_side = emit_side

    @property
    def subtask(self) -> int:
        return self._context.subtask

    @property
    def parallelism(self) -> int:
        return self._context.parallelism

    def monotonic_ms(self) -> float:
        return self._context.services.clock.monotonic_ms()

    def count(self, name: str, by: int = 1) -> None:
        self._context.services.count(name, by)

    def side_output(self, tag: OutputTag, value: object) -> None:
        self._emit_side(tag, value)

    def submit(self, work: Callable[[], Result], done: Callable[[Result | BaseException], None]) -> None:
        def deliver(result: Result | BaseException) -> None:
            done(result)
            self._wake()

        self._context.services.submit_waiting(work, deliver)


@final
@dataclass(frozen=True, slots=True)
class SourceFactory:
    """Makes the operator of a `Source`."""

    source: Source[Any]
    strategy: WatermarkStrategy | None = None

    def create(self) -> SourceOperator:
        return SourceOperator(self.source, self.strategy)
