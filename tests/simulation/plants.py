"""Faults to plant in production code: each breaks one promise, and the simulator has to see it.

A plant replaces a part of production code for the time of a test; production code itself has no switches for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint import manifest_storage, paths
from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import AlignmentEffect, AlignmentEvent, BarrierReceived, TakeSnapshot
from headgate.checkpoint.cleanup import deletion, retention
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.commit import CheckpointConfirmed, CommitTracker
from headgate.checkpoint.coordination.completion import Completion
from headgate.checkpoint.coordination.coordinator import CheckpointCoordinator
from headgate.checkpoint.coordination.vocabulary import CoordinatorEffect, DiscardFiles
from headgate.checkpoint.drivers import job_records
from headgate.checkpoint.messages import CheckpointMessage, SubtaskAcked
from headgate.checkpoint.restore import assign, latest
from headgate.dataflow.channel import NO_LIMIT
from headgate.elements import Barrier
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, CheckpointId, Lineage
from headgate.operators.base import OperatorSnapshot
from headgate.operators.pending import PendingOperator
from headgate.operators.sink import SinkOperator
from headgate.runtime.exchange.credit import Credit, Encoded
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.job_storage.lease import Lease
from headgate.runtime.job_storage.sink_commits import SinkCommits
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.supervisor import Supervisor
from headgate.runtime.master.supervisor_vocabulary import SupervisorEffect
from headgate.runtime.slot.subtask import Subtask
from headgate.runtime.slot_storage.state_writers import StoreWriter, StoreWriters
from headgate.state.files import FileHandle, StateHandle
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.timer_index import HeapTimerIndex, TimerIndex
from headgate.state.keyed.walk import Walk
from headgate.state.operator.list_elements import ListElements
from headgate.state.operator.operator_state import OperatorStateStore
from headgate.testing.sim.exchange import InTransit, SimExchange
from headgate.testing.sim.external import External
from headgate.testing.sim.work import work_now
from tests.simulation.own_jobs.user_code import SimReader, SimSplit

Plant = Callable[[pytest.MonkeyPatch], None]


def no_alignment(patch: pytest.MonkeyPatch) -> None:
    """A subtask takes its snapshot at the first barrier of a checkpoint, without alignment."""
    aligned = BarrierAligner.handle

    def handle(self: BarrierAligner, event: AlignmentEvent) -> list[AlignmentEffect]:
        if self._overtakable:
            return aligned(self, event)
        if not isinstance(event, BarrierReceived) or event.barrier.checkpoint_id <= self._current:
            return []
        self._current = event.barrier.checkpoint_id
        return [TakeSnapshot(barrier=event.barrier)]

    patch.setattr(BarrierAligner, "handle", handle)


def no_fencing(patch: pytest.MonkeyPatch) -> None:
    """Master, slots and the exchange accept messages of older attempts."""
    on_message, on_attempt_event = CheckpointCoordinator._on_message, Supervisor._on_attempt_event

    def coordinated(self: CheckpointCoordinator, message: CheckpointMessage, now_ms: float) -> list[CoordinatorEffect]:
        return [] if self._state.attempt is None else on_message(self, _as_current(self, message), now_ms)

    def supervised(self: Supervisor, event: Any) -> list[SupervisorEffect]:
        return on_attempt_event(self, replace(event, attempt=self.attempt))

    def arrived(self: SimExchange, flow: Any, sent: InTransit) -> bool:
        channel, element = self._inputs.get(sent.channel), sent.element
        if isinstance(element, Encoded):
            if channel is not None:
                channel.push_bytes(memoryview(element.payload), element.records)
            sent.credited(Credit(1, len(element.payload), element.records, NO_LIMIT))
        elif channel is not None:
            channel.push(element)
        self.process.wake()
        return True

    def end(self: SimExchange) -> None:
        self.attempt, self._inputs, self._flows = None, {}, {}

    patch.setattr(CheckpointCoordinator, "_on_message", coordinated)
    patch.setattr(Supervisor, "_on_attempt_event", supervised)
    patch.setattr(JobMaster, "receive", lambda self, launch, message: self._dispatch(message))
    patch.setattr(SimExchange, "arrived", arrived)
    patch.setattr(SimExchange, "end", end)


def one_lineage_for_all(patch: pytest.MonkeyPatch) -> None:
    """All drivers write under the same lineage, even with other storage or from a savepoint."""
    patch.setattr(Lease, "begin_lineage", lambda self, drawn, *, goes_on: Lineage("0" * 32, 0))


def ack_of_an_old_attempt(patch: pytest.MonkeyPatch) -> None:
    """An acknowledgement of an older attempt or launch counts for the current checkpoint."""
    on_message, receive = CheckpointCoordinator._on_message, JobMaster.receive

    def unfenced(self: CheckpointCoordinator, message: CheckpointMessage, now_ms: float) -> list[CoordinatorEffect]:
        return on_message(self, _as_current(self, message) if isinstance(message, SubtaskAcked) else message, now_ms)

    def receive_all(self: JobMaster, launch: Any, message: Any) -> None:
        receive(self, self._supervisor.launch if isinstance(message, SubtaskAcked) else launch, message)

    patch.setattr(CheckpointCoordinator, "_on_message", unfenced)
    patch.setattr(JobMaster, "receive", receive_all)


def _as_current(coordinator: CheckpointCoordinator, message: CheckpointMessage) -> CheckpointMessage:
    """Return a message of an older attempt as one of this attempt, about the checkpoint that is being collected."""
    state = coordinator._state
    if state.attempt in (None, message.attempt):
        return message
    if isinstance(message, SubtaskAcked) and state.pending:
        oldest = min(state.pending)
        return replace(message, attempt=state.attempt, checkpoint_id=oldest)
    return replace(message, attempt=state.attempt)


def metadata_before_the_state(patch: pytest.MonkeyPatch) -> None:
    """A subtask acknowledges before it has written its state."""
    write = StoreWriter._write

    def later(self: StoreWriter, path: str, pieces: list[bytes]) -> StateHandle:
        data = b"".join(pieces)
        if len(data) < self._inline_bytes:
            return write(self, path, pieces)
        work = work_now()
        assert work is not None
        work._io.submit(lambda: self._store.write(path, [data]), lambda result: None)
        return FileHandle(path, len(data), zlib.crc32(data))

    patch.setattr(StoreWriter, "_write", later)


def operator_state_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Functions start with empty operator state after a restore."""
    restored = OperatorStateStore.__init__

    def forgetful(self: OperatorStateStore, operator: str, subtask: int, *_: Any) -> None:
        restored(self, operator, subtask)

    patch.setattr(OperatorStateStore, "__init__", forgetful)


def pending_inputs_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A snapshot does not contain the pending inputs of an operator."""

    def without(self: PendingOperator, barrier: Barrier) -> OperatorSnapshot:
        return OperatorSnapshot(uid=self.context.uid)

    patch.setattr(PendingOperator, "snapshot", without)


def union_of_one_subtask(patch: pytest.MonkeyPatch) -> None:
    """A subtask restores only the first subtask's elements of union state."""

    def everything(old: Sequence[Mapping[str, ListElements]], name: str) -> list[bytes]:
        return old[0][name].elements

    patch.setattr(assign, "_all", everything)


def timers_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An operator ignores the timers of restored state."""
    timers = HashMapBackend.timers

    def only_new_ones(self: HashMapBackend, name: str) -> tuple[int, TimerIndex]:
        if name not in self._timers:
            column, _ = timers(self, name)
            self._timers[name] = column, HeapTimerIndex()
        return self._timers[name]

    patch.setattr(HashMapBackend, "timers", only_new_ones)


def commit_before_the_manifest(patch: pytest.MonkeyPatch) -> None:
    """A sink commits at the barrier instead of at completion."""
    snapshot = SinkOperator.snapshot

    def committing(self: SinkOperator, barrier: Barrier) -> OperatorSnapshot:
        taken = snapshot(self, barrier)
        self._handle(CheckpointConfirmed(checkpoint_id=barrier.checkpoint_id, attempt=self.context.attempt))
        return taken

    patch.setattr(SinkOperator, "snapshot", committing)


def abort_in_doubt(patch: pytest.MonkeyPatch) -> None:
    """The end of an attempt aborts a checkpoint whose manifest is being written, and the job restores at once."""
    ended, stored, refused = CheckpointCoordinator._on_attempt_ended, Completion.on_stored, Completion.on_refused

    def give_up_all(self: CheckpointCoordinator, attempt: Attempt, cause: str | None) -> list[CoordinatorEffect]:
        effects = ended(self, attempt, cause)
        if self.gate.storing is None:
            return effects
        doubtful, self.gate.storing = self._state.pending.pop(self.gate.storing), None
        return [*effects, DiscardFiles(checkpoint_id=doubtful.checkpoint_id, attempt=doubtful.attempt)]

    def when_known(settle: Callable[..., list[CoordinatorEffect]]) -> Callable[..., list[CoordinatorEffect]]:
        def handle(self: Completion, checkpoint_id: CheckpointId, *rest: Any) -> list[CoordinatorEffect]:
            return settle(self, checkpoint_id, *rest) if checkpoint_id == self._state.gate.storing else []

        return handle

    patch.setattr(CheckpointCoordinator, "_on_attempt_ended", give_up_all)
    patch.setattr(Completion, "on_stored", when_known(stored))
    patch.setattr(Completion, "on_refused", when_known(refused))


def lost_replay(patch: pytest.MonkeyPatch) -> None:
    """After a restore, a source skips a record."""

    def skip_one(self: SimReader, splits: list[SimSplit]) -> None:
        self._splits += [
            SimSplit(split.split, split.position + (split.position > 0 and split.position + 1 < split.end), split.end)
            for split in splits
        ]

    patch.setattr(SimReader, "add_splits", skip_one)


def double_commit(patch: pytest.MonkeyPatch) -> None:
    """Committing a final transaction writes its output a second time."""
    commit_one = External._commit_one

    def commit_again(self: External, name: str) -> None:
        if name in self.final:
            self.final[name] = self.final[name] * 2
        else:
            commit_one(self, name)

    patch.setattr(External, "_commit_one", commit_again)


def position_ahead_of_the_barrier(patch: pytest.MonkeyPatch) -> None:
    """A source saves its position only after it has read records behind the barrier."""
    trigger = Subtask.trigger

    def read_on(self: Subtask, barrier: Barrier) -> None:
        for output in self.outputs:
            output.broadcast(barrier)
        self._poll()
        trigger(self, barrier)

    patch.setattr(Subtask, "trigger", read_on)


def no_barrier_after_the_end(patch: pytest.MonkeyPatch) -> None:
    """A source whose input has ended ignores triggers."""
    trigger = Subtask.trigger

    def while_running(self: Subtask, barrier: Barrier) -> None:
        if not self._ended:
            trigger(self, barrier)

    patch.setattr(Subtask, "trigger", while_running)


def clean_up_of_named_files(patch: pytest.MonkeyPatch) -> None:
    """Retention also deletes the state of retained checkpoints."""

    def too_many(listing: list[str], keep: list[Any], shared: SharedFiles) -> list[str]:
        newest = max(manifest.checkpoint_id for manifest in keep)
        return [
            path
            for path in listing
            if (found := paths.checkpoint_of(path)) is not None and found <= newest and path != paths.metadata(newest)
        ]

    patch.setattr(deletion, "superseded_files", too_many)


def torn_manifest_taken_for_whole(patch: pytest.MonkeyPatch) -> None:
    """The driver does not check whether a manifest is whole."""
    for module in (latest, deletion, manifest_storage, job_records):
        patch.setattr(module, "is_torn", lambda data: False)


def restore_without_pending_commits(patch: pytest.MonkeyPatch) -> None:
    """A restore does not commit the prepared output of the checkpoint."""
    restored = CommitTracker._on_restored
    patch.setattr(CommitTracker, "_on_restored", lambda self, checkpoint_id, pending: restored(self, checkpoint_id, ()))


def attempts_numbered_anew(patch: pytest.MonkeyPatch) -> None:
    """A new driver begins with attempt 1, although earlier drivers have used this number."""
    patch.setattr(job_records, "last_attempt", lambda store: Attempt(0))
    patch.setattr(job_records, "begin_attempt", lambda store, attempt: None)


def state_written_as_it_is_now(patch: pytest.MonkeyPatch) -> None:
    """A snapshot contains values that have changed while it is written."""
    patch.setattr(Walk, "save", lambda self, cell: None)


def discard_of_what_is_used_again(patch: pytest.MonkeyPatch) -> None:
    """When a checkpoint is aborted, all shared files of its attempt are deleted."""
    _share_all_files(patch)
    abandoned = retention.abandoned_files

    def too_many(listing: list[str], checkpoint_id: CheckpointId, attempt: Attempt) -> list[str]:
        origins = {path: paths.origin_of(path) for path in listing}
        shared = [path for path, origin in origins.items() if origin is not None and origin.attempt == attempt]
        return sorted({*abandoned(listing, checkpoint_id, attempt), *shared})

    patch.setattr(deletion, "abandoned_files", too_many)


def shared_files_deleted_at_once(patch: pytest.MonkeyPatch) -> None:
    """Retention keeps only shared files of retained manifests, and the driver ignores missing files."""
    _share_all_files(patch)
    retain = CleanUp.retain

    def at_once(self: CleanUp, plan: JobGraph, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        retain(self, plan, keep, replace(shared, in_use=frozenset()))

    patch.setattr(CleanUp, "retain", at_once)


def folder_of_shared_files_deleted(patch: pytest.MonkeyPatch) -> None:
    """Clean-up deletes each folder that was empty when it was listed, also if slots write to it."""
    _share_all_files(patch)
    patch.setattr(deletion, "_checkpoints_of", lambda folders: folders)


def _share_all_files(patch: pytest.MonkeyPatch) -> None:
    """Have small increments, too, be files that later checkpoints use."""
    made = StoreWriters.__init__
    patch.setattr(StoreWriters, "__init__", lambda self, store, inline_bytes: made(self, store, 0))


def nothing_is_given_up(patch: pytest.MonkeyPatch) -> None:
    """Output kept for a savepoint stays, although the driver died before the savepoint was complete."""
    patch.setattr(SinkCommits, "give_up", lambda self, savepoints: None)
