"""Faults to plant in checkpoint modes, savepoints, restores from elsewhere and the fencing of drivers; see `plants`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint.alignment import AlignmentEffect, AlignmentEvent, BarrierReceived, BarrierTracker
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
from headgate.runtime.slot_storage.fetch import Fetch
from headgate.runtime.slot_storage.in_flight import Gathering, Share


def rest_of_the_batch_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What is left of the batch at work is no part of an unaligned snapshot."""
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
    """Of what an unaligned barrier has overtaken on the receivers' side, one channel is left out."""
    record = Barriers._record

    def all_but_one(self: Barriers, index: int) -> None:
        if index != max(self._overtakable):
            record(self, index)

    patch.setattr(Barriers, "_record", all_but_one)


def senders_part_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What an unaligned barrier has overtaken on the senders' side is left out."""

    def nothing(self: Barriers, barrier: Barrier) -> Gathering:
        self._chain.overtake(barrier)
        return Gathering(barrier.checkpoint_id, self._bytes_max)

    patch.setattr(Barriers, "_overtake", nothing)


def recording_goes_on(patch: pytest.MonkeyPatch) -> None:
    """Batches behind the barrier are recorded as well, until those of other channels have come."""
    push = InputChannel.push

    def go_on(self: InputChannel, element: Any) -> None:
        record = self._record
        push(self, element)
        if isinstance(element, Barrier) and record is not None:
            self._record = record

    patch.setattr(InputChannel, "push", go_on)
    patch.setattr(InputChannel, "stop_recording", lambda self: None)


def new_input_before_what_was_in_flight(patch: pytest.MonkeyPatch) -> None:
    """A restored subtask processes what comes in, and what was in flight only when nothing does."""
    run = Subtask.run
    _slow(patch)

    def newest_first(self: Subtask) -> bool:
        restored, self._recovering = self._recovering, None
        worked = run(self)
        self._recovering = restored
        return worked or run(self)

    patch.setattr(Subtask, "run", newest_first)


def routed_again_without_a_look_at_the_keys(patch: pytest.MonkeyPatch) -> None:
    """At another parallelism, a subtask takes all that was in flight by key, and not only what is of its key groups."""
    _slow(patch)

    def everything(self: Share, batch: Batch) -> Batch:
        keys = self.selection.keys(batch) if batch.keys is None else batch.keys
        return Batch(batch.records, batch.timestamps, keys)

    patch.setattr(Share, "of", everything)


def checkpoint_before_recovery(patch: pytest.MonkeyPatch) -> None:
    """The coordinator does not wait with checkpoints until what was in flight is processed."""
    begin = CheckpointCoordinator._begin_subtasks
    _slow(patch)

    def at_once(self: CheckpointCoordinator, event: AttemptStarted) -> None:
        begin(self, replace(event, recovering=frozenset()))

    def attend(self: Subtask) -> bool:
        return self._barriers.attend(None)

    patch.setattr(CheckpointCoordinator, "_begin_subtasks", at_once)
    patch.setattr(Subtask, "_attend", attend)


def a_channel_counted_twice(patch: pytest.MonkeyPatch) -> None:
    """At least once, the barrier of one channel counts for a second one, too."""
    handle = BarrierTracker.handle

    def twice(self: BarrierTracker, event: AlignmentEvent) -> list[AlignmentEffect]:
        effects = handle(self, event)
        if isinstance(event, BarrierReceived) and event.channel == 0 and len(self._channels) > 1:
            effects += handle(self, replace(event, channel=1))
        return effects

    patch.setattr(BarrierTracker, "handle", twice)


def savepoint_commits(patch: pytest.MonkeyPatch) -> None:
    """The completion of a savepoint on the way is told to sinks, which commit."""
    _notify_of_savepoints(patch, stops=False)


def stop_commits_before_it_is_recorded(patch: pytest.MonkeyPatch) -> None:
    """Sinks commit what the savepoint that ends a job holds before it is certain that the job ends with it."""
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
    """A job that is recorded to end with a savepoint goes on from its last checkpoint after a crash."""
    patch.setattr(intents, "read_stop", lambda store, chain: None)


def no_epochs(patch: pytest.MonkeyPatch) -> None:
    """A driver never looks whether another one has taken over its job."""
    patch.setattr(ownership, "superseded", lambda store, own: None)


def epochs_looked_at_too_late(patch: pytest.MonkeyPatch) -> None:
    """A driver looks who owns the job before it writes a manifest, but not again before it tells of it."""

    def as_stored(store: CheckpointStore, own: EpochOwner, result: Stored | Refused) -> Stored | Refused | Superseded:
        return result

    patch.setattr(ownership, "_unless_superseded", as_stored)


def increment_on_foreign_state(patch: pytest.MonkeyPatch) -> None:
    """Increments build on the files of the savepoint, or of the other job, that a job has started from."""
    made = Fetch.__init__

    def always_own(self: Fetch, *arguments: Any, owned: bool = True, **options: Any) -> None:
        made(self, *arguments, owned=True, **options)

    patch.setattr(Fetch, "__init__", always_own)


def claimed_snapshot_deleted_too_early(patch: pytest.MonkeyPatch) -> None:
    """What a job has claimed goes with the first retention, however many checkpoints of its own there are."""
    retain = CleanUp.retain

    def too_early(self: CleanUp, plan: JobGraph, keep: tuple[CheckpointId, ...], shared: SharedFiles) -> None:
        retain(self, plan, keep, shared)
        self.drop_claimed()

    patch.setattr(CleanUp, "retain", too_early)
