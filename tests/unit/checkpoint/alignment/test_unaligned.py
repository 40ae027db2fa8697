"""Barriers that overtake, at once or after a time, driven with no I/O."""

from __future__ import annotations

import pytest

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import (
    AlignmentEffect,
    BlockChannel,
    CompleteInFlight,
    RecordChannel,
    StopRecording,
    TakeSnapshot,
    UnblockChannels,
)
from headgate.errors import InternalError
from headgate.ids import CheckpointId
from tests.unit.checkpoint.alignments import TRIGGER_MS, Events, cancelled, forgotten, of, subsumed


def at_once(channels: int, overtakable: set[int] | None = None, *, after_ms: int | None = 0) -> Events:
    every = frozenset(range(channels))
    own = every if overtakable is None else frozenset(overtakable)
    return Events(BarrierAligner(every, overtakable=own), after_ms)


def recorded(*channels: int, of_checkpoint: int = 1) -> list[AlignmentEffect]:
    return [RecordChannel(channel=channel, checkpoint_id=CheckpointId(of_checkpoint)) for channel in channels]


def taken(number: int = 1, after_ms: int | None = 0) -> TakeSnapshot:
    return TakeSnapshot(barrier=of(number, after_ms), unaligned=True)


COMPLETE = CompleteInFlight(checkpoint_id=CheckpointId(1))


def test_the_first_barrier_takes_the_snapshot_and_the_last_one_completes_it() -> None:
    events = at_once(3)
    assert events.announce(1, 1) == [taken(), *recorded(0, 1, 2)]
    assert events.announce(0, 1) == [StopRecording(channel=0)]
    assert events.strategy.blocked == frozenset()
    assert events.announce(2, 1) == [StopRecording(channel=2), COMPLETE]


def test_barriers_read_after_they_were_announced_change_nothing() -> None:
    events = at_once(2)
    events.announce(0, 1)
    assert events.barrier(0, 1) == []
    events.announce(1, 1)
    assert events.barrier(1, 1) == []


def test_a_single_channel_is_complete_at_once() -> None:
    assert at_once(1).announce(0, 1) == [taken(), *recorded(0), COMPLETE]


def test_the_trigger_of_a_source_overtakes_at_its_outputs_only() -> None:
    assert at_once(1, set()).barrier(0, 1) == [taken(), COMPLETE]


def test_channels_in_order_are_aligned_first_and_what_is_overtaken_is_recorded_then() -> None:
    events = at_once(4, {0, 1})
    assert events.announce(0, 1) == []
    assert events.barrier(2, 1) == [BlockChannel(channel=2)]
    assert events.barrier(3, 1) == [taken(), *recorded(0, 1), UnblockChannels()]
    assert events.announce(1, 1) == [StopRecording(channel=1), COMPLETE]


def test_a_barrier_that_may_overtake_but_was_read_while_others_are_aligned_blocks_its_channel() -> None:
    events = at_once(2, {0})
    assert events.announce(0, 1) == []
    assert events.barrier(0, 1) == [BlockChannel(channel=0)]
    assert events.barrier(1, 1) == [taken(), UnblockChannels(), COMPLETE]


@pytest.mark.parametrize("after_ms", [None, 0, 50])
def test_time_that_passes_while_no_barrier_waits_for_it_changes_nothing(after_ms: int | None) -> None:
    events = at_once(2, after_ms=after_ms)
    assert events.time(TRIGGER_MS + 100.0) == []
    events.barrier(0, 1)
    events.barrier(1, 1)
    assert events.time(TRIGGER_MS + 100.0) == []


def test_until_its_time_a_barrier_waits_to_be_read_on_all_channels() -> None:
    events = at_once(2, after_ms=50)
    assert events.announce(0, 1) == []
    assert events.strategy.due_ms == TRIGGER_MS + 50
    assert events.barrier(0, 1) == [BlockChannel(channel=0)]
    assert events.time(TRIGGER_MS + 49) == []
    assert events.barrier(1, 1) == [TakeSnapshot(barrier=of(1, 50)), UnblockChannels()]
    assert events.strategy.due_ms is None


def test_when_its_time_has_come_it_overtakes_what_has_not_been_read() -> None:
    events = at_once(3, after_ms=50)
    events.barrier(0, 1)
    events.announce(1, 1)
    assert events.time(TRIGGER_MS + 50) == [taken(after_ms=50), *recorded(1, 2), UnblockChannels()]
    assert events.strategy.due_ms is None
    assert events.announce(2, 1) == [StopRecording(channel=2), COMPLETE]


def test_after_its_time_channels_in_order_are_still_waited_for() -> None:
    events = at_once(2, {0}, after_ms=50)
    events.announce(0, 1)
    assert events.time(TRIGGER_MS + 60) == []
    assert events.barrier(1, 1) == [taken(after_ms=50), *recorded(0), COMPLETE]


def test_a_savepoint_is_aligned_after_a_checkpoint_that_was_not() -> None:
    events = at_once(2)
    events.announce(0, 1)
    events.announce(1, 1)
    assert events.savepoint(1, 2) == [BlockChannel(channel=1)]
    assert events.savepoint(0, 2) == [TakeSnapshot(barrier=of(2)), UnblockChannels()]
    assert events.announce(1, 3)[0] == taken(3)


def test_a_newer_barrier_subsumes_a_checkpoint_that_is_recorded() -> None:
    events = at_once(2)
    events.announce(0, 1)
    assert events.announce(0, 2) == [forgotten(1), subsumed(1, 2), taken(2), *recorded(0, 1, of_checkpoint=2)]
    assert events.announce(1, 1) == []


def test_a_newer_barrier_subsumes_a_checkpoint_that_is_aligned() -> None:
    events = at_once(2, after_ms=50)
    events.barrier(0, 1)
    assert events.announce(1, 2) == [forgotten(1), cancelled(1), UnblockChannels(), subsumed(1, 2)]
    assert events.strategy.due_ms == TRIGGER_MS + 50


def end(events: Events, how: str) -> list[AlignmentEffect]:
    return events.cancel(1, 1) if how == "cancel" else events.abort(1)


@pytest.mark.parametrize("how", ["cancel", "abort"])
def test_an_end_of_the_checkpoint_ends_the_recording_and_downstream_has_had_its_barrier(how: str) -> None:
    events = at_once(2)
    events.announce(0, 1)
    assert end(events, how) == [forgotten(1)]
    assert events.announce(1, 1) == []


@pytest.mark.parametrize("how", ["cancel", "abort"])
def test_an_end_of_the_checkpoint_ends_the_alignment_and_is_told_downstream(how: str) -> None:
    events = at_once(2, after_ms=50)
    events.barrier(0, 1)
    assert end(events, how) == [forgotten(1), cancelled(1), UnblockChannels()]
    assert events.strategy.due_ms is None
    assert events.barrier(0, 1) == []


def test_the_barrier_of_a_checkpoint_that_was_aborted_ahead_is_taken_for_a_cancel_when_it_is_read() -> None:
    events = at_once(2)
    assert events.abort(2) == []
    assert events.announce(0, 2) == []
    assert events.announce(0, 1) == [taken(), *recorded(0, 1)]
    assert events.barrier(0, 2) == [forgotten(1), subsumed(1, 2), cancelled(2)]


def test_what_the_protocol_rules_out_is_refused() -> None:
    events = at_once(2, {0}, after_ms=50)
    with pytest.raises(InternalError, match="announced on channel 1, which is read in order"):
        events.announce(1, 1)
    events.barrier(1, 1)
    with pytest.raises(InternalError, match="channel 1 was read although it is blocked"):
        events.barrier(1, 1)
    with pytest.raises(InternalError, match="channel 5 is no input"):
        events.barrier(5, 1)
