"""Commits of a sink subtask, driven with no I/O."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint.commit import (
    CheckpointConfirmed,
    Commit,
    CommitEffect,
    CommitFailed,
    CommitPermit,
    CommitPutOff,
    CommitsRestored,
    CommitSucceeded,
    CommitTracker,
    FailTask,
    PendingCommit,
    Prepared,
    ReportCommitted,
)
from headgate.errors import InternalError
from headgate.ids import Attempt, CheckpointId

ATTEMPT = Attempt(3)


@pytest.fixture
def tracker() -> Iterator[CommitTracker]:
    tracker = CommitTracker(ATTEMPT)
    yield tracker
    tracker.check_invariants()


def prepare(tracker: CommitTracker, checkpoint_id: int, *committables: str) -> None:
    assert tracker.handle(Prepared(checkpoint_id=CheckpointId(checkpoint_id), committables=committables)) == []


def complete(tracker: CommitTracker, checkpoint_id: int, attempt: Attempt = ATTEMPT) -> list[CommitEffect]:
    return tracker.handle(CheckpointConfirmed(checkpoint_id=CheckpointId(checkpoint_id), attempt=attempt))


def succeed(tracker: CommitTracker, checkpoint_id: int) -> list[CommitEffect]:
    return tracker.handle(CommitSucceeded(checkpoint_id=CheckpointId(checkpoint_id)))


def commit(checkpoint_id: int, *committables: str, permitted_by: int) -> Commit:
    return Commit(
        permit=CommitPermit(attempt=ATTEMPT, completed_id=CheckpointId(permitted_by)),
        checkpoint_id=CheckpointId(checkpoint_id),
        committables=committables,
    )


def report(checkpoint_id: int) -> ReportCommitted:
    return ReportCommitted(checkpoint_id=CheckpointId(checkpoint_id))


def pending(checkpoint_id: int, *committables: str) -> PendingCommit:
    return PendingCommit(checkpoint_id=CheckpointId(checkpoint_id), committables=committables)


def test_nothing_is_committed_before_its_checkpoint_is_complete(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    assert complete(tracker, 1) == [commit(1, "a", permitted_by=1)]
    assert succeed(tracker, 1) == [report(1)]
    assert tracker.pending() == ()


def test_a_completion_covers_earlier_checkpoints_oldest_first_and_one_after_the_other(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    prepare(tracker, 2, "b")
    prepare(tracker, 3, "c")
    assert complete(tracker, 2) == [commit(1, "a", permitted_by=2)]
    assert succeed(tracker, 1) == [commit(2, "b", permitted_by=2)]
    assert succeed(tracker, 2) == [report(2)]
    assert tracker.pending() == (pending(3, "c"),)


def test_a_checkpoint_without_committables_is_reported_at_once(tracker: CommitTracker) -> None:
    prepare(tracker, 1)
    assert complete(tracker, 1) == [report(1)]


def test_completions_may_be_repeated_or_overtaken(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    prepare(tracker, 2, "b")
    complete(tracker, 2)
    assert complete(tracker, 1) == []
    assert complete(tracker, 2) == []


def test_a_completion_during_a_commit_is_taken_up_when_the_commit_is_done(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    complete(tracker, 1)
    prepare(tracker, 2, "b")
    assert complete(tracker, 2) == []
    assert succeed(tracker, 1) == [commit(2, "b", permitted_by=2)]


def test_what_is_being_committed_is_still_part_of_a_snapshot(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    complete(tracker, 1)
    prepare(tracker, 2, "b")
    assert tracker.pending() == (pending(1, "a"), pending(2, "b"))


def test_restored_commits_are_done_again_under_the_permit_of_the_restored_checkpoint(tracker: CommitTracker) -> None:
    restored = (pending(4, "y"), pending(3, "x"), pending(4, "z"))
    assert tracker.handle(CommitsRestored(checkpoint_id=CheckpointId(4), pending=restored)) == [
        commit(3, "x", permitted_by=4)
    ]
    assert succeed(tracker, 3) == [commit(4, "y", "z", permitted_by=4)]
    assert succeed(tracker, 4) == [report(4)]


def test_completions_of_another_attempt_permit_nothing(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    assert complete(tracker, 1, Attempt(2)) == []


def test_a_failed_commit_fails_the_task_and_nothing_is_committed_after_it(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    prepare(tracker, 2, "b")
    complete(tracker, 2)
    assert tracker.handle(CommitFailed(checkpoint_id=CheckpointId(1), reason="disk full")) == [
        FailTask(reason="commit of checkpoint 1 failed: disk full")
    ]
    assert complete(tracker, 3) == []
    assert tracker.pending() == (pending(1, "a"), pending(2, "b"))


def test_preparing_for_a_checkpoint_before_one_that_is_prepared_is_an_internal_error(tracker: CommitTracker) -> None:
    prepare(tracker, 2, "a")
    with pytest.raises(InternalError, match="checkpoint 1 were prepared too late"):
        prepare(tracker, 1, "late")
    assert complete(tracker, 2) == [commit(2, "a", permitted_by=2)]


def test_preparing_for_a_checkpoint_that_is_already_complete_is_an_internal_error(tracker: CommitTracker) -> None:
    complete(tracker, 2)
    with pytest.raises(InternalError, match="checkpoint 2 were prepared too late"):
        prepare(tracker, 2, "late")


def test_an_answer_nobody_waits_for_is_an_internal_error(tracker: CommitTracker) -> None:
    with pytest.raises(InternalError, match="not being committed"):
        succeed(tracker, 1)


def put_off(tracker: CommitTracker, checkpoint_id: int, reason: str = "busy") -> list[CommitEffect]:
    return tracker.handle(CommitPutOff(checkpoint_id=CheckpointId(checkpoint_id), reason=reason))


def delays(effects: list[CommitEffect]) -> list[float]:
    return [effect.delay_ms for effect in effects if isinstance(effect, Commit)]


def test_a_commit_that_is_put_off_is_made_again_later_each_time_and_ten_times_at_most(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    complete(tracker, 1)
    waits = [delays(put_off(tracker, 1)) for _ in range(10)]
    assert waits == [[100], [200], [400], [800], [1600], [3200], [6400], [10000], [10000], [10000]]
    assert put_off(tracker, 1) == [FailTask(reason="commit of checkpoint 1 failed: busy (tried 11 times)")]
    assert tracker.pending() == (pending(1, "a"),)
    assert complete(tracker, 2) == []


def test_a_commit_that_is_put_off_holds_up_those_of_later_checkpoints(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    complete(tracker, 1)
    prepare(tracker, 2, "b")
    assert delays(put_off(tracker, 1)) == [100]
    assert complete(tracker, 2) == []
    assert tracker.pending() == (pending(1, "a"), pending(2, "b"))
    assert succeed(tracker, 1) == [commit(2, "b", permitted_by=2)]


def test_each_checkpoint_has_its_own_tries() -> None:
    tracker = CommitTracker(ATTEMPT, retries_max=1)
    prepare(tracker, 1, "a")
    prepare(tracker, 2, "b")
    complete(tracker, 2)
    assert delays(put_off(tracker, 1)) == [100]
    succeed(tracker, 1)
    assert delays(put_off(tracker, 2)) == [100]
    assert isinstance(put_off(tracker, 2)[0], FailTask)


def test_without_retries_the_first_delay_fails_the_task() -> None:
    tracker = CommitTracker(ATTEMPT, retries_max=0)
    prepare(tracker, 1, "a")
    complete(tracker, 1)
    assert put_off(tracker, 1) == [FailTask(reason="commit of checkpoint 1 failed: busy (tried 1 times)")]


def test_lost_output_fails_the_task_for_good_and_stays_part_of_snapshots(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    complete(tracker, 1)
    assert tracker.handle(CommitFailed(checkpoint_id=CheckpointId(1), reason="t-1 is gone", lost=True)) == [
        FailTask(reason="commit of checkpoint 1 failed: t-1 is gone", lost=True)
    ]
    assert tracker.pending() == (pending(1, "a"),)


def test_to_put_off_what_is_not_being_committed_is_an_internal_error(tracker: CommitTracker) -> None:
    prepare(tracker, 1, "a")
    with pytest.raises(InternalError, match="not being committed"):
        put_off(tracker, 1)


EVENT = st.sampled_from(["prepare", "complete", "skip", "succeed", "put off"])


@given(st.lists(EVENT, max_size=40), st.integers(0, 3))
def test_commits_are_made_in_order_wholly_and_only_of_complete_checkpoints(events: list[str], retries: int) -> None:
    tracker = CommitTracker(ATTEMPT, retries)
    newest = completed = 0
    under_way: Commit | None = None
    final: list[str] = []
    failed = False
    for event in events:
        effects: list[CommitEffect] = []
        if event == "prepare":
            newest += 1
            prepare(tracker, newest, f"c{newest}")
        elif event == "complete" and newest > completed:
            completed = newest
            effects = complete(tracker, completed)
        elif event == "skip":
            effects = complete(tracker, completed) if completed else []
        elif under_way is not None and event == "succeed":
            final += under_way.committables
            effects = succeed(tracker, under_way.checkpoint_id)
            under_way = None
        elif under_way is not None and event == "put off":
            effects = put_off(tracker, under_way.checkpoint_id)
            under_way = None
        for effect in effects:
            if isinstance(effect, Commit):
                assert under_way is None
                assert effect.checkpoint_id <= completed
                under_way = effect
            failed |= isinstance(effect, FailTask)
            if isinstance(effect, ReportCommitted):
                assert len(final) >= effect.checkpoint_id
        tracker.check_invariants()
        left = [committable for each in tracker.pending() for committable in each.committables]
        assert final + left == [f"c{number}" for number in range(1, newest + 1)][: len(final) + len(left)]
        assert failed or len(final) + len(left) == newest
