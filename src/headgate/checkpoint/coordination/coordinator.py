"""The checkpoint coordinator: decides when a checkpoint starts, is complete, is given up, and when the job is done.

Theory of operation
-------------------
A checkpoint begins with a trigger to the sources and is *collecting* until every subtask has acknowledged it. Then its
manifest is written; from that order until the outcome is known the checkpoint is *in doubt* and must not be aborted,
clean up its files or restore. Once the manifest is stored the checkpoint is complete, whatever happens to the attempt
that took it; notifying the subtasks only tells them so. One manifest is written at a time, oldest first.

Commit for all, then tell. What all subtasks have prepared together is committed in the driver: after the manifest is
stored (for a savepoint that ends the job: after that is recorded), and before a subtask or a user hears of it. It stays
in doubt meanwhile. If the commit is refused the attempt fails, and what it restores is committed again.

    phase       meaning                                          legal edges
    IDLE        no attempt runs                                  AttemptStarted -> RUNNING; finishing -> COMMITTING
    RUNNING     checkpoints are triggered                        more failures in a row than tolerated -> FAILING
                                                                 manifest of the final checkpoint stored -> COMMITTING
                                                                 turn of a request to stop the job -> STOPPING
    STOPPING    only the savepoint that ends the job is taken    its manifest stored -> RECORDING
                                                                 it is given up, or as in RUNNING -> FAILING
    RECORDING   that the job ends is being noted                 StopRecorded -> COMMITTING; StopRefused -> FAILING
    FAILING     the attempt was told to fail                     (only its end is awaited)
    COMMITTING  the last commits are awaited                     every committing subtask has committed -> DONE
    DONE        the job was told to finish                       (only the end of the attempt is awaited)
    all         the attempt is over                              AttemptEnded -> IDLE

    a checkpoint: COLLECTING -> (all acknowledged) -> WAITING -> (no other manifest in flight) -> STORING
    STORING -> (ManifestStored) -> COMMITTING, if there is something to be committed for all -> complete
    COLLECTING or WAITING -> aborted: timeout (COLLECTING only), decline, subsumed by a later one, end of the attempt
    STORING -> aborted: ManifestRefused only

Starts. See `schedule`. Nothing starts before all subtasks have processed the data in flight that they were restored
with. Failures: see `failures`. Every request is answered once: with the checkpoint when it is complete, else with why.

Savepoints. One that is complete concerns its asker only: nothing is committed with it, no restart begins
from it, it subsumes nothing and is never subsumed.

Stops. From the turn of a request to stop the job on nothing else starts: the sources emit nothing behind the
savepoint's barrier or, when the job is drained, they end first, so that the final checkpoint is the savepoint. When
that is complete the stop is recorded in the job's folder, and from then on *any* attempt of the job only commits what
the savepoint holds. If it cannot be had, sources have stopped already: the attempt fails, and the job goes on from its
last checkpoint. If the stop is recorded, the asker hears of it at the end of the job, else as soon as it cannot be.

The end. Subtasks that have ended stay, acknowledge and forward barriers like all others. When all have ended, one final
checkpoint starts at once, beside any that is under way (which was triggered earlier and may miss last records) and also
if periodic checkpoints are off. If it fails it is tried again a little later.

Clean-up, and the restores and the end of the job that wait for it: see `restore_gate`.

Ids grow and are never reused, also across attempts and masters. Messages of another attempt are dropped, except
commits, which subtasks may report before they are all started. A late acknowledgement of an aborted checkpoint has its
files discarded once more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, assert_never, final

from headgate.checkpoint import messages
from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.failures import CheckpointFailure, FailureCounter, FailureReason
from headgate.checkpoint.coordination.pending import PendingCheckpoint, Stop
from headgate.checkpoint.coordination.restore_gate import Gate
from headgate.checkpoint.coordination.schedule import NOW, REQUESTS_MAX, CheckpointSchedule, RequestQueue
from headgate.elements import Barrier, SavepointOrder
from headgate.event_history import EventHistory
from headgate.ids import Attempt, CheckpointId, SubtaskId

Effects = list[c.CoordinatorEffect]

FINAL_RETRY_MS: Final = 1_000.0
"""Pause before the final checkpoint is tried again, so that broken storage is not hammered."""


@final
class CheckpointCoordinator:
    """Coordinates the checkpoints of one job through all its attempts. Pure; owned by the job master's loop."""

    def __init__(self, settings: c.CheckpointSettings) -> None:
        self._settings = settings
        self._history = EventHistory("checkpoint coordinator", length=30)
        self._phase = c.Phase.IDLE
        self._attempt: Attempt | None = None
        self._last_attempt = Attempt(0)
        self._wall_offset_ms = 0.0
        self._commits_for_all = False
        # Whom the attempt has, and of them those that report commits.
        self._subtasks: frozenset[SubtaskId] = frozenset()
        self._committing: frozenset[SubtaskId] = frozenset()
        self.gate = Gate()
        # The checkpoints under way, oldest first.
        self._last_id = CheckpointId(0)
        self._pending: dict[CheckpointId, PendingCheckpoint] = {}
        self._completed: list[CheckpointId] = []
        self._failures = FailureCounter(settings.tolerable_failures)
        # Savepoints of this attempt that are over: given up, or complete.
        self._spoilt: dict[CheckpointId, SavepointOrder] = {}
        self._taken: set[CheckpointId] = set()
        # What starts next.
        self._queue = RequestQueue()
        self._schedule = CheckpointSchedule(settings)
        self._next_final_ms = 0.0
        # How far the subtasks of the attempt are.
        self._recovering: set[SubtaskId] = set()
        self._ended: set[SubtaskId] = set()
        self._committed: set[SubtaskId] = set()
        self._early: list[messages.SubtaskCommitted] = []
        # The end: the request to stop, and the checkpoint whose commits end the job.
        self._stop: Stop | None = None
        self._ending: CheckpointId | None = None

    @property
    def phase(self) -> c.Phase:
        """What the coordinator is doing."""
        return self._phase

    @property
    def completed(self) -> tuple[CheckpointId, ...]:
        """The completed checkpoints that are retained, oldest first. Savepoints are not among them."""
        return tuple(self._completed)

    def next_wake_ms(self) -> float | None:
        """When to send the next `c.Tick`, if nothing else happens before; None: no need."""
        if self._phase in (c.Phase.IDLE, c.Phase.FAILING, c.Phase.DONE):
            return None
        times = [self._due_ms(), *(pending.expires_ms for pending in self._collecting())]
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: c.CoordinatorEvent) -> Effects:
        """Return what to do, in this order. Raises InternalError for an event that the protocol rules out."""
        self._history.add(event)
        effects = [*self._apply(event), *self._go_on(event.now_ms)]
        return [*effects, *self.gate.due()]

    def _apply(self, event: c.CoordinatorEvent) -> Effects:
        match event:
            case c.AttemptStarted():
                return self._on_attempt_started(event)
            case c.AttemptEnded(attempt=attempt, cause=cause):
                return self._on_attempt_ended(attempt, cause)
            case c.JobEnded():
                return self._on_job_ended(event)
            case c.Received(message=message, now_ms=now_ms):
                return self._on_message(message, now_ms)
            case c.ManifestStored(checkpoint_id=checkpoint_id, now_ms=now_ms):
                return self._on_stored(checkpoint_id, now_ms)
            case c.ManifestRefused(checkpoint_id=checkpoint_id, reason=reason, now_ms=now_ms):
                return self._on_refused(checkpoint_id, reason, now_ms)
            case c.StopRecorded(checkpoint_id=checkpoint_id):
                return self._on_recorded(checkpoint_id)
            case c.StopRefused():
                return self._on_not_recorded(event)
            case c.CommittedForAll(checkpoint_id=checkpoint_id, now_ms=now_ms):
                return self._on_committed_for_all(checkpoint_id, now_ms)
            case c.CommitRefused():
                return self._on_commit_refused(event)
            case c.CheckpointRequested(request=request):
                return self._on_requested(request)
            case c.CheckpointsRetained():
                return self.gate.retained()
            case c.OutputAborted():
                self.gate.output_aborted()
                return []
            case c.Tick():
                return []
            case _:
                assert_never(event)

    # --- attempts ---------------------------------------------------------------------------------------------------

    def _on_attempt_started(self, event: c.AttemptStarted) -> Effects:
        self._check_may_start(event)
        self._attempt, self._last_attempt = event.attempt, event.attempt
        newest = event.restored or max(event.older, default=CheckpointId(0))
        known = {*self._completed, *event.older, newest}
        self._completed = sorted(each for each in known if 0 < each <= newest)[-self._settings.num_retained :]
        self._commits_for_all = event.commits_for_all
        self._last_id = max(self._last_id, event.last_id)
        self._wall_offset_ms = event.wall_ms - event.now_ms
        self._schedule.begin(event.now_ms)
        self._next_final_ms = event.now_ms
        self._begin_subtasks(event)
        # Slots may have written for these savepoints until they were torn down.
        effects: Effects = [
            c.DiscardSavepoint(checkpoint_id=id_, savepoint=savepoint) for id_, savepoint in self._spoilt.items()
        ]
        self._spoilt, self._taken = {}, set()
        self._phase, self._ending = c.Phase.RUNNING, event.finishing
        if self._ending is not None:
            effects += self._await_commits(event.attempt)
        early, self._early = self._early, []
        return effects + [effect for message in early for effect in self._on_message(message, event.now_ms)]

    def _check_may_start(self, event: c.AttemptStarted) -> None:
        if self._attempt is not None:
            raise self._history.broken(f"attempt {event.attempt} started before the end of attempt {self._attempt}")
        if self.gate.in_doubt is not None:
            raise self._history.broken(f"attempt {event.attempt} started with checkpoint {self.gate.in_doubt} in doubt")
        if self._stop is not None and event.finishing is None:
            raise self._history.broken(f"attempt {event.attempt} does not end the job, though that it ends is recorded")
        if not event.subtasks or not event.committing <= event.subtasks:
            raise self._history.broken("an attempt has subtasks, and those that commit are some of them")

    def _begin_subtasks(self, event: c.AttemptStarted) -> None:
        self._subtasks, self._committing = event.subtasks, event.committing
        self._recovering = set(event.recovering)
        self._ended, self._committed = set(), set()

    def _on_attempt_ended(self, attempt: Attempt, cause: str | None) -> Effects:
        if attempt != self._attempt:
            return []
        self._attempt, self._phase = None, c.Phase.IDLE
        if self._commits_for_all:
            self.gate.abort_output()
        reason = FailureReason.ATTEMPT_ENDED if cause is None else FailureReason.ATTEMPT_FAILED
        failure = reason.told(why=cause)
        effects: Effects = []
        for pending in list(self._pending.values()):
            if pending.checkpoint_id != self.gate.storing:
                self._drop(pending)
                effects += pending.forget(failure)
        effects += self._refuse_waiting(failure)
        if self._stop is not None and self._stop.saved is None and not self._stops():
            effects += self._end_stop(failure)
        return effects

    def _on_job_ended(self, event: c.JobEnded) -> Effects:
        if self._attempt is not None or self.gate.in_doubt is not None:
            raise self._history.broken(f"the job ended before attempt {self._attempt}, or with writes in doubt")
        stop, self._stop = self._stop, None
        return [] if stop is None else [stop.answer_at_end(event.finished, event.cause)]

    # --- requests ---------------------------------------------------------------------------------------------------

    def _on_requested(self, request: c.CheckpointRequest) -> Effects:
        if self._phase is not c.Phase.RUNNING:
            return [c.RequestFailed(request=request, failure=self._phase.refusal)]
        if self._is_too_late():
            failure = FailureReason.SUBTASK_ENDED.told(subtask=min(self._ended))
            return [c.RequestFailed(request=request, failure=failure)]
        if not self._queue.add(request):
            failure = FailureReason.TOO_MANY_REQUESTS.told(waiting=REQUESTS_MAX)
            return [c.RequestFailed(request=request, failure=failure)]
        return []

    def _refuse_waiting(self, failure: CheckpointFailure) -> Effects:
        return [c.RequestFailed(request=request, failure=failure) for request in self._queue.take_all()]

    # --- messages of subtasks ---------------------------------------------------------------------------------------

    def _on_message(self, message: messages.CheckpointMessage, now_ms: float) -> Effects:
        if message.attempt != self._attempt:
            if isinstance(message, messages.SubtaskCommitted) and message.attempt > self._last_attempt:
                self._early.append(message)
            return []
        if message.subtask not in self._subtasks:
            raise self._history.broken(f"there is no subtask {message.subtask}")
        match message:
            case messages.SubtaskAcked():
                return self._on_acked(message)
            case messages.SubtaskDeclined():
                return self._on_declined(message, now_ms)
            case messages.SubtaskEnded(subtask=subtask):
                return self._on_ended(subtask, now_ms)
            case messages.SubtaskCommitted():
                return self._on_committed(message)
            case messages.SubtaskRecovered(subtask=subtask):
                self._recovering.discard(subtask)
                return []
            case _:
                assert_never(message)

    def _on_acked(self, ack: messages.SubtaskAcked) -> Effects:
        id_ = ack.checkpoint_id
        if id_ > self._last_id:
            raise self._history.broken(f"subtask {ack.subtask} acknowledged a checkpoint that was never triggered")
        if id_ in self._pending:
            self._pending[id_].ack(ack.subtask, ack.state)
            return []
        if id_ in self._spoilt:
            return [c.DiscardSavepoint(checkpoint_id=id_, savepoint=self._spoilt[id_])]
        if id_ in self._taken or (self._completed and id_ <= self._completed[-1]):
            return []  # complete, or older than a complete one: retention deletes it
        return [c.DiscardFiles(checkpoint_id=id_, attempt=ack.attempt)]

    def _on_declined(self, decline: messages.SubtaskDeclined, now_ms: float) -> Effects:
        pending = self._pending.get(decline.checkpoint_id)
        if pending is None or pending.is_acked(self._subtasks):
            return []
        give_up = self._fail if decline.fault else self._abort
        return give_up(pending, FailureReason.DECLINED.told(subtask=decline.subtask, why=decline.reason), now_ms)

    def _on_ended(self, subtask: SubtaskId, now_ms: float) -> Effects:
        self._ended.add(subtask)
        if self._settings.after_tasks_ended:
            return []
        failure = FailureReason.SUBTASK_ENDED.told(subtask=subtask)
        effects: Effects = []
        for pending in self._collecting():
            if pending.savepoint is None and subtask not in pending.states:
                effects += self._abort(pending, failure, now_ms)
        return effects + self._refuse_waiting(failure)

    def _on_committed(self, message: messages.SubtaskCommitted) -> Effects:
        if self._phase is not c.Phase.COMMITTING or self._ending is None or message.checkpoint_id < self._ending:
            return []
        self._committed.add(message.subtask)
        return self._finish_if_committed(message.attempt)

    # --- manifests --------------------------------------------------------------------------------------------------

    def _store_next(self) -> Effects:
        """Have the oldest manifest written whose checkpoint all subtasks have acknowledged, one at a time."""
        acked = (pending for pending in self._pending.values() if pending.is_acked(self._subtasks))
        ready = None if self.gate.storing is not None or self._phase is c.Phase.FAILING else next(acked, None)
        if ready is None:
            return []
        self.gate.storing = ready.checkpoint_id
        return [ready.manifest_order()]

    def _on_stored(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        stored = self._being_stored(checkpoint_id)
        if stored.savepoint is not None:
            return self._on_savepoint_stored(self._settle(checkpoint_id, now_ms), now_ms)
        if self._commits_for_all:
            return [c.CommitForAll(order=stored.manifest_order())]
        return self._tell_completed(checkpoint_id, now_ms)

    def _tell_completed(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        """Tell the subtasks of a checkpoint that is stored and committed for all, and its asker."""
        stored = self._settle(checkpoint_id, now_ms)
        answered = self._completes(stored)
        if stored.attempt != self._attempt:
            return answered
        told = c.NotifyCompleted(attempt=stored.attempt, checkpoint_id=checkpoint_id)
        effects = [told, *self._subsume(checkpoint_id, now_ms), *self.gate.retain(self.completed), *answered]
        if stored.final and self._phase is c.Phase.RUNNING:
            self._ending = checkpoint_id
            effects += self._await_commits(stored.attempt)
        return effects

    def _completes(self, stored: PendingCheckpoint) -> Effects:
        """Count a checkpoint as complete, and answer its asker."""
        self._completed = [*self._completed, stored.checkpoint_id][-self._settings.num_retained :]
        self._failures.completed(stored.checkpoint_id)
        if stored.request is None:
            return []
        return [c.RequestCompleted(request=stored.request, checkpoint_id=stored.checkpoint_id)]

    def _on_savepoint_stored(self, stored: PendingCheckpoint, now_ms: float) -> Effects:
        checkpoint_id, stop = stored.checkpoint_id, self._stop
        self._taken.add(checkpoint_id)
        if stored.request is not None:
            return [c.RequestCompleted(request=stored.request, checkpoint_id=checkpoint_id)]
        assert stop is not None
        if self._phase is not c.Phase.STOPPING:
            self._stop = None
            return [stop.answer_without(FailureReason.FAILED_BEFORE_STOP)]
        self._phase, self.gate.recording, self._stop = (
            c.Phase.RECORDING,
            checkpoint_id,
            Stop(stop.request, stored),
        )
        effects = self._subsume(checkpoint_id, now_ms)
        return [*effects, c.RecordStop(checkpoint_id=checkpoint_id, savepoint=stop.savepoint)]

    def _subsume(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        """Give up the checkpoints that are older than a complete one; savepoints are wanted for themselves."""
        failure = FailureReason.SUBSUMED.told(newer=checkpoint_id)
        effects: Effects = []
        for older in list(self._pending.values()):
            if older.checkpoint_id < checkpoint_id and older.savepoint is None:
                effects += self._abort(older, failure, now_ms)
        return effects

    def _on_refused(self, checkpoint_id: CheckpointId, reason: str, now_ms: float) -> Effects:
        refused = self._settle(checkpoint_id, now_ms)
        failure = FailureReason.NOT_STORED.told(why=reason)
        if refused.attempt == self._attempt:
            return self._fail(refused, failure, now_ms)
        return [*refused.forget(failure), *(self._end_stop(failure) if refused.stops else [])]

    def _being_stored(self, checkpoint_id: CheckpointId) -> PendingCheckpoint:
        if checkpoint_id != self.gate.storing:
            raise self._history.broken(f"the manifest of checkpoint {checkpoint_id} is not being stored")
        return self._pending[checkpoint_id]

    def _settle(self, checkpoint_id: CheckpointId, now_ms: float) -> PendingCheckpoint:
        """It is known what became of a manifest, and of what is committed for all with it."""
        settled = self._being_stored(checkpoint_id)
        self.gate.storing = None
        del self._pending[checkpoint_id]
        self._note_end(settled, now_ms)
        return settled

    # --- commits for all --------------------------------------------------------------------------------------------

    def _on_committed_for_all(self, checkpoint_id: CheckpointId, now_ms: float) -> Effects:
        if checkpoint_id == self.gate.recording:
            return self._tell_stop()
        return self._tell_completed(checkpoint_id, now_ms)

    def _on_commit_refused(self, event: c.CommitRefused) -> Effects:
        """Fail the attempt. The checkpoint, or the stop, counts all the same; only its subtasks do not hear of it."""
        failure = FailureReason.NOT_COMMITTED.told(checkpoint_id=event.checkpoint_id, why=event.reason)
        if event.checkpoint_id == self.gate.recording and self._stop is not None and self._stop.saved is not None:
            stored, answered = self._stop.saved, Effects()
            self.gate.recording = None
        else:
            stored = self._settle(event.checkpoint_id, event.now_ms)
            answered = self._completes(stored)
        return [*self._fail_attempt(stored.attempt, failure, retriable=event.retriable), *answered]

    # --- the end ----------------------------------------------------------------------------------------------------

    def _on_recorded(self, checkpoint_id: CheckpointId) -> Effects:
        saved = self._being_recorded(checkpoint_id).saved
        assert saved is not None
        return [c.CommitForAll(order=saved.manifest_order())] if self._commits_for_all else self._tell_stop()

    def _tell_stop(self) -> Effects:
        """Tell the subtasks that the job ends with the savepoint, which is recorded and committed for all."""
        checkpoint_id, self.gate.recording = self.gate.recording, None
        assert checkpoint_id is not None
        if self._attempt is None:
            return []
        self._ending = checkpoint_id
        told = c.NotifyCompleted(attempt=self._attempt, checkpoint_id=checkpoint_id)
        return [told, *self._await_commits(self._attempt)]

    def _on_not_recorded(self, event: c.StopRefused) -> Effects:
        stop = self._being_recorded(event.checkpoint_id)
        self.gate.recording = self._stop = None
        answer = stop.answer_without(FailureReason.STOP_NOT_RECORDED, why=event.reason)
        return [answer, *([] if self._attempt is None else self._fail_attempt(self._attempt, answer.failure))]

    def _being_recorded(self, checkpoint_id: CheckpointId) -> Stop:
        if checkpoint_id != self.gate.recording or self._stop is None:
            raise self._history.broken(f"no stop with savepoint {checkpoint_id} is being recorded")
        return self._stop

    def _await_commits(self, attempt: Attempt) -> Effects:
        """All that is to be committed is known: await it."""
        self._phase = c.Phase.COMMITTING
        return [*self._refuse_waiting(self._phase.refusal), *self._finish_if_committed(attempt)]

    def _finish_if_committed(self, attempt: Attempt) -> Effects:
        if not self._committing <= self._committed:
            return []
        self._phase = c.Phase.DONE
        if self._stop is not None:
            self._stop = replace(self._stop, is_committed=True)
        return [c.FinishJob(attempt=attempt)]

    # --- giving up --------------------------------------------------------------------------------------------------

    def _fail(self, pending: PendingCheckpoint, failure: CheckpointFailure, now_ms: float) -> Effects:
        """Give up a checkpoint that went wrong."""
        effects = self._abort(pending, failure, now_ms)
        if pending.savepoint is not None or self._phase not in (
            c.Phase.RUNNING,
            c.Phase.STOPPING,
        ):
            return effects
        too_many = self._failures.failed(pending.checkpoint_id, failure)
        return effects if too_many is None else [*effects, *self._fail_attempt(pending.attempt, too_many)]

    def _abort(self, pending: PendingCheckpoint, failure: CheckpointFailure, now_ms: float) -> Effects:
        """Give up a checkpoint, also where nothing has failed."""
        self._drop(pending)
        self._note_end(pending, now_ms)
        effects = pending.abort(failure)
        if not pending.stops:
            return [*effects, *self._end_sources(pending.attempt)]
        effects += self._end_stop(failure)
        if self._phase is not c.Phase.STOPPING:
            return effects
        return [*effects, *self._fail_attempt(pending.attempt, FailureReason.SOURCES_HAVE_STOPPED.told(why=failure))]

    def _drop(self, pending: PendingCheckpoint) -> None:
        self._pending.pop(pending.checkpoint_id, None)
        if pending.savepoint is not None:
            self._spoilt[pending.checkpoint_id] = pending.savepoint

    def _note_end(self, pending: PendingCheckpoint, now_ms: float) -> None:
        self._schedule.ended(now_ms)
        if pending.final:
            self._next_final_ms = now_ms + FINAL_RETRY_MS

    def _end_stop(self, failure: CheckpointFailure) -> Effects:
        assert self._stop is not None
        request, self._stop = self._stop.request, None
        return [c.RequestFailed(request=request, failure=failure)]

    def _fail_attempt(self, attempt: Attempt, failure: CheckpointFailure, *, retriable: bool = True) -> Effects:
        failed = c.FailAttempt(attempt=attempt, failure=failure, retriable=retriable)
        if attempt != self._attempt:
            return [failed]
        self._phase = c.Phase.FAILING
        return [*self._refuse_waiting(self._phase.refusal), failed]

    # --- what time and room allow -----------------------------------------------------------------------------------

    def _go_on(self, now_ms: float) -> Effects:
        effects: Effects = []
        for pending in self._collecting():
            if now_ms >= pending.expires_ms:
                effects += self._fail(pending, pending.expired(self._subtasks, self._settings.timeout_ms), now_ms)
        effects += self._store_next()
        while (due_ms := self._due_ms()) is not None and now_ms >= due_ms:
            effects += self._start(now_ms)
        return effects

    def _collecting(self) -> list[PendingCheckpoint]:
        return [pending for pending in self._pending.values() if not pending.is_acked(self._subtasks)]

    def _stops(self) -> bool:
        """Whether a savepoint that the job ends with is under way."""
        return any(pending.stops for pending in self._pending.values())

    def _all_ended(self) -> bool:
        return self._ended == self._subtasks

    def _is_too_late(self) -> bool:
        return bool(self._ended) and not self._settings.after_tasks_ended

    def _due_ms(self) -> float | None:
        """When the next checkpoint starts, as things stand; None: not before something else happens."""
        if self._phase is c.Phase.STOPPING:  # sources were told to end, and the savepoint is the final checkpoint
            return NOW if self._all_ended() and not self._stops() else None
        if self._phase is not c.Phase.RUNNING or self._recovering:
            return None
        under_way = self._pending.values()
        if self._all_ended():
            return None if any(pending.final for pending in under_way) else self._next_final_ms
        return None if self._is_too_late() else self._schedule.due_ms(self._queue.first, under_way)

    def _start(self, now_ms: float) -> Effects:
        """Start the checkpoint that is due: for a request, or as a periodic or a final one.

        When all data has ended there is one checkpoint only, the final one; it may be the savepoint that stops the job.
        """
        attempt = self._attempt
        assert attempt is not None
        if self._stop is not None:
            return [self._trigger(attempt, self._stop.request, now_ms)]
        request = self._queue.stopping if self._all_ended() else self._queue.first
        if request is not None:
            self._queue.take(request)
        if request is None or not request.stops:
            return [self._trigger(attempt, request, now_ms)]
        self._phase, self._stop = c.Phase.STOPPING, Stop(request)
        refused = self._refuse_waiting(self._phase.refusal)
        return [*refused, *(self._end_sources(attempt) or [self._trigger(attempt, request, now_ms)])]

    def _trigger(self, attempt: Attempt, request: c.CheckpointRequest | None, now_ms: float) -> c.CoordinatorEffect:
        is_final = self._all_ended()
        savepoint = None if request is None else request.savepoint
        if savepoint is None:
            self._schedule.started(now_ms)
        self._last_id = CheckpointId(self._last_id + 1)
        in_order = is_final or savepoint is not None
        barrier = Barrier(
            checkpoint_id=self._last_id,
            trigger_ms=int(now_ms + self._wall_offset_ms),
            unaligned_after_ms=None if in_order else self._settings.unaligned_after_ms,
            savepoint=savepoint,
        )
        self._pending[self._last_id] = PendingCheckpoint(
            barrier=barrier,
            attempt=attempt,
            expires_ms=now_ms + self._settings.timeout_ms,
            final=is_final,
            request=None if request is None or request.stops else request,
        )
        return c.TriggerCheckpoint(attempt=attempt, barrier=barrier, final=is_final)

    def _end_sources(self, attempt: Attempt) -> Effects:
        """Say, if the job is being drained, that it is, and what is over: no barrier will tell who has missed that."""
        if self._stop is None or self._phase is not c.Phase.STOPPING or self._stops() or not self._stop.request.drains:
            return []
        over = min((pending.checkpoint_id - 1 for pending in self._collecting()), default=self._last_id)
        return [c.EndAllSources(attempt=attempt, over=CheckpointId(over))]

    # --- invariants -------------------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        broken = self._history.broken
        if (self._attempt is None) != (self._phase is c.Phase.IDLE):
            raise broken(f"phase {self._phase} with attempt {self._attempt}")
        if self._completed != sorted(set(self._completed)) or any(id_ > self._last_id for id_ in self._pending):
            raise broken("checkpoint ids do not grow")
        if self._stop is None and (self._phase in (c.Phase.STOPPING, c.Phase.RECORDING) or self._stops()):
            raise broken(f"phase {self._phase} without a request to stop")
        if self.gate.storing is not None and not self._pending[self.gate.storing].is_acked(self._subtasks):
            raise broken(f"manifest of checkpoint {self.gate.storing} ordered before all subtasks acknowledged")
        under_way = self._pending.values()
        if any(pending.attempt != self._attempt for pending in under_way if pending.checkpoint_id != self.gate.storing):
            raise broken("a checkpoint of an ended attempt is pending")
        if len([pending for pending in under_way if pending.final]) > 1:
            raise broken("two final checkpoints under way")
        overtaking = any(pending.barrier.unaligned_after_ms is not None for pending in under_way)
        if overtaking and any(pending.savepoint is not None and not pending.final for pending in under_way):
            raise broken("a savepoint beside a checkpoint that may overtake batches")
