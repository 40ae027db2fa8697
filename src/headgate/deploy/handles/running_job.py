"""A running job in its driver: the thread that steps the job master, and the handle for the program."""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from typing import Any, Final, Protocol, final

from headgate import options
from headgate.deploy.handles.job_endpoint import JobEndpoint
from headgate.deploy.handles.status_line import prints, status_line
from headgate.deploy.handles.termination import TERMINATION
from headgate.deploy.job_folder import JobFolder
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError, HeadgateError, RescaleError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import as_programmed
from headgate.ids import JobId, SubtaskId
from headgate.job_status import JobStatus
from headgate.runtime.control.messages import Collected
from headgate.runtime.master.job_master import JobMaster
from headgate.runtime.master.requests import SavepointRequest
from headgate.runtime.master.rescales import Bounds
from headgate.runtime.master.taps import See
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.runtime.monitoring.progress import JobProgress

_ENDED: Final = {
    JobStatus.FINISHED: "has finished",
    JobStatus.FAILED: "has failed",
    JobStatus.CANCELED: "was cancelled",
    JobStatus.SUSPENDED: "was suspended",
}
_END: Final = object()


Order = Callable[[JobMaster], None]
"""Something to do with the job master, on the job's thread."""


class Host(Protocol):
    """What a deployment provides for the job master. All methods but `wake` run on the job's thread."""

    def start(self, results: Results, give: Callable[[Order], None]) -> JobMaster:
        """Return a new job master, after starting what it needs. May block, and may raise any error.

        `give` has the job's thread carry out an order. Any thread may call it.
        """
        ...

    def folder(self) -> JobFolder:
        """Return the folder of the job. Called after `start`."""
        ...

    def facts(self) -> dict[str, str]:
        """Return facts about the platform, for people; `page` is the URL of the platform's page.

        Called after `start`.
        """
        ...

    def turn(self) -> None:
        """Step the job master and deliver messages, then wait for work until its next deadline or a call of `wake`."""
        ...

    def wake(self) -> None:
        """End the wait of `turn`. May be called from any thread."""
        ...

    def close(self) -> None:
        """Release all processes, ports and temporary files. May block."""
        ...


@final
class Results:
    """A queue of collected records, from the job's thread to the program's thread."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._newest: dict[SubtaskId, tuple[int, int]] = {}

    def collected(self, message: Collected) -> None:
        """Add the records of a message, unless they were added before.

        A subtask sends its parts in the order of checkpoints and parts, and again after a restart.
        """
        if message.checkpoint_id is not None:
            place = (message.checkpoint_id, message.part)
            if place <= self._newest.get(message.subtask, (0, 0)):
                return
            self._newest[message.subtask] = place
        self.put(message.records)

    def put(self, records: bytes) -> None:
        """Add pickled records."""
        self._queue.put(records)

    def end(self) -> None:
        """End the iteration after the records that were added."""
        self._queue.put(_END)

    def __iter__(self) -> Iterator[Any]:
        while (records := self._queue.get()) is not _END:
            yield from pickle.loads(records)  # noqa: S301  # sent by the job's own slots
        self._queue.put(_END)


@final
class RunningJob:
    """The `JobHandle` of a streaming job. All methods may be called from any thread."""

    def __init__(self, plan: JobGraph, host: Host, endpoint: JobEndpoint | None = None) -> None:
        """`endpoint` serves the job to the command line and the page; None if it is disabled."""
        self._plan = plan
        self._host = host
        self._endpoint = endpoint
        self._results = Results()
        self._orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
        self._answers: dict[Future[str], HeadgateError] = {}
        """Open requests, each with its error if the job ends first. The outcome is added to the message."""
        self._master: JobMaster | None = None
        self._outcome: JobOutcome | None = None
        self._error: BaseException | None = None
        self._cancelled = False
        self._started = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"headgate-job-{plan.job_id[:8]}", daemon=True)

    def start(self) -> RunningJob:
        """Start the job's thread. Block until the job master runs; raise the error of its start."""
        TERMINATION.began(self)
        self._thread.start()
        try:
            self._started.wait()
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self._error is not None:
            TERMINATION.restore()
            self._thread.join()
            raise self._error
        return self

    @property
    def job_id(self) -> JobId:
        return self._plan.job_id

    @property
    def plan(self) -> JobGraph:
        """The job graph."""
        return self._plan

    @property
    def progress(self) -> JobProgress:
        """The current progress of the job."""
        placement = as_programmed(self._plan)
        return JobProgress(placement=placement) if self._master is None else self._master.progress

    def status(self) -> JobStatus:
        if self._outcome is not None:
            return self._outcome.status
        if self._over.is_set():
            return JobStatus.FAILED  # the host failed; `wait` raises its error
        if self._cancelled:
            return JobStatus.CANCELLING
        known = JobStatus.CREATED if self._master is None else self._master.status
        return JobStatus.RUNNING if known.is_terminal_state() else known  # the job still releases its resources

    def ending(self) -> JobOutcome | None:
        """Return the outcome of the job, also before its resources are released; None while it runs."""
        return None if self._master is None else self._master.outcome

    def counters(self) -> dict[str, int]:
        return self.progress.counters()

    def cancel(self) -> None:
        self._cancelled = True
        self.order(JobMaster.cancel)

    @property
    def grace_s(self) -> float:
        """Seconds that the last checkpoint of a suspended job may take."""
        return self._plan.settings.get(options.SUSPEND_GRACE) / 1000.0

    def suspend(self) -> None:
        """Suspend the job after a last checkpoint, if possible; a later driver can continue it. Does not block."""
        self.order(JobMaster.suspend)

    def farewell(self) -> str:
        """Block until the job has ended. Return its outcome as a sentence for people."""
        self._over.wait()
        return f"job {self.job_id} ended: {self._error}" if self._outcome is None else self._outcome.in_a_line()

    def order(self, order: Order) -> None:
        """Let the job's thread call `order` with the job master. Does not block."""
        self._orders.put(order)
        self._host.wake()

    def trigger_checkpoint(self) -> Future[str]:
        return self._ask(JobMaster.trigger_checkpoint, CheckpointError(f"no checkpoint for job {self.job_id}"))

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        request = SavepointRequest(target=target_directory, format=format)
        return self._savepoint(request, f"no savepoint for job {self.job_id}")

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        request = SavepointRequest(target=target_directory, format=format, stops=True, drains=drain)
        return self._savepoint(request, f"job {self.job_id} was not stopped with a savepoint")

    def _savepoint(self, request: SavepointRequest, without: str) -> Future[str]:
        return self._ask(lambda master, answer: master.take_savepoint(request, answer), CheckpointError(without))

    def rescale(self, bounds: Bounds) -> Future[str]:
        """Change the parallelism of the job. The future's result names the new parallelism. Does not block."""
        ended = RescaleError(f"job {self.job_id} was not rescaled")
        return self._ask(lambda master, answer: master.rescale(bounds, answer), ended)

    def tap(self, uid: str, see: See) -> None:
        """Call `see` with samples of an operator's output, on the job's thread, until `untap`."""
        self.order(lambda master: master.tap(uid, see))

    def untap(self, uid: str, see: See) -> None:
        """Stop the calls of `see`. Samples that were already sent may still arrive."""
        self.order(lambda master: master.untap(uid, see))

    def _ask(self, order: Callable[[JobMaster, Future[str]], None], ended: HeadgateError) -> Future[str]:
        answer = Future[str]()
        self._answers[answer] = ended
        answer.add_done_callback(self._answers.pop)
        self.order(lambda master: order(master, answer))
        if self._over.is_set():
            self._answer_rest()
        return answer

    def _answer_rest(self) -> None:
        """Answer all open requests with an error: the job's thread has ended."""
        for answer, ended in list(self._answers.items()):
            with contextlib.suppress(InvalidStateError):
                answer.set_exception(type(ended)(f"{ended}: it {self._ending()}"))

    def _ending(self) -> str:
        how = self.ending()
        if how is None:
            return f"has failed: {self._error}"
        return _ENDED[how.status] + ("" if how.cause is None else f": {how.cause}")

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        if not self._over.wait(timeout_s):
            return None
        TERMINATION.restore()
        if self._error is not None:
            raise self._error
        return self._outcome

    def line(self) -> str | None:
        shows = self._plan.settings.get(options.STATUS_LINE) and not prints(self._plan)
        return status_line(self._plan, self.status().name, self.progress, round(time.time() * 1000)) if shows else None

    def page_address(self, *, framed: bool) -> str | None:
        return None if self._endpoint is None or self._over.is_set() else self._endpoint.page_address(framed=framed)

    def results(self) -> Iterator[Any]:
        return iter(self._results)

    # --- the job's thread

    def _run(self) -> None:
        outcome: JobOutcome | None = None
        try:
            self._master = master = self._host.start(self._results, self.order)
            if self._endpoint is not None:
                self._endpoint.open(self, self._host.folder(), self._host.facts())
            self._started.set()
            master.submit()
            while (outcome := master.outcome) is None:
                while not self._orders.empty():
                    self._orders.get()(master)
                self._host.turn()
        except BaseException as error:  # noqa: BLE001  # `start` and `wait` raise it
            self._error = error
        finally:
            self._answer_rest()  # before the endpoint closes: it waits for clients to fetch answers
            self._close()
            self._outcome = outcome
            TERMINATION.ended(self)
            self._started.set()
            self._over.set()
            self._results.end()
            self._answer_rest()

    def _close(self) -> None:
        try:
            try:
                if self._endpoint is not None:
                    self._endpoint.close()
            finally:
                self._host.close()
        except Exception as error:  # noqa: BLE001  # `start` and `wait` raise it
            self._error = self._error or error
