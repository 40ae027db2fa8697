"""The supervisor: takes a job through launch, deployment, failures and restarts to its end.

Theory of operation
-------------------
A *launch* is one submission of the stage that hosts the slots. An *attempt* is one execution of the job's graph on the
slots of a launch. A failure of user code ends the attempt only: the same slots run the next attempt. The loss of a slot
ends the launch, since the stage cannot replace a single task. The numbers of launches and attempts only grow. Events of
old launches and attempts are dropped.

Restarts. First every slot confirms that it holds nothing of the old attempt, then all deploy the new one. A slot that
stays silent past the deadline may still hold something, so the launch is killed and made again.

Placements are decided before each launch and each further attempt, and fitted into a launch that is smaller than it was
ordered. If an attempt needs more slots than the launch has, the launch is killed. Slots that an attempt does not need
are released once it runs: until then the job can go back. A rescale starts from a checkpoint that is taken for it. If
the next attempt never runs, the job goes back to its old placement without asking the restart strategy.

    state         waits for                                     legal edges
    CREATED       the order to run                              Submitted -> LAUNCHING
    LAUNCHING     all slots to register                         the last SlotRegistered -> RESOLVING; start deadline
    RESOLVING     the checkpoint to restore                     RestoreResolved -> DEPLOYING; RestoreFailed -> WAITING,
                                                                or FINISHING when trying again is of no use
    DEPLOYING     all slots to be ready                         the last SlotIsReady -> RUNNING
    RUNNING       the end of the data                           JobDone -> CLOSING; SuspendRequested -> SUSPENDING;
                                                                RescaleRequested -> RESCALING
    RESCALING     a checkpoint to continue from                 CheckpointOver -> TEARING_DOWN, or RUNNING without one;
                                                                all else as in RUNNING
    SUSPENDING    the last checkpoint                           CheckpointOver, or the deadline -> FINISHING;
                                                                JobDone -> CLOSING
    CLOSING       all slots to close the attempt, which is done the last SlotIsTornDown, or one with an error ->
                                                                FINISHING; deadline of a suspension -> FINISHING
    TEARING_DOWN  all slots to confirm the attempt is over      the last SlotIsTornDown -> WAITING;
                                                                the deadline -> RELAUNCHING
    WAITING       the restart delay to pass                     restart time -> RESOLVING; other slots -> RELAUNCHING
    RELAUNCHING   the old launch to end, and the restart delay  both -> LAUNCHING
    FINISHING     the launch to end                             LaunchEnded -> ENDED
    ENDED         nothing: the job, or this driver, is over     (none)

    AttemptFailed in DEPLOYING, RUNNING, RESCALING    -> TEARING_DOWN, or FINISHING when it may not restart
    SlotLost, LaunchEnded in LAUNCHING ... RESCALING, CLOSING -> RELAUNCHING, or FINISHING when it may not restart
    SlotLost, LaunchEnded in TEARING_DOWN, WAITING    -> RELAUNCHING (this restart is already counted)
    RescaleRequested in TEARING_DOWN ... RELAUNCHING  the next attempt has this placement; in LAUNCHING -> RELAUNCHING
    AttemptFailed, SlotLost, LaunchEnded in SUSPENDING -> FINISHING: the checkpoint before is the last one
    CancelRequested in any state before the end       -> FINISHING
    SuspendRequested in any other state before that   -> FINISHING: no attempt runs that could take a checkpoint

The restart strategy is asked exactly once between a running job and its next restart. It is not asked when the first
launch gets too few slots in time, or is refused. Then the cluster is too small or Python cannot start there, so the job
fails at once. The strategy decides on slots that are lost before they register, on later launches, and on the launches
of a job that an earlier driver has run. The last launch that this driver can make (`for_good`) suspends the job when it
ends, even if the loss of its slots has just failed the job: a driver on a healthy host continues it.
A job is FINISHED only when user code is closed without an error. Otherwise it is FAILED at once: the last checkpoint is
committed, so a restart would not bring back what close() failed to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from headgate.event_history import EventHistory
from headgate.graph.placement import Placement
from headgate.ids import Attempt, Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.runtime.master import supervisor_vocabulary as s
from headgate.runtime.master.allocation import AttemptPlacements, SlotPool
from headgate.runtime.master.restart_strategies import Restarts, RestartStrategy
from headgate.runtime.master.supervisor_vocabulary import SupervisorState

_S = SupervisorState


@final
class Supervisor:
    """Supervises one job. Pure; owned by the job master's loop."""

    def __init__(
        self,
        *,
        place: Callable[[Attempt], Placement],
        restart: RestartStrategy,
        teardown_timeout_ms: float,
        start_timeout_ms: float,
        slots_wait_ms: float | None = 0.0,
    ) -> None:
        """`place` decides the placement of an attempt; it is pure. `slots_wait_ms` None: a launch waits forever."""
        self.placements = AttemptPlacements(place)
        self.slots = SlotPool()
        self.restarts = Restarts(restart)
        self._needed = 0
        """The number of slots that the newest attempt uses: the first slots of the launch."""
        self._teardown_timeout_ms = teardown_timeout_ms
        self._start_timeout_ms = start_timeout_ms
        self._slots_wait_ms = slots_wait_ms
        self._outstanding = 0
        """The number of ordered checkpoints of the attempt that are not over."""
        self._history = EventHistory("supervisor", length=30)
        self.state = _S.CREATED
        self.attempt = Attempt(0)
        """The newest attempt; 0 before the first. Numbers may be skipped."""
        self._has_history = False
        self._deadline_ms: float | None = None
        self._is_unclosed = False  # whether user code could not be closed when the job was done
        self._outcome: tuple[JobStatus, str | None] | None = None

    @property
    def status(self) -> JobStatus:
        """The job's status. A job that is ending counts as running until its result is stored."""
        if self.state in s.COUNTS_AS_RUNNING:
            return JobStatus.RUNNING
        return JobStatus.RESTARTING if self.restarts.count or self.placements.ran is not None else JobStatus.CREATED

    @property
    def launch(self) -> Launch:
        """The newest launch; 0 before the first."""
        return self.slots.launch

    def next_wake_ms(self) -> float | None:
        """Return when to send the next `SupervisorTick` unless another event comes first; None: there is no need."""
        if self.state is _S.WAITING or (self.state is _S.RELAUNCHING and self.slots.is_over):
            return self.restarts.due_ms
        return self._deadline_ms

    def handle(self, event: s.SupervisorEvent) -> list[s.SupervisorEffect]:
        """Return the effects, in order. Raises InternalError for an event that the protocol rules out."""
        self._history.add(event)
        return [*self._apply(event), *self._on_time(event.now_ms), *self.placements.answers()]

    def _apply(self, event: s.SupervisorEvent) -> list[s.SupervisorEffect]:
        match event:
            case s.Submitted():
                if self.state is not _S.CREATED:
                    raise self._history.broken(f"the job was submitted in state {self.state}")
                self.attempt = event.last_attempt
                self._has_history = event.last_attempt > 0
                return self._start_launch(event.now_ms)
            case s.SlotRegistered() | s.SlotLost() | s.LaunchEnded() | s.LaunchSized() | s.LaunchUnfit():
                return self._on_launch_event(event)
            case s.CancelRequested():
                return self._leave(JobStatus.CANCELED, event.now_ms)
            case s.SuspendRequested():
                return self._on_suspend(event)
            case s.RescaleRequested():
                return self._on_rescale(event)
            case s.SupervisorTick():
                return []
            case _:
                return self._on_attempt_event(event)

    # --- the launch -------------------------------------------------------------------------------------------------

    def _start_launch(self, now_ms: float) -> list[s.SupervisorEffect]:
        self.placements.launch_max = None
        slots = self.placements.next(Attempt(self.attempt + 1)).slots
        self.slots.begin(slots)
        wait_ms = self._slots_wait_ms
        self._enter(_S.LAUNCHING, None if wait_ms is None else now_ms + wait_ms + self._start_timeout_ms)
        return [s.LaunchSlots(launch=self.launch, slots=slots)]

    def _on_launch_event(self, event: s.LaunchEvent) -> list[s.SupervisorEffect]:
        if event.launch > self.launch:
            raise self._history.broken(f"launch {event.launch} is not known yet")
        stale = event.launch < self.launch or self.slots.is_over
        match event:
            case s.SlotRegistered():
                return self._on_registered(event, stale)
            case s.LaunchSized(slots=slots):
                return [] if stale or self.state is not _S.LAUNCHING else self._on_sized(slots, event.now_ms)
            case s.LaunchUnfit(reason=reason):
                return [] if stale or self.state not in s.LIVE else self._fail_launch(reason, False, event.now_ms)
            case s.SlotLost():
                return [] if stale or event.slot not in self.slots else self._on_slot_lost(event)
            case _:
                return [] if stale else self._on_launch_ended(event)

    def _on_registered(self, event: s.SlotRegistered, stale: bool) -> list[s.SupervisorEffect]:
        if stale or self.state is not _S.LAUNCHING or self.slots.has(event.slot):
            return [s.RefuseSlot(launch=event.launch, slot=event.slot)]
        if event.slot not in self.slots:
            raise self._history.broken(f"slot {event.slot} registered, but the launch has {self.slots.held} slots")
        return self._resolve() if self.slots.register(event.slot) else []

    def _on_sized(self, slots: int, now_ms: float) -> list[s.SupervisorEffect]:
        self._deadline_ms = now_ms + self._start_timeout_ms
        if self.slots.shrink(slots):
            self.placements.launch_max = slots
        return self._resolve() if self.slots.are_registered else []

    def _on_slot_lost(self, event: s.SlotLost) -> list[s.SupervisorEffect]:
        if self.state in s.LIVE:
            return self._fail_launch(f"slot {event.slot} was lost: {event.reason}", True, event.now_ms)
        return self._relaunch() if self.state in s.BETWEEN else []

    def _on_launch_ended(self, event: s.LaunchEnded) -> list[s.SupervisorEffect]:
        self.slots.is_over = True
        error = event.error or "without an error, but before the job was done"
        cause = f"the stage that hosts the slots ended: {error}"
        if event.for_good and self._may_be_suspended():
            return self._suspend(event.error, event.now_ms)
        if self.state is _S.FINISHING:
            return self._end_job()
        if self.state in s.BETWEEN:
            return self._relaunch()
        if self.state not in s.LIVE:
            return []
        may_start = not event.refused or self.slots.were_some or not self._is_first_launch()
        return self._fail_launch(cause, may_start, event.now_ms)

    def _may_be_suspended(self) -> bool:
        """Return whether the outcome of the job is open, or is a failure that a later driver may overcome."""
        return self._outcome is None or (self._outcome[0] is JobStatus.FAILED and not self._is_unclosed)

    def _is_first_launch(self) -> bool:
        """Return whether no earlier launch, of any driver, can have run the job: nothing can be lost yet."""
        return self.launch == 1 and not self._has_history

    def _fail_launch(self, cause: str, retriable: bool, now_ms: float) -> list[s.SupervisorEffect]:
        if self._is_leaving:
            return self._suspend(cause, now_ms)
        effects = [*self._end_attempt(), *self._relaunch()]
        if self._grant_restart(cause, retriable, now_ms):
            return effects
        return [*effects, *self._finish(JobStatus.FAILED, self.restarts.explain(cause, retriable=retriable), now_ms)]

    def _relaunch(self) -> list[s.SupervisorEffect]:
        self._enter(_S.RELAUNCHING)
        return [] if self.slots.is_over else [s.KillLaunch(launch=self.launch)]

    # --- the attempt ------------------------------------------------------------------------------------------------

    def _resolve(self) -> list[s.SupervisorEffect]:
        placement = self.placements.next(Attempt(self.attempt + 1))
        if placement.slots > self.slots.held:
            return self._relaunch()
        self._needed = placement.slots
        self.attempt = Attempt(self.attempt + 1)
        self._outstanding = 0
        self._enter(_S.RESOLVING)
        return [s.ResolveRestore(attempt=self.attempt, placement=placement)]

    def _on_attempt_event(self, event: s.AttemptEvent) -> list[s.SupervisorEffect]:
        if event.attempt > self.attempt:
            raise self._history.broken(f"attempt {event.attempt} is not known yet")
        if event.attempt < self.attempt:
            return []
        match event, self.state:
            case s.RestoreResolved(checkpoint_id=checkpoint_id), _S.RESOLVING:
                self._enter(_S.DEPLOYING)
                return [s.DeployAttempt(attempt=self.attempt, checkpoint_id=checkpoint_id)]
            case s.RestoreFailed(reason=reason, retriable=retriable), _S.RESOLVING:
                if self._grant_restart(reason, retriable, event.now_ms):
                    self._enter(_S.WAITING)
                    return []
                return self._finish(JobStatus.FAILED, self.restarts.explain(reason, retriable=retriable), event.now_ms)
            case s.SlotIsReady(slot=slot), _S.DEPLOYING:
                if not self._all_answered(slot, self._needed):
                    return []
                self._enter(_S.RUNNING)
                self.placements.settle()
                return [s.StartAttempt(attempt=self.attempt), *self._release()]
            case s.SlotIsTornDown(slot=slot), _S.TEARING_DOWN:
                if self._all_answered(slot, self.slots.held):
                    self._enter(_S.WAITING)
                return []
            case s.AttemptFailed(), _S.DEPLOYING | _S.RUNNING | _S.RESCALING:
                return self._fail_attempt(event)
            case s.AttemptFailed(cause=cause), _S.SUSPENDING:
                return self._suspend(cause, event.now_ms)
            case s.CheckpointOver(failure=failure), _S.SUSPENDING:
                self._outstanding -= 1  # after a failure, a checkpoint that a rescale ordered may still complete
                return [] if failure is not None and self._outstanding else self._suspend(None, event.now_ms)
            case s.CheckpointOver(failure=failure), _S.RESCALING:
                self._outstanding -= 1
                return self._rescale(failure, event.now_ms)
            case s.JobDone(), _S.RUNNING | _S.RESCALING | _S.SUSPENDING:
                return self._close()
            case s.SlotIsTornDown(slot=slot, unclosed=None), _S.CLOSING:
                is_closed = self._all_answered(slot, self.slots.held)
                return self._finish(JobStatus.FINISHED, None, event.now_ms) if is_closed else []
            case s.SlotIsTornDown(unclosed=str(cause)), _S.CLOSING:
                self._is_unclosed = True
                self.restarts.newest_verdict = s.Verdict(cause=cause, restart_delay_ms=None)
                return self._finish(JobStatus.FAILED, cause, event.now_ms)
            case _:
                return []  # an event of this attempt that a later event has overtaken

    def _all_answered(self, slot: SlotIndex, asked: int) -> bool:
        if slot >= asked:
            raise self._history.broken(f"slot {slot} answered, but {asked} slots were asked")
        return self.slots.answer(slot, asked)

    def _release(self) -> list[s.SupervisorEffect]:
        """Release the slots that the attempt does not need."""
        surplus = self.slots.release(self._needed)
        return [s.ReleaseSlots(slots=surplus)] if surplus else []

    def _fail_attempt(self, event: s.AttemptFailed) -> list[s.SupervisorEffect]:
        ended = self._end_attempt()
        if not self._grant_restart(event.cause, event.retriable, event.now_ms):
            cause = self.restarts.explain(event.cause, retriable=event.retriable)
            return [*ended, *self._finish(JobStatus.FAILED, cause, event.now_ms)]
        return [*ended, *self._tear_down(event.now_ms)]

    def _tear_down(self, now_ms: float) -> list[s.SupervisorEffect]:
        self._enter(_S.TEARING_DOWN, now_ms + self._teardown_timeout_ms)
        return [s.TearDownAttempt(attempt=self.attempt)]

    def _end_attempt(self) -> list[s.SupervisorEffect]:
        return [s.EndAttempt(attempt=self.attempt)] if self.state in s.HAS_ATTEMPT else []

    def _grant_restart(self, cause: str, retriable: bool, now_ms: float) -> bool:
        goes_back = self.placements.give_up(cause)
        return self.restarts.grant(cause, now_ms, goes_back=goes_back, retriable=retriable)

    # --- another parallelism ----------------------------------------------------------------------------------------

    def _on_rescale(self, event: s.RescaleRequested) -> list[s.SupervisorEffect]:
        between = self.state in s.BETWEEN | {_S.LAUNCHING, _S.RELAUNCHING}
        if self.placements.is_under_way:
            self.placements.answer(event.number, "another change of its parallelism is under way: wait for its end")
        elif self.state is _S.RUNNING and self.placements.runs(event):
            self.placements.choose(event)
        elif self.state is _S.RUNNING:
            self.placements.want(event)
            self._enter(_S.RESCALING)
            return self._order_checkpoint()
        elif between and self.placements.ran is not None:
            self.placements.want(event)
            self.placements.begin()
            if self.state is _S.LAUNCHING:
                self.restarts.due_ms = event.now_ms
                return self._relaunch()
        else:
            self.placements.answer(event.number, self.state.rescale_refusal(has_run=self.placements.ran is not None))
        return []

    def _order_checkpoint(self) -> list[s.SupervisorEffect]:
        self._outstanding += 1
        return [s.TakeCheckpoint(attempt=self.attempt)]

    def _rescale(self, failure: str | None, now_ms: float) -> list[s.SupervisorEffect]:
        """Restart from the checkpoint in the new placement; if it has failed, continue as before."""
        if failure is not None:
            self.placements.give_up(failure)
            self._enter(_S.RUNNING)
            return []
        self.placements.begin()
        self.restarts.due_ms = now_ms
        return [*self._end_attempt(), *self._tear_down(now_ms)]

    # --- the end ----------------------------------------------------------------------------------------------------

    def _close(self) -> list[s.SupervisorEffect]:
        """Close the attempt: it has processed and committed everything."""
        ended = self._end_attempt()
        self.placements.give_up("the job has ended")
        self._enter(_S.CLOSING, self._deadline_ms)
        return [*ended, s.TearDownAttempt(attempt=self.attempt)]

    @property
    def _is_leaving(self) -> bool:
        """Whether the job is suspended unless it ends before."""
        return self.state is _S.SUSPENDING or (self.state is _S.CLOSING and self._deadline_ms is not None)

    def _leave(self, status: JobStatus, now_ms: float) -> list[s.SupervisorEffect]:
        """End the job with this status, whatever it is doing."""
        if self.state in (_S.FINISHING, _S.ENDED):
            return []
        effects = self._end_attempt()
        if self.state is _S.LAUNCHING:
            effects += self._relaunch()  # slots that have not registered would not receive a shutdown
        return [*effects, *self._finish(status, None, now_ms)]

    def _on_suspend(self, event: s.SuspendRequested) -> list[s.SupervisorEffect]:
        if self._is_leaving:
            return []
        if self.state is _S.CLOSING:
            self._deadline_ms = event.now_ms + event.grace_ms
            return []
        if self.state not in s.RUNS:
            return self._leave(JobStatus.SUSPENDED, event.now_ms)
        self.placements.give_up("the job is suspended")
        self._enter(_S.SUSPENDING, event.now_ms + event.grace_ms)
        return self._order_checkpoint()

    def _suspend(self, cause: str | None, now_ms: float) -> list[s.SupervisorEffect]:
        return [*self._end_attempt(), *self._finish(JobStatus.SUSPENDED, cause, now_ms)]

    def _finish(self, status: JobStatus, cause: str | None, now_ms: float) -> list[s.SupervisorEffect]:
        self._outcome = (status, cause)
        self.placements.give_up("the job has ended")
        if self.slots.is_over:
            return self._end_job()
        was_killed = self.state is _S.RELAUNCHING
        self._enter(_S.FINISHING, None if was_killed else now_ms + self._teardown_timeout_ms)
        return [] if was_killed else [s.ShutDownSlots()]

    def _end_job(self) -> list[s.SupervisorEffect]:
        assert self._outcome is not None
        status, cause = self._outcome
        self._enter(_S.ENDED)
        return [s.EndJob(status=status, cause=cause)]

    # --- time -------------------------------------------------------------------------------------------------------

    def _on_time(self, now_ms: float) -> list[s.SupervisorEffect]:
        wake_ms = self.next_wake_ms()
        if wake_ms is None or now_ms < wake_ms:
            return []
        match self.state:
            case _S.LAUNCHING:
                cause = self.slots.describe_missing(self._start_timeout_ms)
                return self._fail_launch(cause, not self._is_first_launch(), now_ms)
            case _S.SUSPENDING:
                return self._suspend("the last checkpoint was not complete in time", now_ms)
            case _S.CLOSING:
                return self._suspend("its functions were not closed in time", now_ms)
            case _S.TEARING_DOWN:
                return self._relaunch()
            case _S.WAITING:
                return self._resolve()
            case _S.RELAUNCHING:
                return self._start_launch(now_ms)
            case _S.FINISHING:
                self._deadline_ms = None
                return [s.KillLaunch(launch=self.launch)]
            case _:
                raise self._history.broken(f"a deadline is set in state {self.state}")

    def _enter(self, state: SupervisorState, deadline_ms: float | None = None) -> None:
        self.state = state
        self._deadline_ms = deadline_ms
        self.slots.ask()

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        broken = self._history.broken
        if self.state in s.LIVE | s.BETWEEN and self.slots.is_over:
            raise broken(f"no launch in state {self.state}")
        if self.state in (s.LIVE | s.BETWEEN) - {_S.LAUNCHING} and not self.slots.are_registered:
            raise broken(f"not all slots are registered in state {self.state}")
        if (self._outcome is not None) != (self.state in (_S.FINISHING, _S.ENDED)):
            raise broken(f"outcome {self._outcome} in state {self.state}")
        is_wanted = self.placements.is_under_way and not self.placements.is_tried
        if is_wanted != (self.state is _S.RESCALING):
            raise broken(f"a rescale is {'' if is_wanted else 'not '}wanted in state {self.state}")
        if self.state in s.RUNS and (self.placements.is_tried or self._needed != self.slots.held):
            raise broken(f"a rescale is not settled in state {self.state}")
        if self.state is _S.ENDED and not self.slots.is_over:
            raise broken("the job is over, but not its launch")
