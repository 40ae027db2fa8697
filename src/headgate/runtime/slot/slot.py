"""Slot: one mailbox loop that runs the subtasks of one process, attempt after attempt.

Everything happens in `step`, in this order: mails (control messages and results of I/O threads), coroutines of
operators, pieces of work of the subtasks, a piece of the snapshot under way, and flushing. So user code never runs
concurrently with timers, barriers or snapshots. The host of the loop (a Spark task, `MiniCluster`, the simulator) calls
`step` and waits for as long as its result says.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar, cast, final

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import SubtaskAcked, SubtaskDeclined, SubtaskEnded, SubtaskRecovered
from headgate.elements import Barrier
from headgate.errors import DamagedFileError, InternalError, NetworkError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import edges_of
from headgate.ids import Attempt, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.base import USER_ERRORS, Operator
from headgate.operators.failure import UserFailure, failure_of, is_retriable
from headgate.operators.stepped_loop import SteppedLoop
from headgate.runtime.control.messages import (
    AddSplits,
    AllowWatermarks,
    CheckpointAborted,
    CheckpointCompleted,
    Deploy,
    EndSources,
    FromSlot,
    InjectBarrier,
    Progress,
    Shutdown,
    SlotReady,
    SlotTornDown,
    Start,
    Tap,
    TaskFailed,
    TearDown,
    ToSlot,
)
from headgate.runtime.slot import garbage
from headgate.runtime.slot.attempt_loop import AttemptLoop
from headgate.runtime.slot.execution import Execution, FailedToOpenError
from headgate.runtime.slot.services import SlotServices
from headgate.runtime.slot.taps import SlotTaps
from headgate.runtime.slot_storage.slot_storage import FetchedAttempt, SlotStorage
from headgate.runtime.slot_storage.upload import TakenSnapshot, Uploads
from headgate.state.backend import StateWriter

T = TypeVar("T")

_log = logging.getLogger(__name__)

PROGRESS_INTERVAL_MS: Final = 1000.0
ROUNDS_PER_STEP: Final = 4
"""The greatest number of rounds of work between two checks of the mailbox and the network."""

ROUNDS_MS: Final = 5.0
"""Milliseconds after which no further round begins: a barrier waits at most for one piece of slow user code."""


@final
class Slot:
    """One slot of a job. Owned by the thread that calls `step`; `receive` is called on that thread too."""

    def __init__(self, load: Callable[[], JobGraph], index: SlotIndex, services: SlotServices) -> None:
        """`load` returns the job's plan; it is called for each attempt, so that each begins with fresh functions."""
        self.index = index
        self.closed = False
        """Whether the slot was told to end."""
        self.clock = services.clock
        self._load = load
        self._services = services
        self._storage = SlotStorage(services.store, services.scratch, services.open_store)
        self._mailbox: deque[ToSlot] = deque()
        self._attempt: Attempt | None = None
        self._last_attempt = Attempt(0)
        self._last_completed = CheckpointId(0)
        self._execution: Execution | None = None
        self._uploads: Uploads | None = None
        self._taps: SlotTaps | None = None
        self._running = False
        self._counters: dict[str, int] = {}
        self._progress_due_ms = 0.0
        self._outward = 0
        self._torn_down: SlotTornDown | None = None
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._shared: dict[str, Any] = {}
        self._event_loop = AttemptLoop(services.clock, services.watch)

    @property
    def at_work(self) -> Operator | None:
        """The operator that runs now or ran last; None between attempts."""
        return None if self._execution is None else self._execution.at_work

    # --- the loop

    def receive(self, message: ToSlot) -> None:
        """Put a message of the job master into the mailbox."""
        self._mailbox.append(message)

    def step(self, now_ms: float) -> float | None:
        """Do a bounded amount of work. Return the monotonic time at which to call again.

        The result is `now_ms` if work is left, and None if only a mail or an element from another slot can bring work.
        """
        while self._mailbox:
            self._handle(self._mailbox.popleft())
        later_ms = self._call_due(now_ms)
        execution = self._execution
        if execution is None or not self._running:
            return later_ms
        self._step_coroutines()
        busy = self._work(execution, now_ms)
        uploads = self._uploads
        if uploads is not None and (uploads.due if busy else uploads.pending):
            busy = uploads.advance()
        if self._running and execution.tick(now_ms):
            busy = True
        if execution.flush_due(now_ms):
            busy = True
        if not self._running:
            return None
        if now_ms >= self._progress_due_ms:
            self._report_progress(execution, now_ms)
        if not busy:
            busy = execution.flush()
        if busy or self._mailbox or self._event_loop.is_ready:
            return now_ms
        times = (execution.wake_ms(), later_ms, self._progress_due_ms, self._event_loop.wake_ms)
        return min(time_ms for time_ms in times if time_ms is not None)

    def _call_due(self, now_ms: float) -> float | None:
        """Make the delayed calls that are due; return the time of the next one."""
        if not self._later:
            return None
        due = [call for due_ms, call in self._later if now_ms >= due_ms]
        self._later = [later for later in self._later if now_ms < later[0]]
        for call in due:
            self._deliver(self._attempt, lambda _: call(), None)  # noqa: B023  # called at once
        return min((due_ms for due_ms, _ in self._later), default=None)

    def _step_coroutines(self) -> None:
        try:
            self._event_loop.step()
        except USER_ERRORS as error:
            self._slot_failed(error)

    def _work(self, execution: Execution, now_ms: float) -> bool:
        """Do some rounds of work; return whether there may be more."""
        for _ in range(ROUNDS_PER_STEP):
            if not (self._running and execution.work()):
                return False
            if execution.worked_until_ms - now_ms > ROUNDS_MS or (self._uploads is not None and self._uploads.due):
                return True
        return True

    def _report_progress(self, execution: Execution, now_ms: float) -> None:
        self._progress_due_ms = now_ms + PROGRESS_INTERVAL_MS
        subtasks = execution.subtasks.values()
        self.send(
            Progress(
                slot=self.index,
                attempt=self.attempt,
                records_in={subtask.id: subtask.records_in for subtask in subtasks},
                records_out={subtask.id: sum(out.records_out for out in subtask.outputs) for subtask in subtasks},
                counters=dict(self._counters),
                metrics=execution.metrics(),
                log=() if self._services.log is None else self._services.log.take(),
            )
        )

    # --- messages

    def _handle(self, message: ToSlot) -> None:
        if isinstance(message, Shutdown):
            self._shut_down(message)
            return
        if isinstance(message, Deploy):
            self._deploy(message)
            return
        if isinstance(message, TearDown):
            self._tear_down(message.attempt)
            return
        if message.attempt != self._attempt or self._execution is None:
            return
        try:
            self._handle_running(message, self._execution)
        except FailedToOpenError as error:
            self.failed(error.subtask, error.failure, error.error)
        except Exception as error:
            self._slot_failed(error)

    def _handle_running(
        self,
        message: Start
        | InjectBarrier
        | AddSplits
        | AllowWatermarks
        | EndSources
        | CheckpointCompleted
        | CheckpointAborted
        | Tap,
        execution: Execution,
    ) -> None:
        match message:
            case Start():
                execution.start()
                self._running = True
            case InjectBarrier():
                self._completed(message.completed, execution)
                execution.trigger(message.barrier)
            case AddSplits():
                execution.add_splits(message.splits)
            case AllowWatermarks():
                execution.allow_watermarks(message.allowed)
            case EndSources():
                execution.end_sources(message.over)
            case Tap():
                self._taps = self._taps or SlotTaps(execution.subtasks, self)
                self._taps.tap(message)
            case CheckpointCompleted():
                self._completed(message.checkpoint_id, execution)
            case CheckpointAborted():
                self._completed(message.completed, execution)
                execution.abort(message.checkpoint_id)
                if self._uploads is not None:
                    self._uploads.abandon(message.checkpoint_id)
                if self._storage.keeps_copies:
                    self._tidy(lambda: self._storage.aborted(message.checkpoint_id))

    def _completed(self, checkpoint_id: CheckpointId | None, execution: Execution) -> None:
        """Tell the execution of a completed checkpoint once, whichever message reports it first."""
        if checkpoint_id is not None and checkpoint_id > self._last_completed:
            self._last_completed = checkpoint_id
            execution.notify_completed(checkpoint_id)
            if self._storage.keeps_copies:
                self._tidy(lambda: self._storage.completed(checkpoint_id))

    def _tidy(self, work: Callable[[], None]) -> None:
        def done(result: BaseException | None) -> None:
            if result is not None:
                _log.warning("slot %d could not remove local copies: %s", self.index, result)

        self._services.io.submit(work, done)

    def _deploy(self, message: Deploy) -> None:
        """Begin an attempt: fetch its state on an I/O thread, then build the subtasks and answer `SlotReady`."""
        if message.attempt <= self._last_attempt:
            return
        self._end()
        self._attempt = self._last_attempt = message.attempt
        self._last_completed = message.checkpoint_id or CheckpointId(0)
        self._storage.begin(message.attempt)
        try:
            plan = self._load()
        except Exception as error:
            self._slot_failed(error)
            return

        def done(result: FetchedAttempt | BaseException) -> None:
            if isinstance(result, BaseException):
                self._slot_failed(result)
            else:
                self._build(message, plan, result)

        self.submit(lambda: self._storage.fetch(message, plan.settings), done)

    def _build(self, message: Deploy, plan: JobGraph, fetched: FetchedAttempt) -> None:
        if fetched.local_files or fetched.remote_files:
            self.count("local_restored_files", fetched.local_files)
            self.count("remote_restored_files", fetched.remote_files)
        try:
            self._uploads = Uploads(self._storage.writers(plan), self, message.attempt)
            placed = replace(plan, edges=edges_of(plan, message.placement))
            self._execution = Execution(placed, message.placement, self._services.exchange, self)
            with garbage.paused():
                self._execution.build(message, fetched.restored, fetched.in_flight)
        except FailedToOpenError as error:
            self.failed(error.subtask, error.failure, error.error)
        except Exception as error:
            self._slot_failed(error)
        else:
            self._services.exchange.connect(message.attempt, message.placement.addresses)
            self.send(SlotReady(slot=self.index, attempt=message.attempt))

    def _tear_down(self, attempt: Attempt) -> None:
        """End the attempt, and confirm it once none of its work can change anything outside the job."""
        unclosed = self._end() if attempt == self._attempt else None
        self._torn_down = SlotTornDown(slot=self.index, attempt=attempt, unclosed=unclosed)
        self._confirm_end()

    def _confirm_end(self) -> None:
        if self._torn_down is not None and not self._outward:
            self.send(self._torn_down)
            self._torn_down = None

    def abandon(self) -> None:
        """End at once without a message: the slot's launch is over."""
        self._end()

    def _shut_down(self, message: Shutdown) -> None:
        execution = self._execution
        self._end()
        if execution is not None and message.abandons_after is not None:
            execution.abandon(message.abandons_after)
        self.closed = True

    def _end(self) -> UserFailure | None:
        """End the current attempt; return the failure of its close, None for none. Later results are dropped."""
        execution, self._execution = self._execution, None
        self._attempt = None
        self._uploads = self._taps = None
        self._running = False
        self._counters = {}
        self._later = []
        unclosed = None if execution is None else execution.close()
        self._shared = {}
        self._event_loop.end()
        return unclosed

    def send(self, message: FromSlot) -> None:
        """Send a message to the job master. Does not block."""
        self._services.send(message)

    @property
    def attempt(self) -> Attempt:
        """The attempt that runs. Raises InternalError when none does."""
        if self._attempt is None:
            raise InternalError(f"slot {self.index} reports from an attempt but runs none")
        return self._attempt

    def _slot_failed(self, error: BaseException) -> None:
        failure = failure_of(error, f"slot {self.index}", self.index)
        _log.error("slot %d failed: %s", self.index, failure.error)
        self.failed(None, failure, error)

    def failed(self, subtask: SubtaskId | None, failure: UserFailure | str, error: BaseException) -> None:
        """Report a failure of a subtask, or, for None, of the slot itself. The slot stops work in this attempt."""
        self._running = False
        if self._attempt is not None:
            self.send(
                TaskFailed(
                    slot=self.index,
                    attempt=self._attempt,
                    subtask=subtask,
                    failure=failure,
                    retriable=is_retriable(error),
                    damaged=isinstance(error, DamagedFileError),
                )
            )

    def exchange_broken(self, reason: str) -> None:
        """Fail the attempt that runs: the connection to another slot was lost."""
        if self._execution is not None:
            self.failed(None, reason, NetworkError(reason))

    # --- services for subtasks and operators

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread. `done` gets its result unless the attempt has ended. Does not block."""
        attempt = self._attempt
        self._services.io.submit(work, lambda result: self._deliver(attempt, done, result))

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work`, which may wait for long, as `submit` does."""
        attempt = self._attempt
        self._services.io.submit_waiting(work, lambda result: self._deliver(attempt, done, result))

    def submit_outward(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work`, which changes external systems, as `submit` does. The attempt ends only after the work."""
        attempt = self._attempt
        self._outward += 1

        def deliver(result: T | BaseException) -> None:
            self._outward -= 1
            self._confirm_end()
            self._deliver(attempt, done, result)

        self._services.io.submit(work, deliver)

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Make the call after `delay_ms`, unless the attempt has ended."""
        self._later.append((self.clock.monotonic_ms() + delay_ms, call))

    def event_loop(self) -> SteppedLoop:
        """Return the asyncio loop of the attempt's operators."""
        return self._event_loop.get()

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        """Return the object that all subtasks of an operator share in this attempt. The first call makes it."""
        if uid not in self._shared:
            self._shared[uid] = make()
        return cast("T", self._shared[uid])

    def state_writer(self, subtask: SubtaskId, uid: str) -> StateWriter:
        """Return a writer for state files of an operator that belong to no checkpoint yet."""
        if self._uploads is None:
            raise InternalError(f"slot {self.index} is to write state but runs no attempt")
        return self._uploads.ahead(uid, subtask.index)

    def scratch(self, subtask: SubtaskId, uid: str) -> Path:
        """Return a local folder for the files of an operator."""
        return self._storage.work_folder(self.attempt, subtask, uid)

    def _deliver(self, attempt: Attempt | None, done: Callable[[T], None], result: T) -> None:
        if attempt is None or attempt != self._attempt:
            return
        try:
            done(result)
        except Exception as error:
            self._slot_failed(error)

    def snapshot_taken(self, snapshot: TakenSnapshot) -> None:
        if self._uploads is not None:
            self._uploads.add(snapshot)

    def acked(self, subtask: SubtaskId, barrier: Barrier, state: SubtaskState) -> None:
        checkpoint_id = barrier.checkpoint_id
        if barrier.savepoint is None:
            self._storage.taken(checkpoint_id, state)
        self.send(SubtaskAcked(attempt=self.attempt, checkpoint_id=checkpoint_id, subtask=subtask, state=state))

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str, *, fault: bool = True) -> None:
        attempt = self.attempt
        self.send(
            SubtaskDeclined(attempt=attempt, checkpoint_id=checkpoint_id, subtask=subtask, reason=reason, fault=fault)
        )

    def ended(self, subtask: SubtaskId) -> None:
        self.send(SubtaskEnded(attempt=self.attempt, subtask=subtask))
        self._progress_due_ms = 0.0  # the final counts must reach the master before the job ends

    def recovered(self, subtask: SubtaskId) -> None:
        self.send(SubtaskRecovered(attempt=self.attempt, subtask=subtask))

    def held_back_ms(self, subtask: SubtaskId) -> float:
        """Return the total milliseconds for which the subtask was back-pressured."""
        return 0.0 if self._execution is None else self._execution.held_back_ms(subtask)

    def count(self, name: str, by: int) -> None:
        """Add to a named counter."""
        self._counters[name] = self._counters.get(name, 0) + by
