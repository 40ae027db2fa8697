"""Barriers at least once, driven with no I/O."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.checkpoint.alignment.strategy import TakeSnapshot
from headgate.checkpoint.alignment.tracker import PENDING_MAX, BarrierTracker
from headgate.errors import InternalError
from tests.unit.checkpoint.alignments import Events, cancelled, forgotten, of, subsumed


@pytest.fixture
def two() -> Iterator[Events]:
    """The tracker of a subtask with two channels."""
    events = Events(BarrierTracker(frozenset({0, 1})))
    yield events
    events.strategy.check_invariants()


def pending(events: Events) -> tuple[int, ...]:
    assert isinstance(events.strategy, BarrierTracker)
    return events.strategy.pending


def test_the_snapshot_is_taken_at_the_last_barrier_and_no_channel_ever_waits(two: Events) -> None:
    assert two.barrier(0, 1) == []
    assert two.strategy.blocked == frozenset()
    assert two.barrier(1, 1) == [TakeSnapshot(barrier=of(1))]
    assert pending(two) == ()


def test_a_repeated_barrier_does_not_stand_in_for_a_missing_one(two: Events) -> None:
    two.barrier(0, 1)
    assert two.barrier(0, 1) == []


def test_a_single_channel_takes_its_snapshot_at_once() -> None:
    assert Events(BarrierTracker(frozenset({0}))).barrier(0, 1) == [TakeSnapshot(barrier=of(1))]


def test_several_checkpoints_may_be_under_way(two: Events) -> None:
    two.barrier(0, 1)
    two.barrier(0, 2)
    assert two.barrier(1, 1) == [TakeSnapshot(barrier=of(1))]
    assert two.barrier(1, 2) == [TakeSnapshot(barrier=of(2))]


def test_a_newer_complete_checkpoint_subsumes_older_ones(two: Events) -> None:
    two.barrier(0, 1)
    two.barrier(0, 2)
    assert two.barrier(1, 2) == [forgotten(1), cancelled(1), subsumed(1, 2), TakeSnapshot(barrier=of(2))]
    assert two.barrier(1, 1) == []


def test_a_cancelled_checkpoint_is_cancelled_downstream_once_and_its_barriers_still_count(two: Events) -> None:
    two.barrier(0, 1)
    assert two.cancel(1, 1) == [forgotten(1), cancelled(1)]
    assert pending(two) == ()
    assert two.cancel(0, 2) == [cancelled(2)]
    assert two.barrier(1, 2) == []
    assert pending(two) == ()


def test_a_cancel_subsumes_older_checkpoints_whose_barriers_would_come_after_it_downstream(two: Events) -> None:
    two.barrier(0, 1)
    assert two.cancel(0, 2) == [forgotten(1), cancelled(1), subsumed(1, 2), cancelled(2)]
    assert two.barrier(1, 1) == []


def test_what_the_master_aborts_is_not_taken_and_older_checkpoints_go_on(two: Events) -> None:
    two.barrier(0, 1)
    two.barrier(0, 2)
    assert two.abort(2) == [forgotten(2)]
    assert two.barrier(1, 1) == [TakeSnapshot(barrier=of(1))]
    assert two.barrier(1, 2) == []
    assert pending(two) == ()


def test_what_was_cancelled_is_not_aborted_again_by_the_master(two: Events) -> None:
    two.barrier(0, 1)
    assert two.cancel(0, 1) == [forgotten(1), cancelled(1)]
    assert two.abort(1) == []


def test_a_checkpoint_aborted_before_its_first_barrier_is_not_taken(two: Events) -> None:
    assert two.abort(2) == []
    two.barrier(0, 1)
    assert two.barrier(1, 1) == [TakeSnapshot(barrier=of(1))]
    assert two.barrier(0, 2) == two.barrier(1, 2) == []
    two.barrier(0, 3)
    assert two.barrier(1, 3) == [TakeSnapshot(barrier=of(3))]


def test_the_oldest_is_dropped_when_too_many_wait_for_barriers(two: Events) -> None:
    for number in range(1, PENDING_MAX + 1):
        assert two.barrier(0, number) == []
    forgot, cancel, decline = two.barrier(0, PENDING_MAX + 1)
    assert (forgot, cancel) == (forgotten(1), cancelled(1))
    assert "more than 50 checkpoints wait for barriers" in getattr(decline, "reason", "")
    assert two.barrier(1, 1) == []
    assert two.barrier(1, 2) == [TakeSnapshot(barrier=of(2))]


def test_a_channel_that_is_not_there_is_refused(two: Events) -> None:
    with pytest.raises(InternalError, match="channel 7 is no input"):
        two.barrier(7, 1)
    with pytest.raises(ValueError, match="at least one channel"):
        BarrierTracker(frozenset())
