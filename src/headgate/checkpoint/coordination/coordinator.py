"""The checkpoint coordinator: decides when a checkpoint starts, completes or is given up, and when the job is done.

Theory of operation
-------------------
A checkpoint begins with a trigger to the sources. It is *collecting* until every subtask has acknowledged it. Then the
driver writes its manifest. From this order until the outcome is known the checkpoint is *in doubt*: the coordinator
does not abort it, nothing deletes its files, and no restore begins. Once the manifest is stored the checkpoint is
complete, whatever happens to its attempt; notifying the subtasks only tells them so. One manifest is written at a time,
the oldest first.

Commits for all. The driver commits what all subtasks have prepared together. It does so after the manifest is stored
(for a savepoint that ends the job: after the stop is recorded), and before it tells subtasks or users. The checkpoint
stays in doubt meanwhile. If the commit is refused, the attempt fails, and the restore commits again.

    phase       meaning                                          legal edges
    IDLE        no attempt runs                                  AttemptStarted -> RUNNING; finishing -> COMMITTING
    RUNNING     checkpoints are triggered                        more failures in a row than tolerated -> FAILING
                                                                 manifest of the final checkpoint stored -> COMMITTING
                                                                 turn of a request to stop the job -> STOPPING
    STOPPING    only the savepoint that ends the job is taken    its manifest stored -> RECORDING
                                                                 savepoint given up, or as in RUNNING -> FAILING
    RECORDING   the stop is being recorded in the job's folder   StopRecorded -> COMMITTING; StopRefused -> FAILING
    FAILING     the attempt was told to fail                     (only its end is awaited)
    COMMITTING  the last commits are awaited                     every committing subtask has committed -> DONE
    DONE        the job was told to finish                       (only the end of the attempt is awaited)
    all         the attempt is over                              AttemptEnded -> IDLE

    a checkpoint: COLLECTING -> (all acknowledged) -> WAITING -> (no other manifest in flight) -> STORING
    STORING -> (ManifestStored) -> COMMITTING, if there is something to commit for all -> complete
    COLLECTING or WAITING -> aborted: timeout (COLLECTING only), decline, subsumed by a later one, end of the attempt
    STORING -> aborted: ManifestRefused only

Starts. See `schedule`. No checkpoint starts before all subtasks have processed the data in flight that they were
restored with. Failures: see `failures`. Each request is answered once: with the complete checkpoint, or with a reason.

Savepoints. A savepoint concerns only its asker: sinks commit nothing with it, no restart begins from it, it subsumes no
checkpoint and no checkpoint subsumes it.

Stops. From the turn of a request to stop the job, no other checkpoint starts. The sources emit nothing after the
savepoint's barrier. If the job is drained, the sources end first, and the final checkpoint is the savepoint. When the
savepoint is complete, the driver records the stop in the job's folder. From then on *every* attempt of the job only
commits what the savepoint holds. If the savepoint fails, the attempt fails too, because its sources have stopped,
and the job continues from its last checkpoint. The asker hears of a recorded stop when the job ends, and of a failed
stop at once.

The end. Subtasks that have ended stay: they acknowledge and forward barriers like all others. When all have ended, one
final checkpoint starts at once, also when periodic checkpoints are off. It does not wait for checkpoints under way:
these were triggered earlier and may miss the last records. If the final checkpoint fails, it is tried again a little
later.

Modules. `coordinator_state` holds the state and gives checkpoints up; `completion` follows a checkpoint from the last
acknowledgement on; this module has the rest. `restore_gate` has the clean-up, and the orders that wait for it.

Ids grow and are never reused, also across attempts and masters. Messages of another attempt are dropped, except
commits: subtasks may report them before all have started. A late acknowledgement of an aborted checkpoint has its files
deleted once more.
"""

from __future__ import annotations

from typing import assert_never, final

from headgate.checkpoint import messages
from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.completion import Completion
from headgate.checkpoint.coordination.coordinator_state import CoordinatorState, Effects
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.checkpoint.coordination.pending import PendingCheckpoint, Stop
from headgate.checkpoint.coordination.restore_gate import Gate
from headgate.checkpoint.coordination.schedule import NOW, REQUESTS_MAX
from headgate.elements import Barrier
from headgate.ids import Attempt, CheckpointId, SubtaskId


@final
class CheckpointCoordinator:
    """Coordinates the checkpoints of one job through all its attempts. Pure; owned by the job master's loop."""

    def __init__(self, settings: c.CheckpointSettings) -> None:
        self._state = CoordinatorState(settings)
        self._completion = Completion(self._state)

    @property
    def gate(self) -> Gate:
        """The gate that an attempt must pass before it restores, and the job before it ends."""
        return self._state.gate

    @property
    def phase(self) -> c.Phase:
        """What the coordinator is doing."""
        return self._state.phase

    @property
    def completed(self) -> tuple[CheckpointId, ...]:
        """The completed checkpoints that are retained, oldest first. Savepoints are not among them."""
        return tuple(self._state.completed)

    def next_wake_ms(self) -> float | None:
        """Return when to send the next `c.Tick` unless another event comes first; None: there is no need."""
        if self._state.phase in (c.Phase.IDLE, c.Phase.FAILING, c.Phase.DONE):
            return None
        times = [self._due_ms(), *(pending.expires_ms for pending in self._state.collecting())]
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: c.CoordinatorEvent) -> Effects:
        """Return the effects of the event, in the order to perform them.

        Raises InternalError for an event that the protocol rules out.
        """
        self._state.history.add(event)
        effects = [*self._apply(event), *self._go_on(event.now_ms)]
        return [*effects, *self._state.gate.due()]

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
                return self._completion.on_stored(checkpoint_id, now_ms)
            case c.ManifestRefused(checkpoint_id=checkpoint_id, reason=reason, now_ms=now_ms):
                return self._completion.on_refused(checkpoint_id, reason, now_ms)
            case c.StopRecorded(checkpoint_id=checkpoint_id):
                return self._completion.on_recorded(checkpoint_id)
            case c.StopRefused():
                return self._completion.on_not_recorded(event)
            case c.CommittedForAll(checkpoint_id=checkpoint_id, now_ms=now_ms):
                return self._completion.on_committed_for_all(checkpoint_id, now_ms)
            case c.CommitRefused():
                return self._completion.on_commit_refused(event)
            case c.CheckpointRequested(request=request):
                return self._on_requested(request)
            case c.CheckpointsRetained():
                return self._state.gate.retained()
            case c.OutputAborted():
                self._state.gate.output_aborted()
                return []
            case c.Tick():
                return []
            case _:
                assert_never(event)

    # --- attempts

    def _on_attempt_started(self, event: c.AttemptStarted) -> Effects:
        self._check_may_start(event)
        self._state.attempt, self._state.last_attempt = event.attempt, event.attempt
        newest = event.restored or max(event.older, default=CheckpointId(0))
        known = {*self._state.completed, *event.older, newest}
        self._state.completed = sorted(each for each in known if 0 < each <= newest)[
            -self._state.settings.num_retained :
        ]
        self._state.commits_for_all = event.commits_for_all
        self._state.last_id = max(self._state.last_id, event.last_id)
        self._state.wall_offset_ms = event.wall_ms - event.now_ms
        self._state.schedule.begin(event.now_ms)
        self._state.next_final_ms = event.now_ms
        self._begin_subtasks(event)
        # Slots may have written for these savepoints until they were torn down.
        effects: Effects = [
            c.DiscardSavepoint(checkpoint_id=id_, savepoint=savepoint)
            for id_, savepoint in self._state.given_up_savepoints.items()
        ]
        self._state.given_up_savepoints, self._state.complete_savepoints = {}, set()
        self._state.phase, self._state.ending = c.Phase.RUNNING, event.finishing
        if self._state.ending is not None:
            effects += self._completion.await_commits(event.attempt)
        early, self._state.early_commits = self._state.early_commits, []
        return effects + [effect for message in early for effect in self._on_message(message, event.now_ms)]

    def _check_may_start(self, event: c.AttemptStarted) -> None:
        if self._state.attempt is not None:
            raise self._state.history.broken(
                f"attempt {event.attempt} started before the end of attempt {self._state.attempt}"
            )
        if self._state.gate.in_doubt is not None:
            raise self._state.history.broken(
                f"attempt {event.attempt} started with checkpoint {self._state.gate.in_doubt} in doubt"
            )
        if self._state.stop is not None and event.finishing is None:
            raise self._state.history.broken(
                f"attempt {event.attempt} does not end the job, though that it ends is recorded"
            )
        if not event.subtasks or not event.committing <= event.subtasks:
            raise self._state.history.broken("an attempt has subtasks, and those that commit are some of them")

    def _begin_subtasks(self, event: c.AttemptStarted) -> None:
        self._state.subtasks, self._state.committing = event.subtasks, event.committing
        self._state.recovering = set(event.recovering)
        self._state.ended, self._state.committed = set(), set()

    def _on_attempt_ended(self, attempt: Attempt, cause: str | None) -> Effects:
        if attempt != self._state.attempt:
            return []
        self._state.attempt, self._state.phase = None, c.Phase.IDLE
        if self._state.commits_for_all:
            self._state.gate.abort_output()
        reason = FailureReason.ATTEMPT_ENDED if cause is None else FailureReason.ATTEMPT_FAILED
        failure = reason.told(why=cause)
        effects: Effects = []
        for pending in list(self._state.pending.values()):
            if pending.checkpoint_id != self._state.gate.storing:
                self._state.drop(pending)
                effects += pending.forget(failure)
        effects += self._state.refuse_waiting(failure)
        if self._state.stop is not None and self._state.stop.saved is None and not self._state.is_saving_for_stop():
            effects += self._state.end_stop(failure)
        return effects

    def _on_job_ended(self, event: c.JobEnded) -> Effects:
        if self._state.attempt is not None or self._state.gate.in_doubt is not None:
            raise self._state.history.broken(
                f"the job ended before attempt {self._state.attempt}, or with writes in doubt"
            )
        stop, self._state.stop = self._state.stop, None
        return [] if stop is None else [stop.answer_at_end(event.finished, event.cause)]

    # --- requests

    def _on_requested(self, request: c.CheckpointRequest) -> Effects:
        if self._state.phase is not c.Phase.RUNNING:
            return [c.RequestFailed(request=request, failure=self._state.phase.refusal)]
        if self._state.is_too_late():
            failure = FailureReason.SUBTASK_ENDED.told(subtask=min(self._state.ended))
            return [c.RequestFailed(request=request, failure=failure)]
        if not self._state.queue.add(request):
            failure = FailureReason.TOO_MANY_REQUESTS.told(waiting=REQUESTS_MAX)
            return [c.RequestFailed(request=request, failure=failure)]
        return []

    # --- messages of subtasks

    def _on_message(self, message: messages.CheckpointMessage, now_ms: float) -> Effects:
        if message.attempt != self._state.attempt:
            if isinstance(message, messages.SubtaskCommitted) and message.attempt > self._state.last_attempt:
                self._state.early_commits.append(message)
            return []
        if message.subtask not in self._state.subtasks:
            raise self._state.history.broken(f"there is no subtask {message.subtask}")
        match message:
            case messages.SubtaskAcked():
                return self._on_acked(message)
            case messages.SubtaskDeclined():
                return self._on_declined(message, now_ms)
            case messages.SubtaskEnded(subtask=subtask):
                return self._on_ended(subtask, now_ms)
            case messages.SubtaskCommitted():
                return self._completion.on_committed(message)
            case messages.SubtaskRecovered(subtask=subtask):
                self._state.recovering.discard(subtask)
                return []
            case _:
                assert_never(message)

    def _on_acked(self, ack: messages.SubtaskAcked) -> Effects:
        id_ = ack.checkpoint_id
        if id_ > self._state.last_id:
            raise self._state.history.broken(
                f"subtask {ack.subtask} acknowledged a checkpoint that was never triggered"
            )
        if id_ in self._state.pending:
            self._state.pending[id_].ack(ack.subtask, ack.state)
            return []
        if id_ in self._state.given_up_savepoints:
            return [c.DiscardSavepoint(checkpoint_id=id_, savepoint=self._state.given_up_savepoints[id_])]
        if id_ in self._state.complete_savepoints or (self._state.completed and id_ <= self._state.completed[-1]):
            return []  # complete, or older than a complete one: retention deletes it
        return [c.DiscardFiles(checkpoint_id=id_, attempt=ack.attempt)]

    def _on_declined(self, decline: messages.SubtaskDeclined, now_ms: float) -> Effects:
        pending = self._state.pending.get(decline.checkpoint_id)
        if pending is None or pending.is_acked(self._state.subtasks):
            return []
        give_up = self._state.fail if decline.fault else self._state.abort
        return give_up(pending, FailureReason.DECLINED.told(subtask=decline.subtask, why=decline.reason), now_ms)

    def _on_ended(self, subtask: SubtaskId, now_ms: float) -> Effects:
        self._state.ended.add(subtask)
        if self._state.settings.after_tasks_ended:
            return []
        failure = FailureReason.SUBTASK_ENDED.told(subtask=subtask)
        effects: Effects = []
        for pending in self._state.collecting():
            if pending.savepoint is None and subtask not in pending.states:
                effects += self._state.abort(pending, failure, now_ms)
        return effects + self._state.refuse_waiting(failure)

    # --- starts and timeouts

    def _go_on(self, now_ms: float) -> Effects:
        effects: Effects = []
        for pending in self._state.collecting():
            if now_ms >= pending.expires_ms:
                effects += self._state.fail(
                    pending, pending.expired(self._state.subtasks, self._state.settings.timeout_ms), now_ms
                )
        effects += self._completion.store_next()
        while (due_ms := self._due_ms()) is not None and now_ms >= due_ms:
            effects += self._start(now_ms)
        return effects

    def _due_ms(self) -> float | None:
        """Return when the next checkpoint starts; None: not before another event."""
        if self._state.phase is c.Phase.STOPPING:  # sources were told to end, and the savepoint is the final checkpoint
            return NOW if self._state.all_ended() and not self._state.is_saving_for_stop() else None
        if self._state.phase is not c.Phase.RUNNING or self._state.recovering:
            return None
        under_way = self._state.pending.values()
        if self._state.all_ended():
            return None if any(pending.final for pending in under_way) else self._state.next_final_ms
        return None if self._state.is_too_late() else self._state.schedule.due_ms(self._state.queue.first, under_way)

    def _start(self, now_ms: float) -> Effects:
        """Start the checkpoint that is due: a requested, a periodic or the final one.

        When all data has ended, only the final checkpoint starts. It may be the savepoint that stops the job.
        """
        attempt = self._state.attempt
        assert attempt is not None
        if self._state.stop is not None:
            return [self._trigger(attempt, self._state.stop.request, now_ms)]
        request = self._state.queue.stopping if self._state.all_ended() else self._state.queue.first
        if request is not None:
            self._state.queue.take(request)
        if request is None or not request.stops:
            return [self._trigger(attempt, request, now_ms)]
        self._state.phase, self._state.stop = c.Phase.STOPPING, Stop(request)
        refused = self._state.refuse_waiting(self._state.phase.refusal)
        return [*refused, *(self._state.end_sources(attempt) or [self._trigger(attempt, request, now_ms)])]

    def _trigger(self, attempt: Attempt, request: c.CheckpointRequest | None, now_ms: float) -> c.CoordinatorEffect:
        is_final = self._state.all_ended()
        savepoint = None if request is None else request.savepoint
        if savepoint is None:
            self._state.schedule.started(now_ms)
        self._state.last_id = CheckpointId(self._state.last_id + 1)
        in_order = is_final or savepoint is not None
        barrier = Barrier(
            checkpoint_id=self._state.last_id,
            trigger_ms=int(now_ms + self._state.wall_offset_ms),
            unaligned_after_ms=None if in_order else self._state.settings.unaligned_after_ms,
            savepoint=savepoint,
        )
        self._state.pending[self._state.last_id] = PendingCheckpoint(
            barrier=barrier,
            attempt=attempt,
            expires_ms=now_ms + self._state.settings.timeout_ms,
            final=is_final,
            request=None if request is None or request.stops else request,
        )
        return c.TriggerCheckpoint(attempt=attempt, barrier=barrier, final=is_final)

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        self._state.check_invariants()
