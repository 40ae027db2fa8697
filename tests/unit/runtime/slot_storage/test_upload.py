"""Uploads: small state travels in the acknowledgement, large state in files that carry the attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.store import MemoryStore, read_state
from headgate.clock import Clock, VirtualClock
from headgate.elements import Barrier
from headgate.errors import SinkError
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.base import OperatorSnapshot
from headgate.operators.failure import UserFailure
from headgate.operators.keyed_functions import ReduceFactory
from headgate.runtime.slot_storage.state_writers import StoreWriters
from headgate.runtime.slot_storage.upload import TakenSnapshot, Uploads
from headgate.state.backend import StateWriter
from headgate.state.files import FileHandle, InlineHandle, KeyedState, StateHandle
from headgate.testing.harness import OperatorHarness
from tests.unit.runtime.plans import HeldIo
from tests.unit.runtime.subtasks import barrier


class NotingHost:
    """A slot that notes how uploads end."""

    def __init__(self) -> None:
        self.time = VirtualClock()
        self.clock: Clock = self.time
        self.io = HeldIo()
        self.acks: list[SubtaskState] = []
        self.declines: list[str] = []
        self.failures: list[str] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.io.submit(work, done)

    def acked(self, subtask: SubtaskId, barrier: Barrier, state: SubtaskState) -> None:
        self.acks.append(state)

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str) -> None:
        self.declines.append(reason)

    def failed(self, subtask: SubtaskId, failure: UserFailure | str, error: BaseException) -> None:
        self.failures.append(failure if isinstance(failure, str) else failure.describe())


class Rig:
    """A reduce operator with some state, and the uploads of its slot."""

    def __init__(self, keys: int, inline_bytes: int = 1000) -> None:
        self.host, self.store = NotingHost(), MemoryStore()
        self.uploads = Uploads(StoreWriters(self.store, inline_bytes), self.host, Attempt(3))
        self.harness = OperatorHarness(ReduceFactory(lambda a, b: b), key_by=lambda pair: pair[0])
        self.harness.open()
        self.harness.process(*[(key, "before") for key in range(keys)])

    def snapshot(self, number: int = 1) -> None:
        self.uploads.add(self.taken(number))

    def taken(self, number: int = 1) -> TakenSnapshot:
        return TakenSnapshot(
            subtask=SubtaskId(1, 0),
            barrier=barrier(number),
            parts=[(self.harness.operator, self.harness.barrier())],
            sync_ms=1.0,
            alignment_ms=2.0,
            async_since_ms=self.host.clock.monotonic_ms(),
        )

    def securing(self, secure: Callable[[], None], number: int = 1) -> TakenSnapshot:
        """A snapshot with something outside the job."""
        taken = self.taken(number)
        [(operator, part)] = taken.parts
        return replace(taken, parts=[(operator, replace(part, secure=secure))])

    def walk(self) -> int:
        pieces = 0
        while self.uploads.advance():
            pieces += 1
        return pieces


def keyed_handle(state: SubtaskState) -> StateHandle:
    keyed = state.operators[0].keyed
    assert keyed is not None
    (file,) = keyed.base
    return file.handle


def test_small_state_is_kept_inline_and_writes_no_file() -> None:
    rig = Rig(keys=1)
    rig.snapshot()
    rig.walk()
    rig.host.io.run()
    (state,) = rig.host.acks
    assert isinstance(keyed_handle(state), InlineHandle)
    assert rig.store.list_files("") == []


@pytest.mark.parametrize("inline_bytes", [0, 100])
def test_large_state_is_a_file_named_with_its_attempt(inline_bytes: int) -> None:
    rig = Rig(keys=500, inline_bytes=inline_bytes)
    rig.snapshot()
    rig.host.time.advance(15)
    rig.walk()
    rig.host.time.advance(25)
    rig.host.io.run()
    (state,) = rig.host.acks
    handle = keyed_handle(state)
    assert isinstance(handle, FileHandle)
    assert rig.store.list_files("") == [handle.path]
    assert "3" in handle.path
    assert len(read_state(rig.store, handle)) == handle.size_bytes
    assert (state.sync_ms, state.alignment_ms, state.async_ms, state.upload_ms) == (1.0, 2.0, 40.0, 25.0)


def test_the_loop_goes_on_between_pieces_and_the_file_shows_the_barrier() -> None:
    rig = Rig(keys=5000)
    rig.snapshot()
    rig.uploads.advance()
    rig.harness.process(*[(key, "after") for key in range(0, 5000, 10)])
    assert rig.walk() > 3
    rig.host.io.run()
    data = read_state(rig.store, keyed_handle(rig.host.acks[0]))
    assert b"before" in data
    assert b"after" not in data


def test_two_snapshots_are_walked_one_after_the_other() -> None:
    rig = Rig(keys=100)
    rig.snapshot(1)
    rig.harness.process((0, "between"))
    rig.snapshot(2)
    rig.walk()
    rig.host.io.run()
    data = [read_state(rig.store, keyed_handle(state)) for state in rig.host.acks]
    assert [b"between" in each for each in data] == [False, True]


def test_a_snapshot_given_up_is_neither_walked_nor_written_and_the_others_are() -> None:
    rig = Rig(keys=100)
    rig.snapshot(1)
    rig.snapshot(2)
    rig.uploads.advance()
    rig.uploads.abandon(CheckpointId(1))
    rig.walk()
    rig.host.io.run()
    assert len(rig.host.acks) == 1
    assert not rig.uploads.pending


def test_storage_that_fails_declines_the_checkpoint_with_its_words() -> None:
    rig = Rig(keys=500, inline_bytes=0)

    def broken(path: str, chunks: Any) -> Any:
        raise OSError("disk full")

    rig.store.write = broken  # type: ignore[method-assign]
    rig.snapshot()
    rig.walk()
    rig.host.io.run()
    assert rig.host.declines == ["disk full"]


def test_what_sinks_have_prepared_is_made_durable_on_an_io_thread_before_the_acknowledgement() -> None:
    rig, done = Rig(keys=1), []
    rig.uploads.add(rig.securing(lambda: done.append(len(rig.host.acks))))
    rig.walk()
    assert done == []
    rig.host.io.run()
    assert (done, len(rig.host.acks)) == ([0], 1)


def test_what_cannot_be_made_durable_fails_the_subtask_even_if_its_checkpoint_is_given_up() -> None:
    rig = Rig(keys=1)

    def fail() -> None:
        raise SinkError("the disk is broken")

    for number in (1, 2):
        rig.uploads.add(rig.securing(fail, number))
        rig.walk()
        if number == 2:
            rig.uploads.abandon(CheckpointId(2))
        rig.host.io.run()
    assert [("the disk is broken" in each, "operator" in each) for each in rig.host.failures] == [(True, True)] * 2
    assert (rig.host.acks, rig.host.declines) == ([], [])


def test_what_cannot_be_pickled_declines_the_checkpoint_by_operator_state_and_key() -> None:
    rig = Rig(keys=3)
    rig.harness.process((1, lambda: None))
    rig.snapshot()
    rig.walk()
    (reason,) = rig.host.declines
    assert reason.startswith("operator 'operator': state ")
    assert "of key 1 holds a tuple that cannot be pickled" in reason
    assert not rig.uploads.pending


class SlowWalk:
    """Keyed state of which each piece of the walk takes 3 ms."""

    key_groups = (0, 127)

    def __init__(self, time: VirtualClock) -> None:
        self._time = time

    def advance(self) -> bool:
        self._time.advance(3)
        return False

    def store(self, writer: StateWriter) -> KeyedState:
        raise NotImplementedError


def test_walk_leaves_most_of_a_busy_loops_time_to_records() -> None:
    rig = Rig(keys=1)
    slow = OperatorSnapshot(uid="slow", keyed=SlowWalk(rig.host.time))
    rig.uploads.add(replace(rig.taken(), parts=[(rig.harness.operator, slow)]))
    assert rig.uploads.due
    rig.uploads.advance()
    rig.host.time.advance(16)
    assert not rig.uploads.due
    rig.host.time.advance(2)
    assert rig.uploads.due
