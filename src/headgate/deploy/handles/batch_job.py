"""A batch job: an engine runs its stages, and the job commits their results when all stages have ended."""

from __future__ import annotations

import contextlib
import logging
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Final, Protocol, final

from headgate.batch.commit import BatchSinks
from headgate.batch.task import TaskFailedError
from headgate.deploy.handles.running_job import Results
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError, HeadgateError
from headgate.graph.job_graph import JobGraph
from headgate.ids import JobId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.runtime.monitoring.outcome import JobOutcome

_log = logging.getLogger(__name__)

StageResult = tuple[int, int, bytes]
"""Stage, task, and the pickled result of the task: committables of a sink, or collected records."""
_BEGINS_ANEW: Final = "its results are discarded; start the program again, and it begins at the beginning"
_HALF_COMMITTED: Final = (
    "\n(all stages had ended, and some results may be committed: check the targets before you run the job again)"
)


class BatchEngine(Protocol):
    """Runs the stages of one job."""

    def run(self) -> Iterator[StageResult]:
        """Run all stages. Yield the results of stages that no stage reads. Blocks.

        Raises `TaskFailedError` for errors of user code, other `HeadgateError`s for other errors.
        """
        ...

    def cancel(self) -> None:
        """Let `run` end soon, with or without an error. May be called from any thread; does not block."""
        ...

    def close(self) -> None:
        """Release all resources. Called once, after `run` has ended."""
        ...


@final
class BatchJob:
    """The `JobHandle` of a batch job. All methods may be called from any thread."""

    def __init__(self, plan: JobGraph, engine: BatchEngine) -> None:
        self._plan = plan
        self._engine = engine
        self._sinks = BatchSinks(plan)
        self._results = Results()
        self._status = JobStatus.CREATED
        self._outcome: JobOutcome | None = None
        self._cancelled = False
        self._began_s = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"headgate-job-{plan.job_id[:8]}", daemon=True)

    def start(self) -> BatchJob:
        """Start the job's thread."""
        self._status = JobStatus.RUNNING
        self._thread.start()
        return self

    @property
    def job_id(self) -> JobId:
        return self._plan.job_id

    def status(self) -> JobStatus:
        return JobStatus.CANCELLING if self._cancelled and self._outcome is None else self._status

    def counters(self) -> dict[str, int]:
        """Return an empty dict: tasks of stages report no metrics."""
        return {}

    def cancel(self) -> None:
        if self._outcome is None:  # after the end, engine and session may be closed
            self._cancelled = True
            self._engine.cancel()

    def trigger_checkpoint(self) -> Future[str]:
        return self._refused()

    def trigger_savepoint(self, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        return self._refused()

    def stop_with_savepoint(self, drain: bool, target_directory: str | None, format: SavepointFormat) -> Future[str]:
        return self._refused()

    def _refused(self) -> Future[str]:
        answer = Future[str]()
        answer.set_exception(
            CheckpointError(
                f"job {self.job_id} runs in BATCH mode, which takes no checkpoints and no savepoints: Spark runs a "
                "failed task again; for checkpoints and savepoints set the runtime mode to STREAMING"
            )
        )
        return answer

    def wait(self, timeout_s: float | None = None) -> JobOutcome | None:
        # Not Thread.join(): after an interrupted join, Python reports a running thread as ended.
        return self._outcome if self._over.wait(timeout_s) else None

    def line(self) -> None:
        """Return None: tasks of stages report no metrics."""
        return

    def page_address(self, *, framed: bool) -> None:
        """Return None: a batch job has no page."""
        return

    def results(self) -> Iterator[Any]:
        return iter(self._results)

    # --- the job's thread

    def _run(self) -> None:
        cause: str | None = None
        try:
            self._run_stages()
        except TaskFailedError as error:
            cause = str(error)
        except HeadgateError as error:
            cause = f"{type(error).__name__}: {error}"
        except BaseException as error:  # noqa: BLE001  # the outcome contains it
            cause = f"{type(error).__name__}: {error}"
            _log.debug("a batch job failed", exc_info=True)
        finally:
            self._end(cause)

    def _run_stages(self) -> None:
        self._sinks.prepare()
        collects = {
            vertex.id for vertex in self._plan.vertices if isinstance(vertex.operators[-1].factory, CollectFactory)
        }
        for stage, task, result in self._engine.run():
            if stage in collects:
                self._results.put(result)
            else:
                self._sinks.prepared(stage, task, pickle.loads(result))  # noqa: S301  # of a task of this job
        if not self._cancelled:
            self._sinks.commit()

    def _end(self, cause: str | None) -> None:
        ended = JobStatus.FINISHED if cause is None else JobStatus.FAILED
        if self._cancelled and not self._sinks.committed:
            ended = JobStatus.CANCELED
        if cause is not None and self._sinks.committed:
            cause += _HALF_COMMITTED
        with contextlib.suppress(Exception):
            self._engine.close()
        self._sinks.release(discards=ended is not JobStatus.FINISHED)
        self._outcome = JobOutcome(
            job_id=self.job_id,
            status=ended,
            cause=None if ended is JobStatus.CANCELED else cause,
            runtime_ms=(time.monotonic() - self._began_s) * 1000.0,
            way_on=_BEGINS_ANEW if ended is JobStatus.CANCELED else "",
        )
        self._status = ended
        self._results.end()
        self._over.set()
