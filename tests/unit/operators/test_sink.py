"""The sink operator: nothing is committed before its checkpoint is complete, and nothing is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.elements import Barrier, SavepointFormat, SavepointOrder
from headgate.errors import SinkError
from headgate.functions.sink import (
    CommitFailedError,
    CommitLostError,
    Committer,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkWriter,
)
from headgate.ids import CheckpointId
from headgate.operators.sink import SinkFactory
from headgate.testing.harness import OperatorHarness, SavedOperator


class Shelf(Sink[str]):
    """A place in memory: what is written, what is committed, and what was asked of it."""

    def __init__(self) -> None:
        self.committed: list[str] = []
        self.recovered: list[list[str]] = []
        self.kept: list[str] = []
        self.secured: list[list[str]] = []
        self.closed = 0
        self.is_broken = False
        self.answers: list[Exception] = []
        """What the next commits raise."""
        self.tries_ms: list[float] = []
        self.clock: Callable[[], float] = lambda: 0.0

    def writer(self, context: SinkContext) -> SinkWriter[str]:
        return ShelfWriter(self)

    def committer(self, context: SinkContext) -> Committer[str]:
        return ShelfCommitter(self)


class ShelfWriter(SinkWriter[str]):
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.taken: list[str] = []

    def write(self, records: list[Any]) -> None:
        self.taken += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[str]:
        taken, self.taken = self.taken, []
        return taken

    def close(self) -> None:
        self.shelf.closed += 1


class ShelfCommitter(Committer[str]):
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def commit(self, committables: list[str]) -> None:
        self.shelf.tries_ms.append(self.shelf.clock())
        if self.shelf.answers:
            raise self.shelf.answers.pop(0)
        if self.shelf.is_broken:
            raise SinkError("the shelf has fallen down")
        self.shelf.committed += committables

    def secure(self, committables: list[str]) -> None:
        self.shelf.secured.append(committables)

    def keep(self, committables: list[str], savepoint: str) -> None:
        self.shelf.kept += committables

    def recover(self, restored: list[str]) -> None:
        self.shelf.recovered.append(restored)


def harness_of(shelf: Shelf, *restored: SavedOperator) -> OperatorHarness:
    harness = OperatorHarness(SinkFactory(shelf), restored=restored)
    harness.open()
    return harness


def test_records_are_committed_on_completion_and_not_before() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    harness.process("a", "b")
    harness.snapshot()
    harness.process("c")
    assert shelf.committed == []
    harness.complete()
    assert shelf.committed == ["a", "b"]
    assert harness.services.commits == [1]


def test_all_that_a_checkpoint_holds_is_made_durable_after_the_barrier() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    harness.process("a")
    given_up = harness.barrier()
    harness.process("b")
    harness.snapshot()
    assert shelf.secured == [["a", "b"]], "the first was given up before it was written"
    given_up.secure()
    assert shelf.secured == [["a", "b"], ["a"]]


def test_an_aborted_checkpoint_is_committed_with_the_next() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    harness.process("a")
    harness.snapshot()
    harness.process("b")
    harness.snapshot()
    harness.complete()
    assert shelf.committed == ["a", "b"]


def test_a_restored_sink_keeps_and_commits_what_its_checkpoint_holds() -> None:
    before, shelf = Shelf(), Shelf()
    harness = harness_of(before)
    harness.process("a", "b")
    saved = harness.snapshot()
    harness_of(shelf, saved)
    assert shelf.recovered == [["a", "b"]]
    assert shelf.committed == ["a", "b"]


def test_what_is_committed_is_not_in_later_snapshots() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    harness.process("a")
    harness.snapshot()
    harness.complete()
    again = Shelf()
    harness_of(again, harness.snapshot())
    assert again.committed == []


def test_a_commit_that_fails_fails_the_subtask_with_the_sinks_own_words() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    harness.process("a")
    harness.snapshot()
    shelf.is_broken = True
    harness.complete()
    assert [str(error) for error in harness.services.failures] == [
        "commit of checkpoint 1 failed: the shelf has fallen down"
    ]
    assert harness.services.commits == []


def test_the_writer_is_closed_with_the_operator() -> None:
    shelf = Shelf()
    harness_of(shelf).close()
    assert shelf.closed == 1


def test_all_that_a_savepoint_holds_is_to_be_kept_and_what_a_checkpoint_holds_is_not() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    harness.process("a")
    harness.snapshot()
    assert shelf.kept == []
    harness.process("b")
    order = SavepointOrder("/savepoints/s", SavepointFormat.NATIVE)
    harness.operator.snapshot(Barrier(CheckpointId(2), 0, savepoint=order))
    assert shelf.kept == ["a", "b"]


def test_a_commit_that_cannot_be_made_now_is_made_later() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    shelf.clock = harness.clock.monotonic_ms
    shelf.answers = [RetriableCommitError("busy"), RetriableCommitError("busy")]
    harness.process("a")
    harness.snapshot()
    harness.complete()
    assert shelf.committed == ["a"]
    assert shelf.tries_ms == [0, 100, 300]
    assert (harness.services.commits, harness.services.failures) == ([1], [])


def test_a_commit_that_could_never_be_made_in_time_fails_the_subtask_so_that_the_job_restarts() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    shelf.answers = [RetriableCommitError("busy")] * 11
    harness.process("a")
    harness.snapshot()
    harness.complete()
    (failure,) = harness.services.failures
    assert type(failure) is CommitFailedError
    assert str(failure) == "commit of checkpoint 1 failed: busy (tried 11 times)"


def test_lost_output_fails_the_subtask_with_an_error_of_its_own_kind() -> None:
    shelf = Shelf()
    harness = harness_of(shelf)
    shelf.answers = [CommitLostError("part-7 of orders is gone")]
    harness.process("a")
    harness.snapshot()
    harness.complete()
    (failure,) = harness.services.failures
    assert type(failure) is CommitLostError
    assert str(failure) == "commit of checkpoint 1 failed: part-7 of orders is gone"
    assert shelf.committed == []


def test_a_restored_commit_is_put_off_like_any_other() -> None:
    before, shelf = Shelf(), Shelf()
    harness = harness_of(before)
    harness.process("a")
    shelf.answers = [RetriableCommitError("busy")]
    harness_of(shelf, harness.snapshot())
    assert shelf.committed == ["a"]
    assert len(shelf.tries_ms) == 2
