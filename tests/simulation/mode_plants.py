"""Faults to plant in checkpoint modes, savepoints, restores from elsewhere and the fencing of drivers; see `plants`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint.alignment.strategy import AlignmentEffect, AlignmentEvent, BarrierReceived
from headgate.checkpoint.alignment.tracker import BarrierTracker
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.coordination.completion import Completion
from headgate.checkpoint.coordination.coordinator import CheckpointCoordinator
from headgate.checkpoint.coordination.pending import PendingCheckpoint
from headgate.checkpoint.coordination.vocabulary import AttemptStarted, CoordinatorEffect, NotifyCompleted
from headgate.checkpoint.drivers import intents, ownership
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest_storage import Refused, Stored
from headgate.checkpoint.store import CheckpointStore
from headgate.dataflow.channel import InputChannel
from headgate.dataflow.pace import Pace
from headgate.elements import Barrier, Batch
from headgate.graph.job_graph import JobGraph
from headgate.ids import CheckpointId
from headgate.runtime.job_storage.clean_up import CleanUp
from headgate.runtime.slot.barriers import Barriers
from headgate.runtime.slot.subtask import Subtask
from headgate.runtime.slot_storage.in_flight import Gathering, Share
from headgate.runtime.slot_storage.slot_storage import Fetch


def rest_of_the_batch_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An unaligned snapshot does not contain the rest of the batch that is being processed."""
    record = Barriers._record
    _slow(patch)

    def without_rest(self: Barriers, index: int) -> None:
        self._rest = None
        record(self, index)

    patch.setattr(Barriers, "_record", without_rest)


def _slow(patch: pytest.MonkeyPatch) -> None:
    """Work is so slow that a piece of it is one record: batches are seldom done when a barrier comes."""

    def one_at_a_time(self: Pace, took_ms: float, emitted: int) -> None:
        self.records = 1

    patch.setattr(Pace, "learn", one_at_a_time)


def a_channel_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An unaligned snapshot omits one channel of the batches overtaken at the receiver."""
    record = Barriers._record

    def all_but_one(self: Barriers, index: int) -> None:
        if index != max(self._overtakable):
            record(self, index)

    patch.setattr(Barriers, "_record", all_but_one)


def senders_part_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An unaligned snapshot omits the batches overtaken at the sender."""

    def nothing(self: Barriers, barrier: Barrier) -> Gathering:
        self._chain.overtake(barrier)
        return Gathering(barrier.checkpoint_id, self._bytes_max)

    patch.setattr(Barriers, "_overtake", nothing)


def recording_goes_on(patch: pytest.MonkeyPatch) -> None:
    """Batches after the barrier are recorded as well, until the barriers of other channels have arrived."""
    push = InputChannel.push

    def go_on(self: InputChannel, element: Any) -> None:
        record = self._record
        push(self, element)
        if isinstance(element, Barrier) and record is not None:
            self._record = record

    patch.setattr(InputChannel, "push", go_on)
    patch.setattr(InputChannel, "stop_recording", lambda self: None)


def new_input_before_what_was_in_flight(patch: pytest.MonkeyPatch) -> None:
    """A restored subtask processes new batches first, and batches in flight only when no new batch waits."""
    run = Subtask.run
    _slow(patch)

    def newest_first(self: Subtask) -> bool:
        restored, self._recovering = self._recovering, None
        worked = run(self)
        self._recovering = restored
        return worked or run(self)

    patch.setattr(Subtask, "run", newest_first)


def routed_again_without_a_look_at_the_keys(patch: pytest.MonkeyPatch) -> None:
    """At another parallelism, a subtask processes all keyed batches in flight, not only records of its key groups."""
    _slow(patch)

    def everything(self: Share, batch: Batch) -> Batch:
        keys = self.selection.keys(batch) if batch.keys is None else batch.keys
        return Batch(batch.records, batch.timestamps, keys)

    patch.setattr(Share, "of", everything)


def checkpoint_before_recovery(patch: pytest.MonkeyPatch) -> None:
    """The coordinator starts checkpoints before the restored batches in flight are processed."""
    begin = CheckpointCoordinator._begin_subtasks
    _slow(patch)

    def at_once(self: CheckpointCoordinator, event: AttemptStarted) -> None:
        begin(self, replace(event, recovering=frozenset()))

    def attend(self: Subtask) -> bool:
        return self._barriers.attend(None)

    patch.setattr(CheckpointCoordinator, "_begin_subtasks", at_once)
    patch.setattr(Subtask, "_attend", attend)


def a_channel_counted_twice(patch: pytest.MonkeyPatch) -> None:
    """In the mode at least once, the barrier of one channel also counts for a second channel."""
    handle = BarrierTracker.handle

    def twice(self: BarrierTracker, event: AlignmentEvent) -> list[AlignmentEffect]:
        effects = handle(self, event)
        if isinstance(event, BarrierReceived) and event.channel == 0 and len(self._channels) > 1:
            effects += handle(self, replace(event, channel=1))
        return effects

    patch.setattr(BarrierTracker, "handle", twice)


def savepoint_commits(patch: pytest.MonkeyPatch) -> None:
    """Sinks are notified of a savepoint that does not stop the job, and commit."""
    _notify_of_savepoints(patch, stops=False)


def stop_commits_before_it_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """Sinks commit the output of a savepoint that ends the job before the end of the job is certain."""
    _notify_of_savepoints(patch, stops=True)


def _notify_of_savepoints(patch: pytest.MonkeyPatch, *, stops: bool) -> None:
    stored = Completion._on_savepoint_stored

    def notify(self: Completion, savepoint: PendingCheckpoint, now_ms: float) -> list[CoordinatorEffect]:
        effects = stored(self, savepoint, now_ms)
        if savepoint.stops is stops and savepoint.attempt == self._state.attempt:
            told = NotifyCompleted(attempt=savepoint.attempt, checkpoint_id=savepoint.checkpoint_id)
            return [told, *effects]
        return effects

    patch.setattr(Completion, "_on_savepoint_stored", notify)


def stop_forgotten(patch: pytest.MonkeyPatch) -> None:
    """After a crash, a job that is recorded as ended by a savepoint continues from its last checkpoint."""
    patch.setattr(intents, "read_stop", lambda store, chain: None)


def no_epochs(patch: pytest.MonkeyPatch) -> None:
    """A driver never checks whether another driver has taken over its job."""
    patch.setattr(ownership, "superseded", lambda store, own: None)


def epochs_looked_at_too_late(patch: pytest.MonkeyPatch) -> None:
    """A driver checks the owner of the job before it writes a manifest, but not before it notifies the subtasks."""

    def as_stored(store: CheckpointStore, own: EpochOwner, result: Stored | Refused) -> Stored | Refused | Superseded:
        return result

    patch.setattr(ownership, "_unless_superseded", as_stored)


def increment_on_foreign_state(patch: pytest.MonkeyPatch) -> None:
    """Incremental checkpoints use files of the savepoint, or of the other job, from which the job started."""
    made = Fetch.__init__

    def always_own(self: Fetch, *arguments: Any, owned: bool = True, **options: Any) -> None:
        made(self, *arguments, owned=True, **options)

    patch.setattr(Fetch, "__init__", always_own)


def claimed_snapshot_deleted_too_early(patch: pytest.MonkeyPatch) -> None:
    """The first retention deletes a claimed snapshot, even if the job has too few checkpoints of its own."""
    retain = CleanUp.retain

    def too_early(self: CleanUp, plan: JobGraph, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        retain(self, plan, keep, shared)
        self.drop_claimed()

    patch.setattr(CleanUp, "retain", too_early)
