"""The aligner against a dumb model, over random interleavings of channels, cancels and aborts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import (
    BarrierReceived,
    CancelReceived,
    CheckpointGivenUp,
    ForwardCancel,
    TakeSnapshot,
)
from headgate.elements import Barrier
from headgate.ids import CheckpointId
from tests.sample_size import sample_size

Marker = tuple[str, int]
Content = list[Marker | None]
"""What a channel carries: ("barrier", id), ("cancel", id), and None for some records."""

CHECKPOINTS = 5


@st.composite
def channel_contents(draw: st.DrawFn) -> list[Content]:
    """For each checkpoint and channel a barrier, a cancel or nothing, with records before it."""
    kinds = st.sampled_from(["barrier"] * 8 + ["cancel", "nothing"])
    marks = st.lists(st.tuples(st.booleans(), kinds), max_size=CHECKPOINTS)
    return [_content(marks_of_channel) for marks_of_channel in draw(st.lists(marks, min_size=1, max_size=4))]


def _content(marks: list[tuple[bool, str]]) -> Content:
    content: Content = []
    for checkpoint_id, (records, kind) in enumerate(marks, 1):
        content += [None] * records
        if kind != "nothing":
            content.append((kind, checkpoint_id))
    return [*content, None]


class Run:
    """Feeds the channels to an aligner in some order, as the slot's loop would, and keeps what came of it."""

    def __init__(self, channels: list[Content]) -> None:
        self.channels = channels
        self.aligner = BarrierAligner(frozenset(range(len(channels))))
        self.read = [0] * len(channels)
        self.snapshots: dict[int, list[int]] = {}
        self.forwarded: list[int] = []

    def readable(self) -> list[int]:
        left = [index for index, content in enumerate(self.channels) if self.read[index] < len(content)]
        return [index for index in left if index not in self.aligner.blocked]

    def step(self, channel: int) -> None:
        element = self.channels[channel][self.read[channel]]
        self.read[channel] += 1
        if element is not None:
            kind, number = element
            checkpoint_id = CheckpointId(number)
            if kind == "barrier":
                self._feed(BarrierReceived(channel=channel, barrier=Barrier(checkpoint_id, 0)))
            else:
                self._feed(CancelReceived(channel=channel, checkpoint_id=checkpoint_id))

    def abort(self, checkpoint_id: int) -> None:
        self._feed(CheckpointGivenUp(checkpoint_id=CheckpointId(checkpoint_id)))

    def _feed(self, event: BarrierReceived | CancelReceived | CheckpointGivenUp) -> None:
        for effect in self.aligner.handle(event):
            if isinstance(effect, TakeSnapshot):
                self.snapshots[effect.barrier.checkpoint_id] = list(self.read)
                self.forwarded.append(effect.barrier.checkpoint_id)
            elif isinstance(effect, ForwardCancel):
                self.forwarded.append(effect.checkpoint_id)
        self.aligner.check_invariants()


def drive(run: Run, seed: int, *, abort_one_in: int | None) -> None:
    rng = random.Random(seed)
    while readable := run.readable():
        if abort_one_in is not None and rng.randrange(abort_one_in) == 0:
            run.abort(rng.randint(1, CHECKPOINTS))
        else:
            run.step(rng.choice(readable))


seeds = st.integers(0, 2**32)


@settings(max_examples=sample_size(150))
@given(seeds, channel_contents())
@pytest.mark.slow
def test_a_snapshot_holds_exactly_the_records_before_its_barrier_on_every_channel(
    seed: int, channels: list[Content]
) -> None:
    run = Run(channels)
    drive(run, seed, abort_one_in=10)
    for checkpoint_id, positions in run.snapshots.items():
        assert positions == [content.index(("barrier", checkpoint_id)) + 1 for content in channels]


@settings(max_examples=sample_size(150))
@given(seeds, channel_contents())
@pytest.mark.slow
def test_downstream_hears_of_each_checkpoint_at_most_once_and_in_order(seed: int, channels: list[Content]) -> None:
    run = Run(channels)
    drive(run, seed, abort_one_in=10)
    assert run.forwarded == sorted(set(run.forwarded))


@settings(max_examples=sample_size(150))
@given(seeds, channel_contents())
def test_every_checkpoint_is_taken_when_its_barriers_are_on_all_channels(seed: int, channels: list[Content]) -> None:
    barriers = [{mark for mark in content if mark is not None and mark[0] == "barrier"} for content in channels]
    common = set.intersection(*barriers)
    run = Run([[mark for mark in content if mark is None or mark in common] for content in channels])
    drive(run, seed, abort_one_in=None)
    assert set(run.snapshots) == {checkpoint_id for _, checkpoint_id in common}


@settings(max_examples=sample_size(150))
@given(seeds, channel_contents())
@pytest.mark.slow
def test_whatever_was_lost_or_given_up_the_next_whole_checkpoint_is_taken(seed: int, channels: list[Content]) -> None:
    closing = CHECKPOINTS + 1
    run = Run([[*content, ("barrier", closing)] for content in channels])
    drive(run, seed, abort_one_in=10)
    assert run.read == [len(content) for content in run.channels]
    assert closing in run.snapshots
