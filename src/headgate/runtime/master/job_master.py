"""Job master: runs one job from submission to outcome, by performing what its parts decide.

The supervisor decides when to launch slots, deploy, start, tear down and end. The checkpoint coordinator decides when
to trigger, store a manifest and commit; `Checkpoints` does its work on storage. `Rescales`, `Discovery` and `Taps`
decide on growth, new splits and samples. All of them return effects, and only `_perform` performs them. The master
turns messages of slots, results of blocking work and the passing of time into events of these parts.

It is stepped by its host and owned by the thread that steps.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import assert_never, final

from headgate import options
from headgate.checkpoint.messages import SubtaskAcked, SubtaskCommitted, SubtaskDeclined, SubtaskEnded, SubtaskRecovered
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.operators.failure import UserFailure
from headgate.runtime.control import messages
from headgate.runtime.control.messages import FromSlot
from headgate.runtime.job_storage.lease import PriorRuns
from headgate.runtime.job_storage.restore import deploy_messages
from headgate.runtime.master import supervisor_vocabulary as supervision
from headgate.runtime.master.assembly import growth_of, supervisor_of, watermark_aligner_of
from headgate.runtime.master.checkpoints import BeginEnd, CheckpointEffect, CheckpointEvent, Checkpoints, JobTakenOver
from headgate.runtime.master.discovery import CheckpointToAcknowledge, Discovery, DiscoveryEffect, FindSplits
from headgate.runtime.master.job_end import JobEnd
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.master.rescales import Bounds, CountSlots, Rescales
from headgate.runtime.master.services import MasterServices, SendToAll, SendToSubtask, SlotCount, SlotLink, SlotLinks
from headgate.runtime.master.supervisor_vocabulary import SupervisorState, origin_of_event
from headgate.runtime.master.taps import See, Taps
from headgate.runtime.monitoring.outcome import Failure, FailureOrigin, JobOutcome, describe_unclosed, origin_of
from headgate.runtime.monitoring.progress import JobProgress

_log = logging.getLogger(__name__)

MasterEffect = (
    supervision.SupervisorEffect | supervision.RescaleRequested | CheckpointEffect | DiscoveryEffect | CountSlots
)


@final
class JobMaster:
    """The master of one job."""

    def __init__(self, plan: JobGraph, services: MasterServices) -> None:
        self.progress = JobProgress(placement=as_programmed(plan))
        self._plan = plan
        self._services = services
        self._storage = services.storage
        # Seeded by the job's id: jobs differ in their restart delays, and a job has the same delays on every host.
        self._supervisor = supervisor_of(plan, services.placed, random.Random(plan.job_id).random)
        self._checkpoints = Checkpoints(plan, services.storage, services.clock, self._coordinate)
        self._discovery = Discovery(plan)
        self._rescales = Rescales(plan, growth_of(plan))
        self._aligner = watermark_aligner_of(plan)
        self._taps = Taps(plan)
        self._job_end = JobEnd(plan, services, self.progress, self._checkpoints)
        self._ordered = 0
        self.progress.statistics = self._checkpoints.statistics
        self._links = SlotLinks()
        self._ended: Attempt | None = None
        self._events: deque[Callable[[], None]] = deque()
        self._preparing = False
        self._left: JobStatus | None = None
        self._is_taken_over = False

    @property
    def outcome(self) -> JobOutcome | None:
        """The outcome of the job, None until it has ended."""
        return self._job_end.outcome

    @property
    def status(self) -> JobStatus:
        """The job's status. A job that is being cancelled keeps its earlier status until it has ended."""
        return self._supervisor.status if self.outcome is None else self.outcome.status

    # --- calls of the host

    def submit(self) -> None:
        """Begin the job: check sinks, list splits, then launch slots. Does not block."""
        self._job_end.submitted_ms = self._now()
        self._preparing = True

        def done(result: PriorRuns | BaseException) -> None:
            self._preparing = False
            if self._left is not None and (isinstance(result, BaseException) or result.ended is None):
                self._job_end.begin(self._left, None)
            elif isinstance(result, BaseException):
                cause = str(result) or type(result).__name__
                self._note_failure(cause, FailureOrigin(), None)
                self._job_end.refuse(cause)
            elif result.ended is not None:
                self._job_end.begin(result.ended.status, result.ended.cause)
            else:
                self._supervise(supervision.Submitted(now_ms=self._now(), last_attempt=result.last_attempt))

        self._storage.prepare(self._plan, done)

    def cancel(self) -> None:
        """Cancel the job. Does nothing when it has ended. Does not block."""
        self._leave(JobStatus.CANCELED, supervision.CancelRequested(now_ms=self._now()))

    def suspend(self) -> None:
        """Leave the job to a later driver, after a last checkpoint if it completes in time. Does not block."""
        grace_ms = self._plan.settings.get(options.SUSPEND_GRACE)
        self._leave(JobStatus.SUSPENDED, supervision.SuspendRequested(grace_ms=grace_ms, now_ms=self._now()))

    def _leave(self, status: JobStatus, request: supervision.SupervisorEvent) -> None:
        if self._preparing:
            self._left = self._left or status
            self._storage.interrupt()
        elif self.outcome is None and not self._job_end.is_under_way:
            self._supervise(request)

    def trigger_checkpoint(self, answer: Future[str]) -> None:
        """Take a checkpoint now. `answer` gets its location, or a CheckpointError with the reason. Does not block."""
        self._checkpoints.trigger_checkpoint(answer)

    def take_savepoint(self, request: SavepointRequest, answer: Future[str]) -> None:
        """Take a savepoint. `answer` gets its location, or an error with the reason of the failure.

        The answer to a request that stops the job comes when the job has ended. Raises nothing, and does not block.
        """
        self._checkpoints.take_savepoint(request, answer)

    def rescale(self, bounds: Bounds, answer: Future[str]) -> None:
        """Continue the job at another parallelism, from a checkpoint that is taken for this.

        `answer` gets a sentence with the new parallelism once the job runs at it, or an error with the reason why the
        job was not rescaled. Raises nothing, and does not block.
        """
        self._perform_all(self._rescales.request(bounds, answer, self._now()))

    def tap(self, uid: str, see: See) -> None:
        """Call `see` with samples of the records that leave an operator, until `untap`. Does not block."""
        self._perform_all(self._taps.open(uid, see, self._now()))

    def untap(self, uid: str, see: See) -> None:
        """Call `see` with no more samples. Does not block."""
        self._perform_all(self._taps.close(uid, see, self._now()))

    def register(self, message: messages.RegisterSlot, link: SlotLink) -> None:
        """Register a slot that has connected and is fit to run."""
        if message.launch != self._supervisor.launch or message.slot in self._links:
            link.close()
            return
        self._links.add(message, link)
        self.progress.slots = {**self.progress.slots, message.slot: message.environment}
        self._supervise(supervision.SlotRegistered(launch=message.launch, slot=message.slot, now_ms=self._now()))

    def slot_lost(self, launch: Launch, slot: SlotIndex, reason: str) -> None:
        """Handle the loss of a slot: its connection or heartbeat has ended."""
        if launch == self._supervisor.launch and slot in self._links:
            self._links.drop(slot)
            self._supervise(supervision.SlotLost(launch=launch, slot=slot, reason=reason, now_ms=self._now()))

    def slot_unfit(self, launch: Launch, reason: str) -> None:
        """Handle a slot that can never run the job: the job fails, or returns to its placement before a rescale."""
        if self._supervisor.placements.is_tried:
            self._supervise(supervision.LaunchUnfit(launch=launch, reason=reason, now_ms=self._now()))
        elif launch == self._supervisor.launch and self.outcome is None:
            self._end_as_failed(reason)

    def _end_as_failed(self, reason: str) -> None:
        self._job_end.fatal = reason
        self._note_failure(reason, FailureOrigin(), None)
        self._supervise(supervision.CancelRequested(now_ms=self._now()))

    def launch_sized(self, launch: Launch, slots: int) -> None:
        """Note that a launch has `slots` slots. Called before any of them registers."""
        if launch == self._supervisor.launch and slots < self._ordered:
            _log.warning("the job goes on with %d of %d task slots: there are no more", slots, self._ordered)
        self._supervise(supervision.LaunchSized(launch=launch, slots=slots, now_ms=self._now()))

    def launch_ended(self, launch: Launch, error: str | None, *, for_good: bool = False, refused: bool = False) -> None:
        """Handle the end of a launch: its processes are gone, or will end without an order.

        `for_good`: this driver can make no other launch. `refused`: another launch would end in the same way.
        """
        if launch == self._supervisor.launch:
            self._links.drop_all()
        ended = supervision.LaunchEnded(
            launch=launch, error=error, for_good=for_good, refused=refused, now_ms=self._now()
        )
        self._supervise(ended)

    def receive(self, launch: Launch, message: FromSlot) -> None:
        """Handle a message of a registered slot. Messages of other launches and attempts are dropped."""
        if launch == self._supervisor.launch and self.outcome is None:
            self._dispatch(message)

    def step(self, now_ms: float) -> float | None:
        """Do the work that is due. Return when to call again unless another call comes first; None: no need."""
        if self.outcome is not None:
            return None
        due_ms = self._supervisor.next_wake_ms()
        if due_ms is not None and now_ms >= due_ms:
            self._supervise(supervision.SupervisorTick(now_ms=now_ms))
        allowed = self._aligner.announce(now_ms)
        if allowed:
            self._links.send_all(messages.AllowWatermarks(attempt=self._supervisor.attempt, allowed=allowed))
        self._perform_all(self._rescales.step(self._free_attempt, now_ms))
        self._perform_all(self._taps.step(now_ms))
        self._checkpoints.step(now_ms)
        self._perform_all(self._discovery.step(now_ms))
        wakes = (
            self._supervisor.next_wake_ms(),
            self._aligner.wake_ms,
            self._rescales.wake_ms,
            self._taps.wake_ms,
            self._checkpoints.wake_ms,
            self._discovery.wake_ms,
        )
        return min((wake for wake in wakes if wake is not None), default=None)

    def _now(self) -> float:
        return self._services.clock.monotonic_ms()

    # --- messages of slots

    def _dispatch(self, message: FromSlot) -> None:
        now_ms = self._now()
        match message:
            case messages.SlotReady():
                self._supervise(supervision.SlotIsReady(slot=message.slot, attempt=message.attempt, now_ms=now_ms))
            case messages.SlotTornDown():
                self._torn_down(message)
            case messages.TaskFailed():
                self._task_failed(message)
            case SubtaskAcked() | SubtaskDeclined() | SubtaskEnded() | SubtaskCommitted() | SubtaskRecovered():
                if isinstance(message, SubtaskEnded) and self._is_current(message.attempt):
                    self._aligner.subtask_ended(message.subtask)
                self._checkpoints.received(message)
            case messages.WatermarkReported():
                if self._is_current(message.attempt):
                    self._aligner.reported(message.subtask, message.watermark_ms)
            case messages.Collected():
                # Accepted before the attempt runs: a restored operator first sends the records in its checkpoint.
                if self._is_current(message.attempt):
                    self._services.collected(message)
            case messages.Progress():
                if self._is_current(message.attempt):
                    self.progress.reported(message, self._services.clock.wall_ms())
            case messages.LiveOutput():
                if self._is_current(message.attempt):
                    self._taps.received(message)
            case messages.SplitsRead():
                self._discovery.splits_read(message, now_ms)
            case messages.RegisterSlot():
                _log.warning("slot %d registered twice on one connection", message.slot)
            case _:
                assert_never(message)

    def _torn_down(self, message: messages.SlotTornDown) -> None:
        unclosed = None if message.unclosed is None else describe_unclosed(message.unclosed)
        self._supervise(
            supervision.SlotIsTornDown(
                slot=message.slot, attempt=message.attempt, unclosed=unclosed, now_ms=self._now()
            ),
            origin_of(message),
        )

    def _task_failed(self, message: messages.TaskFailed) -> None:
        if not self._is_current(message.attempt):
            return  # for example, a slot lost its peers because they ended the attempt sooner
        failure = message.failure
        cause = failure.describe() if isinstance(failure, UserFailure) else failure
        retriable = message.retriable or (message.damaged and self._checkpoints.may_pass_over(cause))
        self._supervise(
            supervision.AttemptFailed(attempt=message.attempt, cause=cause, retriable=retriable, now_ms=self._now()),
            origin_of(message),
        )

    def _is_current(self, attempt: Attempt) -> bool:
        """Return whether this is the newest attempt and has not ended."""
        return attempt == self._supervisor.attempt != self._ended

    # --- events of the two machines

    def _supervise(self, event: supervision.SupervisorEvent, origin: FailureOrigin | None = None) -> None:
        self._handle(lambda: self._supervised(event, origin or origin_of_event(event)))

    def _supervised(self, event: supervision.SupervisorEvent, origin: FailureOrigin) -> None:
        known = self._supervisor.restarts.newest_verdict
        effects = self._supervisor.handle(event)
        verdict = self._supervisor.restarts.newest_verdict
        if verdict is not None and verdict is not known:
            self._note_failure(verdict.cause, origin, verdict.restart_delay_ms)
        self._perform_all(effects)

    def _note_failure(self, cause: str, origin: FailureOrigin, restart_delay_ms: float | None) -> None:
        failure = Failure(
            wall_ms=self._services.clock.wall_ms(),
            attempt=self._supervisor.attempt,
            cause=cause,
            origin=origin,
            restart_delay_ms=restart_delay_ms,
        )
        self.progress.failed(failure, self._supervisor.restarts.count)

    def _coordinate(self, event: CheckpointEvent) -> None:
        self._handle(lambda: self._perform_all(self._checkpoints.handle(event)))

    def _handle(self, event: Callable[[], None]) -> None:
        """Handle an event, then the events that its effects cause, one after the other."""
        self._events.append(event)
        if len(self._events) > 1:
            return
        while self._events:
            self._events[0]()
            self._events.popleft()

    # --- effects

    def _perform_all(self, effects: Iterable[MasterEffect]) -> None:
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: MasterEffect) -> None:
        match effect:
            case supervision.LaunchSlots():
                self._ordered = effect.slots
                self._services.launcher.launch(effect.launch, effect.slots)
            case supervision.KillLaunch():
                self._links.drop_all()
                self._services.launcher.kill(effect.launch)
            case supervision.RefuseSlot():
                if effect.launch == self._supervisor.launch and effect.slot in self._links:
                    self._links.drop(effect.slot)
            case supervision.ResolveRestore() | supervision.EndJob():
                self._checkpoints.begin_when_settled(effect)
            case supervision.DeployAttempt():
                self._deploy(effect.attempt)
            case supervision.StartAttempt():
                self._start(effect.attempt)
            case supervision.TakeCheckpoint():
                attempt = effect.attempt
                self._take_checkpoint(
                    lambda failure, now_ms: self._supervise(
                        supervision.CheckpointOver(attempt=attempt, failure=failure, now_ms=now_ms)
                    )
                )
            case supervision.ReleaseSlots():
                self._links.release(effect.slots)
            case supervision.RescaleOver():
                self._watch_growth()
                self._rescales.over(effect, self.progress.placement, self._now())
            case supervision.EndAttempt():
                self._ended = effect.attempt
                self.progress.attempt_ended(self._services.clock.wall_ms())
                self._discovery.attempt_ended()
                self._aligner.ended()
                self._rescales.attempt_ended()
                self._taps.ended()
                self._checkpoints.attempt_ended(effect.attempt, self.progress.failure_of(effect.attempt))
            case supervision.TearDownAttempt():
                self._links.send_all(messages.TearDown(attempt=effect.attempt))
            case supervision.ShutDownSlots():
                after = self._checkpoints.stored_up_to if self._is_taken_over else None
                self._links.send_all(messages.Shutdown(abandons_after=after))
            case (
                supervision.AttemptFailed()
                | supervision.JobDone()
                | supervision.RescaleRequested()
                | supervision.RestoreResolved()
                | supervision.RestoreFailed()
            ):
                self._supervise(effect)
            case BeginEnd():
                self._job_end.begin(effect.order.status, effect.order.cause)
            case SendToAll():
                self._links.send_all(effect.message)
            case SendToSubtask():
                self._links.send(self.progress.placement.slot_of(effect.subtask), effect.message)
            case CountSlots():
                held = self._supervisor.slots.held
                count = partial(self._services.launcher.count_slots, held)
                self._services.io.submit_waiting(count, partial(self._slots_counted, effect))
            case FindSplits():
                found = partial(self._discovery.found, effect)
                self._services.io.submit_waiting(effect.find, lambda it: self._perform_all(found(it, self._now())))
            case CheckpointToAcknowledge():
                self._take_checkpoint(partial(self._discovery.checkpoint_over, effect))
            case JobTakenOver():
                # The slots remove prepared output that is in no snapshot: the other driver may never look for it.
                self._is_taken_over = True
                self._end_as_failed(effect.reason)
            case _:
                assert_never(effect)

    def _take_checkpoint(self, over: Callable[[str | None, float], None]) -> None:
        """Take a checkpoint now. Call `over` with its failure (None: it is complete) and the time."""

        def answered(answer: Future[str]) -> None:
            error = answer.exception()
            over(None if error is None else str(error), self._now())

        ordered = Future[str]()
        ordered.add_done_callback(answered)
        self.trigger_checkpoint(ordered)

    def _slots_counted(self, order: CountSlots, count: SlotCount | BaseException | None) -> None:
        wanted = self._supervisor.placements.wanted if self.progress.attempt else self.progress.placement
        self._perform_all(self._rescales.counted(order, count, wanted, self._free_attempt, self._now()))

    def _deploy(self, attempt: Attempt) -> None:
        point = self._checkpoints.point
        assert point is not None
        self.progress.deployed(attempt, point.placement, point.checkpoint_id, self._services.clock.wall_ms())
        point = replace(point, placement=self._links.placed(point.placement, self._plan.settings))
        for slot, message in deploy_messages(self._plan, attempt, self._storage.lineage, point).items():
            self._links.send(slot, message)

    def _start(self, attempt: Attempt) -> None:
        point = self._checkpoints.point
        assert point is not None
        now_ms = self._now()
        self.progress.attempt_began(attempt, point.placement, self._services.clock.wall_ms())
        self._checkpoints.attempt_started(attempt, point)
        self._discovery.attempt_started(attempt, point, now_ms)
        self._aligner.started(now_ms)
        self._watch_growth()
        self._links.send_all(messages.Start(attempt=attempt))
        self._perform_all(self._taps.started(attempt, point.placement, now_ms))

    def _watch_growth(self) -> None:
        """Note the placement that the job wants. A job without checkpoints cannot continue with more slots."""
        if self._supervisor.state is SupervisorState.RUNNING and self._plan.checkpointing:
            self.progress.wanted = self._supervisor.placements.wanted
            self._rescales.attempt_runs(self.progress.placement.slots, self._supervisor.placements.wanted, self._now())

    @property
    def _free_attempt(self) -> Attempt | None:
        """The attempt that runs, if the job could be rescaled now; None otherwise."""
        is_free = self._supervisor.state is SupervisorState.RUNNING and not self._checkpoints.has_requests
        return self._supervisor.attempt if is_free else None
