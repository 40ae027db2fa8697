"""All ways to align barriers against dumb models: random channels, ids, cancels, aborts, arrivals and timeouts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import (
    AbortAlignment,
    AlignmentEvent,
    AlignmentStrategy,
    BarrierAnnounced,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointGivenUp,
    CompleteInFlight,
    DeclineCheckpoint,
    ForwardCancel,
    RecordChannel,
    StopRecording,
    TakeSnapshot,
    TimePassed,
    UnblockChannels,
)
from headgate.checkpoint.alignment.tracker import BarrierTracker
from headgate.dataflow.channel import InputChannel
from headgate.elements import Barrier, Batch, CancelBarrier, Element
from headgate.ids import ChannelId, CheckpointId
from tests.sample_size import sample_size

CHECKPOINTS = 5
CLOSING = CHECKPOINTS + 1


@dataclass(frozen=True)
class Input:
    """What a channel will carry, and whether barriers may overtake batches on it."""

    elements: list[Element]
    overtakable: bool

    def records_before(self, checkpoint_id: int) -> list[int]:
        """The records that belong to the checkpoint, of which this channel has a barrier."""
        place = next(at for at, each in enumerate(self.elements) if is_barrier(each, checkpoint_id))
        return [record for each in self.elements[:place] if isinstance(each, Batch) for record in each.records]


def is_barrier(element: Element, checkpoint_id: int) -> bool:
    return isinstance(element, Barrier) and element.checkpoint_id == checkpoint_id


@st.composite
def inputs(draw: st.DrawFn) -> list[Input]:
    """For each channel and checkpoint a barrier, a cancel or nothing, with batches around; at the end a barrier."""
    waits = [draw(st.sampled_from([None, 0, 0, 5])) for _ in range(CLOSING)]
    return [draw(_input(waits)) for _ in range(draw(st.integers(1, 4)))]


@st.composite
def _input(draw: st.DrawFn, waits: list[int | None]) -> Input:
    elements: list[Element] = []
    kinds = [draw(st.sampled_from(["barrier"] * 8 + ["cancel", "nothing"])) for _ in range(CHECKPOINTS)]
    for number, kind in enumerate([*kinds, "barrier"], 1):
        elements += [Batch([number * 10 + place]) for place in range(draw(st.integers(0, 2)))]
        if kind == "barrier":
            elements.append(Barrier(CheckpointId(number), trigger_ms=0, unaligned_after_ms=waits[number - 1]))
        elif kind == "cancel":
            elements.append(CancelBarrier(CheckpointId(number)))
    return Input([*elements, Batch([99])], draw(st.booleans()))


@dataclass
class Snapshot:
    """What a snapshot holds: the records that were processed, and those in flight, by channel."""

    processed: list[list[int]]
    in_flight: list[list[int]]


@dataclass
class Run:
    """Feeds the channels to a strategy as a subtask would, in a random order, and keeps what came of it."""

    inputs: list[Input]
    strategy: AlignmentStrategy
    rng: random.Random
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    """Snapshots of which all data in flight is known."""
    aborted: set[int] = field(default_factory=set)
    declined: list[int] = field(default_factory=list)
    forwarded: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.channels = [InputChannel(ChannelId(number)) for number in range(len(self.inputs))]
        self.arriving = [list(each.elements) for each in self.inputs]
        self.processed: list[list[int]] = [[] for _ in self.inputs]
        self.announced: list[tuple[int, Barrier]] = []
        for number, each in enumerate(self.inputs):
            if each.overtakable:
                self.channels[number].on_barrier(partial(self._announce, number))

    def _announce(self, number: int, barrier: Barrier) -> None:
        self.announced.append((number, barrier))

    def drive(self, abort_one_in: int | None = None) -> Run:
        while steps := self._steps():
            if abort_one_in is not None and self.rng.randrange(abort_one_in) == 0:
                self._handle(CheckpointGivenUp(checkpoint_id=CheckpointId(self.rng.randint(1, CHECKPOINTS))))
            kind, number = self.rng.choice(steps)
            if kind == "arrive":
                self.channels[number].push(self.arriving[number].pop(0))
            else:
                self._attend()
                if kind == "read" and not self.channels[number].blocked:
                    self._read(number, self.channels[number].pop())
        return self

    def _steps(self) -> list[tuple[str, int]]:
        steps = [("arrive", number) for number, left in enumerate(self.arriving) if left]
        steps += [("read", number) for number, each in enumerate(self.channels) if each.queue and not each.blocked]
        return steps + ([("attend", 0)] if self.announced or self.strategy.due_ms is not None else [])

    def _attend(self) -> None:
        announced, self.announced = self.announced, []
        for number, barrier in announced:
            self._handle(BarrierAnnounced(channel=number, barrier=barrier))
        if self.strategy.due_ms is not None and self.rng.randrange(4) == 0:
            self._handle(TimePassed(now_ms=self.rng.choice([self.strategy.due_ms - 1, self.strategy.due_ms])))

    def _read(self, number: int, element: Element) -> None:
        match element:
            case Batch():
                self.processed[number] += element.records
            case Barrier():
                self._handle(BarrierReceived(channel=number, barrier=element))
            case CancelBarrier():
                self._handle(CancelReceived(channel=number, checkpoint_id=element.checkpoint_id))

    def _handle(self, event: AlignmentEvent) -> None:
        for effect in self.strategy.handle(event):
            self._perform(effect)
        self.strategy.check_invariants()
        assert {number for number, each in enumerate(self.channels) if each.blocked} == self.strategy.blocked

    def _perform(self, effect: Any) -> None:
        match effect:
            case BlockChannel():
                self.channels[effect.channel].blocked = True
            case UnblockChannels():
                for channel in self.channels:
                    channel.blocked = False
            case TakeSnapshot():
                number = effect.barrier.checkpoint_id
                self.snapshots[number] = Snapshot([list(each) for each in self.processed], [[] for _ in self.inputs])
                self.forwarded.append(number)
                if not effect.unaligned:
                    self.whole.add(number)
            case RecordChannel():
                kept = self.snapshots[effect.checkpoint_id].in_flight[effect.channel]
                self.channels[effect.channel].record(effect.checkpoint_id, lambda batch: kept.extend(records_of(batch)))
            case StopRecording():
                self.channels[effect.channel].stop_recording()
            case CompleteInFlight():
                self.whole.add(effect.checkpoint_id)
            case AbortAlignment():
                self.aborted.add(effect.checkpoint_id)
                for channel in self.channels:
                    channel.stop_recording()
            case ForwardCancel():
                self.forwarded.append(effect.checkpoint_id)
            case DeclineCheckpoint():
                self.declined.append(effect.checkpoint_id)


def records_of(batch: Batch | memoryview) -> list[int]:
    assert isinstance(batch, Batch)
    return batch.records


def every(given_inputs: list[Input]) -> frozenset[int]:
    return frozenset(range(len(given_inputs)))


def overtaking(given_inputs: list[Input]) -> BarrierAligner:
    overtakable = frozenset(number for number, each in enumerate(given_inputs) if each.overtakable)
    return BarrierAligner(every(given_inputs), overtakable=overtakable)


seeds = st.integers(0, 2**32)


@settings(max_examples=sample_size(120))
@given(seeds, inputs())
@pytest.mark.slow
def test_an_exactly_once_snapshot_holds_or_has_in_flight_exactly_the_records_before_its_barriers(
    seed: int, given_inputs: list[Input]
) -> None:
    run = Run(given_inputs, overtaking(given_inputs), random.Random(seed)).drive(abort_one_in=12)
    for number in run.whole:
        snapshot = run.snapshots[number]
        for at, each in enumerate(given_inputs):
            assert snapshot.processed[at] + snapshot.in_flight[at] == each.records_before(number)


@settings(max_examples=sample_size(120))
@given(seeds, inputs())
@pytest.mark.slow
def test_every_snapshot_is_completed_or_aborted_and_only_what_may_be_overtaken_is_in_flight(
    seed: int, given_inputs: list[Input]
) -> None:
    run = Run(given_inputs, overtaking(given_inputs), random.Random(seed)).drive(abort_one_in=12)
    assert set(run.snapshots) == run.whole | (run.aborted & set(run.snapshots))
    for snapshot in run.snapshots.values():
        assert not any(
            kept for kept, each in zip(snapshot.in_flight, given_inputs, strict=True) if not each.overtakable
        )


@settings(max_examples=sample_size(60))
@given(seeds, inputs(), st.sampled_from(["aligned", "tracker", "unaligned"]))
def test_downstream_hears_of_each_checkpoint_at_most_once_and_in_order(
    seed: int, given_inputs: list[Input], mode: str
) -> None:
    run = Run(*of_mode(mode, given_inputs), random.Random(seed)).drive(abort_one_in=12)
    assert run.forwarded == sorted(set(run.forwarded))
    assert not set(run.declined) & run.whole


@settings(max_examples=sample_size(60))
@given(seeds, inputs(), st.sampled_from(["aligned", "tracker", "unaligned"]))
def test_whatever_was_lost_or_given_up_the_next_whole_checkpoint_is_taken_and_everything_is_read(
    seed: int, given_inputs: list[Input], mode: str
) -> None:
    run = Run(*of_mode(mode, given_inputs), random.Random(seed)).drive(abort_one_in=12)
    assert CLOSING in run.whole
    assert [records[-1] for records in run.processed] == [99] * len(given_inputs)


def of_mode(mode: str, given_inputs: list[Input]) -> tuple[list[Input], AlignmentStrategy]:
    """The inputs as they come in this mode, and its strategy."""
    if mode == "aligned":
        never = [replace(in_order(each), overtakable=False) for each in given_inputs]
        return never, BarrierAligner(every(never))
    return given_inputs, BarrierTracker(every(given_inputs)) if mode == "tracker" else overtaking(given_inputs)


@settings(max_examples=sample_size(60))
@given(seeds, inputs())
def test_at_least_once_a_snapshot_holds_all_records_before_its_barriers_and_perhaps_more(
    seed: int, given_inputs: list[Input]
) -> None:
    run = Run(given_inputs, BarrierTracker(every(given_inputs)), random.Random(seed)).drive(abort_one_in=12)
    for number, snapshot in run.snapshots.items():
        for at, each in enumerate(given_inputs):
            before = each.records_before(number)
            assert snapshot.processed[at][: len(before)] == before


@settings(max_examples=sample_size(60))
@given(seeds, inputs())
def test_at_least_once_takes_what_has_come_on_all_channels_if_nobody_gave_up_it_or_a_later_one_before(
    seed: int, given_inputs: list[Input]
) -> None:
    run = Run(given_inputs, BarrierTracker(every(given_inputs)), random.Random(seed)).drive()
    cancelled = [each.checkpoint_id for one in given_inputs for each in one.elements if isinstance(each, CancelBarrier)]
    for number in range(max(cancelled, default=0) + 1, CLOSING + 1):
        everywhere = all(any(is_barrier(each, number) for each in one.elements) for one in given_inputs)
        assert (number in run.snapshots) is everywhere


@settings(max_examples=sample_size(60))
@given(seeds, inputs())
def test_what_never_overtakes_is_aligned_whichever_strategy_sees_it(seed: int, given_inputs: list[Input]) -> None:
    never = [in_order(each) for each in given_inputs]
    one, other = (
        Run(never, strategy, random.Random(seed)).drive(abort_one_in=12)
        for strategy in (BarrierAligner(every(never)), overtaking(never))
    )
    assert (one.snapshots, one.forwarded, one.declined) == (other.snapshots, other.forwarded, other.declined)


def in_order(one: Input) -> Input:
    """The same with barriers that never overtake."""
    elements = [Barrier(each.checkpoint_id, 0) if isinstance(each, Barrier) else each for each in one.elements]
    return Input(elements, one.overtakable)
