"""Barrier alignment, driven with no I/O."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import (
    ABORTED_IDS_MAX,
    AbortAlignment,
    AlignmentEffect,
    BarrierReceived,
    BlockChannel,
    CancelReceived,
    CheckpointGivenUp,
    DeclineCheckpoint,
    ForwardCancel,
    TakeSnapshot,
    UnblockChannels,
)
from headgate.elements import Barrier
from headgate.errors import InternalError
from headgate.ids import CheckpointId


@pytest.fixture
def aligner() -> Iterator[BarrierAligner]:
    aligner = BarrierAligner(frozenset({0, 1, 2}))
    yield aligner
    aligner.check_invariants()


def of(checkpoint_id: int) -> Barrier:
    return Barrier(CheckpointId(checkpoint_id), 7)


def barrier(aligner: BarrierAligner, channel: int, checkpoint_id: int) -> list[AlignmentEffect]:
    return aligner.handle(BarrierReceived(channel=channel, barrier=of(checkpoint_id)))


def cancel(aligner: BarrierAligner, channel: int, checkpoint_id: int) -> list[AlignmentEffect]:
    return aligner.handle(CancelReceived(channel=channel, checkpoint_id=CheckpointId(checkpoint_id)))


def abort(aligner: BarrierAligner, checkpoint_id: int) -> list[AlignmentEffect]:
    return aligner.handle(CheckpointGivenUp(checkpoint_id=CheckpointId(checkpoint_id)))


def given_up(checkpoint_id: int) -> list[AlignmentEffect]:
    id_ = CheckpointId(checkpoint_id)
    return [AbortAlignment(checkpoint_id=id_), ForwardCancel(checkpoint_id=id_), UnblockChannels()]


def test_each_channel_waits_until_the_barrier_has_come_on_all(aligner: BarrierAligner) -> None:
    assert barrier(aligner, 1, 1) == [BlockChannel(channel=1)]
    assert barrier(aligner, 0, 1) == [BlockChannel(channel=0)]
    assert aligner.blocked == {0, 1}
    assert barrier(aligner, 2, 1) == [TakeSnapshot(barrier=of(1)), UnblockChannels()]
    assert aligner.blocked == frozenset()


def test_a_single_channel_takes_its_snapshot_at_once_and_never_blocks() -> None:
    aligner = BarrierAligner(frozenset({4}))
    assert barrier(aligner, 4, 1) == [TakeSnapshot(barrier=of(1))]
    assert barrier(aligner, 4, 2) == [TakeSnapshot(barrier=of(2))]


def test_a_newer_barrier_subsumes_the_pending_checkpoint_and_starts_its_own_alignment(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 1)
    assert barrier(aligner, 1, 2) == [
        *given_up(1),
        DeclineCheckpoint(
            checkpoint_id=CheckpointId(1), reason="subsumed by checkpoint 2, whose barrier came first on a channel"
        ),
        BlockChannel(channel=1),
    ]
    assert barrier(aligner, 2, 1) == []
    barrier(aligner, 0, 2)
    assert barrier(aligner, 2, 2) == [TakeSnapshot(barrier=of(2)), UnblockChannels()]


def test_late_barrier_of_a_checkpoint_that_is_over_blocks_nothing(aligner: BarrierAligner) -> None:
    for channel in (0, 1, 2):
        barrier(aligner, channel, 5)
    assert barrier(aligner, 0, 5) == []
    assert barrier(aligner, 0, 4) == []
    assert aligner.blocked == frozenset()


def test_cancel_during_alignment_aborts_unblocks_and_goes_on_downstream(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 1)
    assert cancel(aligner, 1, 1) == given_up(1)
    assert barrier(aligner, 2, 1) == []


def test_cancel_before_any_barrier_keeps_late_barriers_from_starting_an_alignment(aligner: BarrierAligner) -> None:
    assert cancel(aligner, 0, 1) == [ForwardCancel(checkpoint_id=CheckpointId(1))]
    assert barrier(aligner, 1, 1) == []
    assert cancel(aligner, 2, 1) == []


def test_cancel_of_a_newer_checkpoint_also_gives_up_the_pending_one(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 1)
    effects = cancel(aligner, 1, 2)
    assert effects[:3] == given_up(1)
    assert effects[-1] == ForwardCancel(checkpoint_id=CheckpointId(2))
    assert aligner.pending is None


def test_cancel_of_an_older_checkpoint_leaves_the_pending_one_alone(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 2)
    assert cancel(aligner, 1, 1) == []
    assert aligner.pending == 2


def test_abort_by_the_master_during_alignment_unblocks_and_cancels_downstream(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 1)
    assert abort(aligner, 1) == given_up(1)
    assert barrier(aligner, 1, 1) == []


def test_abort_ahead_of_the_barrier_turns_the_barrier_into_a_cancel(aligner: BarrierAligner) -> None:
    assert abort(aligner, 1) == []
    assert barrier(aligner, 0, 1) == [ForwardCancel(checkpoint_id=CheckpointId(1))]
    assert barrier(aligner, 1, 1) == []


def test_abort_of_a_later_checkpoint_does_not_harm_the_pending_one(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 1)
    abort(aligner, 2)
    barrier(aligner, 1, 1)
    assert barrier(aligner, 2, 1) == [TakeSnapshot(barrier=of(1)), UnblockChannels()]


def test_abort_of_a_checkpoint_that_is_over_changes_nothing(aligner: BarrierAligner) -> None:
    for channel in (0, 1, 2):
        barrier(aligner, channel, 1)
    assert abort(aligner, 1) == []


def test_ids_aborted_ahead_of_their_barriers_are_bounded(aligner: BarrierAligner) -> None:
    for checkpoint_id in range(1, ABORTED_IDS_MAX + 2):
        abort(aligner, checkpoint_id)
    assert barrier(aligner, 0, 1) == [BlockChannel(channel=0)]
    assert barrier(aligner, 1, ABORTED_IDS_MAX + 1)[-1] == ForwardCancel(
        checkpoint_id=CheckpointId(ABORTED_IDS_MAX + 1)
    )


def test_reading_a_blocked_channel_is_an_internal_error_with_the_last_events(aligner: BarrierAligner) -> None:
    barrier(aligner, 0, 1)
    with pytest.raises(InternalError, match=r"channel 0 was read although it is blocked[\s\S]*BarrierReceived"):
        barrier(aligner, 0, 2)


def test_a_channel_that_is_no_input_is_an_internal_error(aligner: BarrierAligner) -> None:
    with pytest.raises(InternalError, match="channel 9 is no input"):
        cancel(aligner, 9, 1)


def test_a_subtask_without_channels_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one channel"):
        BarrierAligner(frozenset())
