"""From the acknowledgement of all subtasks to the end: manifests, commits for all, stops, the last commits. Pure.

    a manifest      WAITING -> (no other manifest in flight) -> STORING -> ManifestStored or ManifestRefused
    a commit        after the manifest, or after a stop is recorded -> CommittedForAll or CommitRefused
    a stop          the savepoint is stored -> RECORDING -> StopRecorded or StopRefused
    the end         the last checkpoint is complete -> COMMITTING -> every committing subtask has committed -> DONE

The coordinator tells the subtasks and the asker only after the last of the writes that a checkpoint or savepoint needs.
`Gate` knows which of these writes is in doubt.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

from headgate.checkpoint import messages
from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.coordinator_state import CoordinatorState, Effects
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.checkpoint.coordination.pending import PendingCheckpoint, Stop
from headgate.ids import Attempt, CheckpointId


@final
class Completion:
    """Completes the checkpoints that all subtasks have acknowledged, and ends the job. Owned by the coordinator."""

    def __init__(self, state: CoordinatorState) -> None:
        self._state = state

    def store_next(self) -> Effects:
        """Order the manifest of the oldest checkpoint that all subtasks have acknowledged, one manifest at a time."""
        if self._state.gate.storing is not None or self._state.phase is c.Phase.FAILING:
            return []
        acked = (pending for pending in self._state.pending.values() if pending.is_acked(self._state.subtasks))
        ready = next(acked, None)
        if ready is None:
            return []
        self._state.gate.storing = ready.checkpoint_id
        return [ready.manifest_order()]

    def on_stored(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        """The manifest is in storage."""
        stored = self._being_stored(checkpoint_id)
        if stored.savepoint is not None:
            return self._on_savepoint_stored(self._settle(checkpoint_id, now_ms), now_ms)
        if self._state.commits_for_all:
            return [c.CommitForAll(order=stored.manifest_order())]
        return self._tell_completed(checkpoint_id, now_ms)

    def _tell_completed(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        """Tell subtasks and asker that a checkpoint is complete: it is stored, and committed for all."""
        stored = self._settle(checkpoint_id, now_ms)
        answered = self._completes(stored)
        if stored.attempt != self._state.attempt:
            return answered
        told = c.NotifyCompleted(attempt=stored.attempt, checkpoint_id=checkpoint_id)
        effects = [
            told,
            *self._state.subsume(checkpoint_id, now_ms),
            *self._state.gate.retain(tuple(self._state.completed)),
            *answered,
        ]
        if stored.final and self._state.phase is c.Phase.RUNNING:
            self._state.ending = checkpoint_id
            effects += self.await_commits(stored.attempt)
        return effects

    def _completes(self, stored: PendingCheckpoint) -> Effects:
        """Count the checkpoint as complete, and answer the request for it."""
        self._state.completed = [*self._state.completed, stored.checkpoint_id][-self._state.settings.num_retained :]
        self._state.failures.completed(stored.checkpoint_id)
        if stored.request is None:
            return []
        return [c.RequestCompleted(request=stored.request, checkpoint_id=stored.checkpoint_id)]

    def _on_savepoint_stored(self, stored: PendingCheckpoint, now_ms: float) -> Effects:
        checkpoint_id, stop = stored.checkpoint_id, self._state.stop
        self._state.complete_savepoints.add(checkpoint_id)
        if stored.request is not None:
            return [c.RequestCompleted(request=stored.request, checkpoint_id=checkpoint_id)]
        assert stop is not None
        if self._state.phase is not c.Phase.STOPPING:
            self._state.stop = None
            return [stop.answer_without(FailureReason.FAILED_BEFORE_STOP)]
        self._state.phase, self._state.stop = c.Phase.RECORDING, Stop(stop.request, stored)
        self._state.gate.recording = checkpoint_id
        effects = self._state.subsume(checkpoint_id, now_ms)
        return [*effects, c.RecordStop(checkpoint_id=checkpoint_id, savepoint=stop.savepoint)]

    def on_refused(self, checkpoint_id: CheckpointId, reason: str, now_ms: float) -> Effects:
        """The manifest is not in storage, and never will be."""
        refused = self._settle(checkpoint_id, now_ms)
        failure = FailureReason.NOT_STORED.told(why=reason)
        if refused.attempt == self._state.attempt:
            return self._state.fail(refused, failure, now_ms)
        return [*refused.forget(failure), *(self._state.end_stop(failure) if refused.stops else [])]

    def _being_stored(self, checkpoint_id: CheckpointId) -> PendingCheckpoint:
        if checkpoint_id != self._state.gate.storing:
            raise self._state.history.broken(f"the manifest of checkpoint {checkpoint_id} is not being stored")
        return self._state.pending[checkpoint_id]

    def _settle(self, checkpoint_id: CheckpointId, now_ms: float) -> PendingCheckpoint:
        """End the checkpoint: the outcome of its manifest and its commit for all is known."""
        settled = self._being_stored(checkpoint_id)
        self._state.gate.storing = None
        del self._state.pending[checkpoint_id]
        self._state.note_end(settled, now_ms)
        return settled

    def on_committed_for_all(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        """The committables of all subtasks together are committed."""
        if checkpoint_id == self._state.gate.recording:
            return self._tell_stop()
        return self._tell_completed(checkpoint_id, now_ms)

    def on_commit_refused(self, event: c.CommitRefused) -> Effects:
        """Fail the attempt. The checkpoint or the stop still counts, but no subtask is told of it."""
        failure = FailureReason.NOT_COMMITTED.told(checkpoint_id=event.checkpoint_id, why=event.reason)
        if (
            event.checkpoint_id == self._state.gate.recording
            and self._state.stop is not None
            and self._state.stop.saved is not None
        ):
            stored, answered = self._state.stop.saved, Effects()
            self._state.gate.recording = None
        else:
            stored = self._settle(event.checkpoint_id, event.now_ms)
            answered = self._completes(stored)
        return [*self._state.fail_attempt(stored.attempt, failure, retriable=event.retriable), *answered]

    def on_recorded(self, checkpoint_id: CheckpointId) -> Effects:
        """The job folder says that the job ends with this savepoint."""
        saved = self._being_recorded(checkpoint_id).saved
        assert saved is not None
        return [c.CommitForAll(order=saved.manifest_order())] if self._state.commits_for_all else self._tell_stop()

    def _tell_stop(self) -> Effects:
        """Tell the subtasks to commit the savepoint that the job ends with: it is recorded, and committed for all."""
        checkpoint_id, self._state.gate.recording = self._state.gate.recording, None
        assert checkpoint_id is not None
        if self._state.attempt is None:
            return []
        self._state.ending = checkpoint_id
        told = c.NotifyCompleted(attempt=self._state.attempt, checkpoint_id=checkpoint_id)
        return [told, *self.await_commits(self._state.attempt)]

    def on_not_recorded(self, event: c.StopRefused) -> Effects:
        """The job folder does not say that the job ends with this savepoint, and never will."""
        stop = self._being_recorded(event.checkpoint_id)
        self._state.gate.recording = self._state.stop = None
        answer = stop.answer_without(FailureReason.STOP_NOT_RECORDED, why=event.reason)
        return [
            answer,
            *([] if self._state.attempt is None else self._state.fail_attempt(self._state.attempt, answer.failure)),
        ]

    def _being_recorded(self, checkpoint_id: CheckpointId) -> Stop:
        if checkpoint_id != self._state.gate.recording or self._state.stop is None:
            raise self._state.history.broken(f"no stop with savepoint {checkpoint_id} is being recorded")
        return self._state.stop

    def await_commits(self, attempt: Attempt) -> Effects:
        """Wait until every committing subtask has committed, then finish the job."""
        self._state.phase = c.Phase.COMMITTING
        return [*self._state.refuse_waiting(self._state.phase.refusal), *self._finish_if_committed(attempt)]

    def _finish_if_committed(self, attempt: Attempt) -> Effects:
        if not self._state.committing <= self._state.committed:
            return []
        self._state.phase = c.Phase.DONE
        if self._state.stop is not None:
            self._state.stop = replace(self._state.stop, is_committed=True)
        return [c.FinishJob(attempt=attempt)]

    def on_committed(self, message: messages.SubtaskCommitted) -> Effects:
        """A subtask has committed everything up to a checkpoint."""
        if (
            self._state.phase is not c.Phase.COMMITTING
            or self._state.ending is None
            or message.checkpoint_id < self._state.ending
        ):
            return []
        self._state.committed.add(message.subtask)
        return self._finish_if_committed(message.attempt)
