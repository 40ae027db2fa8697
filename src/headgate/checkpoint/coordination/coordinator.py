"""The checkpoint coordinator: decides when a checkpoint starts, is complete, is given up, and when the job is done.

Theory of operation
-------------------
A checkpoint begins with a trigger to the sources and is *collecting* until every subtask has acknowledged it. Then its
manifest is written; from that order until the outcome is known the checkpoint is *in doubt* and nobody may abort it,
clean up its files or restore. Once the manifest is stored the checkpoint is complete, whatever happens to the attempt
that took it; notifying the subtasks only tells them so. One manifest is written at a time, oldest first.

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

    a checkpoint: COLLECTING -> (all acknowledged) -> WAITING -> (no other manifest in flight) -> STORING -> complete
    COLLECTING or WAITING -> aborted: timeout (COLLECTING only), decline, subsumed by a later one, end of the attempt
    STORING -> aborted: ManifestRefused only

Starts. See `requests`. Nothing starts before all subtasks have processed the data in flight that they were restored
with. Failures: see `failures`. Every request is answered once: with the checkpoint when it is complete, else with why.

Savepoints. One that is complete is nobody's business but its asker's: nothing is committed with it, no restart begins
from it, it subsumes nothing and is never subsumed. See `stop` for one that ends the job.

The end. Subtasks that have ended stay, acknowledge and forward barriers like all others. When all have ended, one final
checkpoint starts at once, beside any that is under way (which was triggered earlier and may miss last records) and also
if periodic checkpoints are off. If it fails it is tried again a little later.

Ids grow and are never reused, also across attempts and masters. Messages of another attempt are dropped, but for
commits, which subtasks may report before they are all started. A late acknowledgement of an aborted checkpoint has its
files discarded once more.
"""

from __future__ import annotations

from typing import assert_never, final

from headgate.checkpoint.coordination.failures import FailureCounter
from headgate.checkpoint.coordination.pending import PendingCheckpoint
from headgate.checkpoint.coordination.phase import Phase
from headgate.checkpoint.coordination.progress import SubtaskProgress
from headgate.checkpoint.coordination.starts import Starts
from headgate.checkpoint.coordination.stop import Stop
from headgate.checkpoint.coordination.under_way import UnderWay
from headgate.checkpoint.coordination.vocabulary import (
    AttemptEnded,
    AttemptStarted,
    CheckpointRequest,
    CheckpointRequested,
    CheckpointSettings,
    CoordinatorEffect,
    CoordinatorEvent,
    DiscardFiles,
    FailAttempt,
    FinishJob,
    JobEnded,
    ManifestRefused,
    ManifestStored,
    NotifyCompleted,
    Received,
    RecordStop,
    RequestCompleted,
    RequestFailed,
    RetainCheckpoints,
    StopRecorded,
    StopRefused,
    Tick,
)
from headgate.checkpoint.messages import (
    CheckpointMessage,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
    SubtaskRecovered,
)
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.story import Story


@final
class CheckpointCoordinator:
    """Coordinates the checkpoints of one job through all its attempts. Pure; owned by the job master's loop."""

    def __init__(
        self, settings: CheckpointSettings, subtasks: frozenset[SubtaskId], committing: frozenset[SubtaskId]
    ) -> None:
        if not subtasks or not committing <= subtasks:
            raise ValueError("a job has subtasks, and those that commit are some of them")
        self._settings = settings
        self._subtasks = subtasks
        self._story = Story("checkpoint coordinator", length=30)
        self._phase = Phase.IDLE
        self._attempt: Attempt | None = None
        self._last_attempt = Attempt(0)
        self._completed: list[CheckpointId] = []
        self._progress = SubtaskProgress(subtasks, committing)
        self._under_way = UnderWay(subtasks, self._story)
        self._starts = Starts(settings, self._progress, self._under_way)
        self._recording: CheckpointId | None = None
        self._ending: CheckpointId | None = None
        self._failures = FailureCounter(settings.tolerable_failures)
        self._stop: Stop | None = None
        self._early: list[SubtaskCommitted] = []

    @property
    def phase(self) -> Phase:
        """What the coordinator is doing."""
        return self._phase

    @property
    def completed(self) -> tuple[CheckpointId, ...]:
        """The completed checkpoints that are retained, oldest first. Savepoints are not among them."""
        return tuple(self._completed)

    @property
    def last_id(self) -> CheckpointId:
        """The highest checkpoint id used so far; 0 when none was."""
        return self._starts.last_id

    def in_doubt(self) -> CheckpointId | None:
        """The checkpoint whose manifest, or the savepoint whose stop, has been ordered written and is unanswered."""
        return self._under_way.storing or self._recording

    def next_wake_ms(self) -> float | None:
        """When to send the next `Tick`, if nothing else happens before; None: no need."""
        if self._phase in (Phase.IDLE, Phase.FAILING, Phase.DONE):
            return None
        times = [self._due_ms(), *(pending.expires_ms for pending in self._under_way.collecting())]
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        """Return what to do, in this order. Raises InternalError for an event that the protocol rules out."""
        self._story.add(event)
        return [*self._apply(event), *self._go_on(event.now_ms)]

    def _apply(self, event: CoordinatorEvent) -> list[CoordinatorEffect]:
        match event:
            case AttemptStarted():
                return self._on_attempt_started(event)
            case AttemptEnded(attempt=attempt):
                return self._on_attempt_ended(attempt)
            case JobEnded():
                return self._on_job_ended(event)
            case Received(message=message, now_ms=now_ms):
                return self._on_message(message, now_ms)
            case ManifestStored(checkpoint_id=checkpoint_id, now_ms=now_ms):
                return self._on_stored(checkpoint_id, now_ms)
            case ManifestRefused(checkpoint_id=checkpoint_id, reason=reason, now_ms=now_ms):
                return self._on_refused(checkpoint_id, reason, now_ms)
            case StopRecorded():
                return self._on_recorded(event)
            case StopRefused():
                return self._on_not_recorded(event)
            case CheckpointRequested(request=request):
                return self._on_requested(request)
            case Tick():
                return []
            case _:
                assert_never(event)

    # --- attempts ---------------------------------------------------------------------------------------------------

    def _on_attempt_started(self, event: AttemptStarted) -> list[CoordinatorEffect]:
        if self._attempt is not None:
            raise self._story.broken(f"attempt {event.attempt} started before the end of attempt {self._attempt}")
        if self.in_doubt() is not None:
            raise self._story.broken(f"attempt {event.attempt} started with checkpoint {self.in_doubt()} in doubt")
        if self._stop is not None and event.finishing is None:
            raise self._story.broken(f"attempt {event.attempt} does not end the job, though that it ends is recorded")
        self._attempt, self._last_attempt = event.attempt, event.attempt
        newest = event.restored or max(event.older, default=CheckpointId(0))
        known = {*self._completed, *event.older, newest}
        self._completed = sorted(each for each in known if 0 < each <= newest)[-self._settings.num_retained :]
        self._progress.begin(event.recovering)
        self._starts.begin(event)
        effects = self._under_way.begin()
        self._phase, self._ending = Phase.RUNNING, event.finishing
        if self._ending is not None:
            effects += self._commit(event.attempt)
        early, self._early = self._early, []
        return effects + [effect for message in early for effect in self._on_message(message, event.now_ms)]

    def _on_attempt_ended(self, attempt: Attempt) -> list[CoordinatorEffect]:
        if attempt != self._attempt:
            return []
        self._attempt, self._phase = None, Phase.IDLE
        reason = "the job failed, or ended, before it was complete"
        effects: list[CoordinatorEffect] = []
        for pending in [each for each in self._under_way if each.checkpoint_id != self._under_way.storing]:
            self._under_way.drop(pending)
            effects += pending.forget(reason)
        effects += self._starts.refuse_waiting(reason)
        if self._stop is not None and self._stop.checkpoint_id is None and not self._under_way.stops:
            effects += self._end_stop(reason)
        return effects

    def _on_job_ended(self, event: JobEnded) -> list[CoordinatorEffect]:
        if self._attempt is not None or self.in_doubt() is not None:
            raise self._story.broken(f"the job ended before attempt {self._attempt}, or with writes in doubt")
        stop, self._stop = self._stop, None
        return [] if stop is None else [stop.answer_at_end(event.finished, event.cause)]

    def _on_requested(self, request: CheckpointRequest) -> list[CoordinatorEffect]:
        if self._phase is Phase.RUNNING:
            return self._starts.add(request)
        return [RequestFailed(request=request, reason=self._phase.refusal)]

    # --- messages of subtasks ---------------------------------------------------------------------------------------

    def _on_message(self, message: CheckpointMessage, now_ms: float) -> list[CoordinatorEffect]:
        if message.attempt != self._attempt:
            if isinstance(message, SubtaskCommitted) and message.attempt > self._last_attempt:
                self._early.append(message)
            return []
        if message.subtask not in self._subtasks:
            raise self._story.broken(f"there is no subtask {message.subtask}")
        match message:
            case SubtaskAcked():
                return self._on_acked(message)
            case SubtaskDeclined():
                return self._on_declined(message, now_ms)
            case SubtaskEnded(subtask=subtask):
                return self._on_ended(subtask, now_ms)
            case SubtaskCommitted():
                return self._on_committed(message)
            case SubtaskRecovered(subtask=subtask):
                self._progress.recovering.discard(subtask)
                return []
            case _:
                assert_never(message)

    def _on_acked(self, ack: SubtaskAcked) -> list[CoordinatorEffect]:
        if ack.checkpoint_id > self.last_id:
            raise self._story.broken(f"subtask {ack.subtask} acknowledged a checkpoint that was never triggered")
        pending = self._under_way.get(ack.checkpoint_id)
        if pending is not None:
            pending.states.setdefault(ack.subtask, ack.state)
            return []
        late = self._under_way.late(ack.checkpoint_id)
        if late is not None:
            return late
        if self._completed and ack.checkpoint_id <= self._completed[-1]:
            return []  # complete, or older than a complete one: retention deletes it
        return [DiscardFiles(checkpoint_id=ack.checkpoint_id, attempt=ack.attempt)]

    def _on_declined(self, decline: SubtaskDeclined, now_ms: float) -> list[CoordinatorEffect]:
        pending = self._under_way.get(decline.checkpoint_id)
        if pending is None or pending.is_acked(self._subtasks):
            return []
        give_up = self._fail if decline.fault else self._abort
        return give_up(pending, f"declined by subtask {decline.subtask}: {decline.reason}", now_ms)

    def _on_ended(self, subtask: SubtaskId, now_ms: float) -> list[CoordinatorEffect]:
        self._progress.ended.add(subtask)
        if self._settings.after_tasks_ended:
            return []
        reason = f"subtask {subtask} has processed all its input, and checkpoints after that are switched off"
        effects: list[CoordinatorEffect] = []
        for pending in self._under_way.collecting():
            if pending.savepoint is None and subtask not in pending.states:
                effects += self._abort(pending, reason, now_ms)
        return effects + self._starts.refuse_waiting(reason)

    def _on_committed(self, message: SubtaskCommitted) -> list[CoordinatorEffect]:
        if self._phase is not Phase.COMMITTING or self._ending is None or message.checkpoint_id < self._ending:
            return []
        self._progress.committed.add(message.subtask)
        return self._finish_if_committed(message.attempt)

    # --- manifests --------------------------------------------------------------------------------------------------

    def _on_stored(self, checkpoint_id: CheckpointId, now_ms: float) -> list[CoordinatorEffect]:
        stored = self._under_way.settle(checkpoint_id)
        self._starts.ended(stored, now_ms)
        if stored.savepoint is not None:
            return self._on_savepoint_stored(stored, now_ms)
        self._completed = [*self._completed, checkpoint_id][-self._settings.num_retained :]
        self._failures.completed(checkpoint_id)
        effects: list[CoordinatorEffect] = []
        if stored.attempt == self._attempt:
            effects.append(NotifyCompleted(attempt=stored.attempt, checkpoint_id=checkpoint_id))
            effects += [*self._subsume(checkpoint_id, now_ms), RetainCheckpoints(keep=self.completed)]
        if stored.request is not None:
            effects.append(RequestCompleted(request=stored.request, checkpoint_id=checkpoint_id))
        if stored.final and self._phase is Phase.RUNNING:
            self._ending = checkpoint_id
            effects += self._commit(stored.attempt)
        return effects

    def _on_savepoint_stored(self, stored: PendingCheckpoint, now_ms: float) -> list[CoordinatorEffect]:
        checkpoint_id, stop = stored.checkpoint_id, self._stop
        self._under_way.taken(stored)
        if stored.request is not None:
            return [RequestCompleted(request=stored.request, checkpoint_id=checkpoint_id)]
        assert stop is not None
        if self._phase is not Phase.STOPPING:
            self._stop = None
            return [stop.answer_without("the job failed before it could end with it, and goes on without")]
        self._phase, self._recording, stop.checkpoint_id = Phase.RECORDING, checkpoint_id, checkpoint_id
        effects = self._subsume(checkpoint_id, now_ms)
        return [*effects, RecordStop(checkpoint_id=checkpoint_id, savepoint=stop.savepoint)]

    def _subsume(self, checkpoint_id: CheckpointId, now_ms: float) -> list[CoordinatorEffect]:
        """Give up the checkpoints that are older than a complete one; savepoints are wanted for themselves."""
        effects: list[CoordinatorEffect] = []
        for older in self._under_way:
            if older.checkpoint_id < checkpoint_id and older.savepoint is None:
                effects += self._abort(older, f"subsumed by checkpoint {checkpoint_id}", now_ms)
        return effects

    def _on_refused(self, checkpoint_id: CheckpointId, reason: str, now_ms: float) -> list[CoordinatorEffect]:
        refused = self._under_way.settle(checkpoint_id)
        reason = f"manifest not stored: {reason}"
        if refused.attempt == self._attempt:
            return self._fail(refused, reason, now_ms)
        return [*refused.forget(reason), *(self._end_stop(reason) if refused.stops else [])]

    # --- the end ----------------------------------------------------------------------------------------------------

    def _on_recorded(self, event: StopRecorded) -> list[CoordinatorEffect]:
        self._settle_stop(event.checkpoint_id)
        if self._attempt is None:
            return []
        self._ending = event.checkpoint_id
        told = NotifyCompleted(attempt=self._attempt, checkpoint_id=event.checkpoint_id)
        return [told, *self._commit(self._attempt)]

    def _on_not_recorded(self, event: StopRefused) -> list[CoordinatorEffect]:
        reason = f"that the job is to end with it could not be noted: {event.reason}"
        answer, self._stop = self._settle_stop(event.checkpoint_id).answer_without(reason), None
        if self._attempt is None:
            return [answer]
        self._phase = Phase.FAILING
        return [answer, FailAttempt(attempt=self._attempt, reason=answer.reason)]

    def _settle_stop(self, checkpoint_id: CheckpointId) -> Stop:
        if checkpoint_id != self._recording or self._stop is None:
            raise self._story.broken(f"no stop with savepoint {checkpoint_id} is being recorded")
        self._recording = None
        return self._stop

    def _commit(self, attempt: Attempt) -> list[CoordinatorEffect]:
        """All that is to be committed is known: await it."""
        self._phase = Phase.COMMITTING
        return [*self._starts.refuse_waiting(self._phase.refusal), *self._finish_if_committed(attempt)]

    def _finish_if_committed(self, attempt: Attempt) -> list[CoordinatorEffect]:
        if not self._progress.all_committed:
            return []
        self._phase = Phase.DONE
        return [FinishJob(attempt=attempt)]

    # --- giving up --------------------------------------------------------------------------------------------------

    def _fail(self, pending: PendingCheckpoint, reason: str, now_ms: float) -> list[CoordinatorEffect]:
        """Give up a checkpoint that went wrong."""
        effects = self._abort(pending, reason, now_ms)
        if pending.savepoint is not None or self._phase not in (Phase.RUNNING, Phase.STOPPING):
            return effects
        too_many = self._failures.failed(pending.checkpoint_id, reason)
        return effects if too_many is None else [*effects, *self._fail_attempt(pending.attempt, too_many)]

    def _abort(self, pending: PendingCheckpoint, reason: str, now_ms: float) -> list[CoordinatorEffect]:
        """Give up a checkpoint, be it for no fault of anybody."""
        self._under_way.drop(pending)
        self._starts.ended(pending, now_ms)
        effects = pending.abort(reason)
        if not pending.stops:
            return [*effects, *self._end_sources(pending.attempt)]
        effects += self._end_stop(reason)
        if self._phase is not Phase.STOPPING:
            return effects
        text = f"sources have stopped for a savepoint that failed ({reason}): they go on from the last checkpoint"
        return [*effects, *self._fail_attempt(pending.attempt, text)]

    def _end_stop(self, reason: str) -> list[CoordinatorEffect]:
        assert self._stop is not None
        request, self._stop = self._stop.request, None
        return [RequestFailed(request=request, reason=reason)]

    def _fail_attempt(self, attempt: Attempt, reason: str) -> list[CoordinatorEffect]:
        self._phase = Phase.FAILING
        return [*self._starts.refuse_waiting(self._phase.refusal), FailAttempt(attempt=attempt, reason=reason)]

    # --- what time and room allow -----------------------------------------------------------------------------------

    def _go_on(self, now_ms: float) -> list[CoordinatorEffect]:
        effects: list[CoordinatorEffect] = []
        for pending in self._under_way.collecting():
            if now_ms >= pending.expires_ms:
                reason = pending.describe_missing(self._subtasks, self._settings.timeout_ms)
                effects += self._fail(pending, reason, now_ms)
        effects += self._store_next()
        while (due_ms := self._due_ms()) is not None and now_ms >= due_ms:
            effects += self._start(now_ms)
        return effects

    def _store_next(self) -> list[CoordinatorEffect]:
        ready = self._under_way.to_be_stored()
        if ready is None or self._phase is Phase.FAILING:
            return []
        self._under_way.storing = ready.checkpoint_id
        return [ready.manifest_order()]

    def _due_ms(self) -> float | None:
        """When the next checkpoint starts, as things stand; None: not before something else happens."""
        if self._phase is Phase.STOPPING:
            return self._starts.stop_due_ms()
        return self._starts.due_ms() if self._phase is Phase.RUNNING else None

    def _start(self, now_ms: float) -> list[CoordinatorEffect]:
        """Start the checkpoint that is due: for a request, or as a periodic or a final one."""
        attempt = self._attempt
        assert attempt is not None
        if self._stop is not None:
            return [self._starts.trigger(attempt, self._stop.request, now_ms)]
        request = self._starts.take()
        if request is None or not request.stops:
            return [self._starts.trigger(attempt, request, now_ms)]
        self._phase, self._stop = Phase.STOPPING, Stop(request)
        refused = self._starts.refuse_waiting(self._phase.refusal)
        return [*refused, *(self._end_sources(attempt) or [self._starts.trigger(attempt, request, now_ms)])]

    def _end_sources(self, attempt: Attempt) -> list[CoordinatorEffect]:
        """Say, if the job is being drained, that it is, and what is over: no barrier will tell who has missed that."""
        if self._stop is None or self._phase is not Phase.STOPPING or self._under_way.stops:
            return []
        return [*self._stop.end_sources(attempt, self._under_way.over(self.last_id))]

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        broken = self._story.broken
        if (self._attempt is None) != (self._phase is Phase.IDLE):
            raise broken(f"phase {self._phase} with attempt {self._attempt}")
        if self._completed != sorted(set(self._completed)):
            raise broken("checkpoint ids do not grow")
        if self._stop is None and (self._phase in (Phase.STOPPING, Phase.RECORDING) or self._under_way.stops):
            raise broken(f"phase {self._phase} without a request to stop")
        self._under_way.check_invariants(self._attempt, self.last_id)
