"""The sinks of a batch job: at the end, the driver commits the committables of the successful tasks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

from headgate.batch.task import CHECKPOINT
from headgate.functions.sink import GlobalCommitter, RetriableCommitError, Sink, SinkContext, SinkIdentity
from headgate.graph.job_graph import JobGraph, OperatorPlan
from headgate.ids import Attempt
from headgate.operators.sink import SinkFactory
from headgate.options import COMMITTER_RETRIES

_log = logging.getLogger(__name__)

_PAUSE_S: Final = 0.2
_PAUSE_S_MAX: Final = 10.0


@final
class BatchSinks:
    """The sinks of a job. Used in the driver; all methods but `prepared` may block."""

    def __init__(self, plan: JobGraph) -> None:
        self._job_id, self._lineage = plan.job_id, plan.lineage
        self._retries = plan.settings.get(COMMITTER_RETRIES)
        self._sinks: dict[int, tuple[OperatorPlan, Sink[Any]]] = {
            vertex.id: (vertex.operators[-1], factory.sink)
            for vertex in plan.vertices
            if isinstance(factory := vertex.operators[-1].factory, SinkFactory)
        }
        self._prepared: dict[int, dict[int, list[Any]]] = {stage: {} for stage in self._sinks}
        self._together: dict[int, GlobalCommitter[Any]] = {}
        self._ready: list[int] = []
        self.committed = False
        """Whether a commit has begun: its output is visible and cannot be rolled back."""

    def prepare(self) -> None:
        """Prepare the sinks. Raises the error of `Sink.prepare`, after releasing the sinks that were prepared."""
        try:
            for stage, (operator, sink) in self._sinks.items():
                sink.prepare(self._identity(operator))
                self._ready.append(stage)
                together = sink.global_committer()
                if together is not None:
                    self._together[stage] = together
        except BaseException:
            self.release(discards=False)
            raise

    def prepared(self, stage: int, task: int, committables: list[Any]) -> None:
        """Store the committables of a task."""
        self._prepared[stage][task] = committables

    def commit(self) -> None:
        """Commit the committables of all tasks. Raises `SinkError` if a commit fails after its retries."""
        self.committed = True
        for stage, (operator, sink) in self._sinks.items():
            tasks = self._prepared[stage]
            together, everything = self._together.get(stage), self._everything(stage)
            if together is not None and everything:
                self._retried(lambda: together.commit(CHECKPOINT, everything))  # noqa: B023  # called at once
            for task, committables in sorted(tasks.items()):
                committer = sink.committer(self._context(operator, task, len(tasks)))
                committer.recover(committables)
                if committables:
                    self._retried(lambda: committer.commit(committables))  # noqa: B023  # called at once

    def _everything(self, stage: int) -> list[Any]:
        tasks = self._prepared[stage]
        return [each for task in sorted(tasks) for each in tasks[task]]

    def _context(self, operator: OperatorPlan, task: int, tasks: int) -> SinkContext:
        return SinkContext(
            job_id=self._job_id,
            lineage=self._lineage,
            uid=operator.uid,
            subtask=task,
            parallelism=tasks,
            attempt=Attempt(2**31),
        )

    def _identity(self, operator: OperatorPlan) -> SinkIdentity:
        return SinkIdentity(job_id=self._job_id, lineage=self._lineage, uid=operator.uid)

    def _retried(self, commit: Callable[[], None]) -> None:
        pause_s = _PAUSE_S
        for left in reversed(range(self._retries + 1)):
            try:
                commit()
            except RetriableCommitError:
                if not left:
                    raise
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _PAUSE_S_MAX)
            else:
                return

    def release(self, *, discards: bool) -> None:
        """Release the sinks; with `discards`, first abort the committables that will not be committed.

        An error is logged and the other sinks are still released, because leftovers do no harm.
        """
        for stage in self._ready:
            operator, sink = self._sinks[stage]
            if discards and not self.committed:
                self._logged(partial(self._abort, stage))
                self._logged(partial(sink.discard, self._identity(operator)))
            self._logged(partial(sink.release, self._identity(operator)))
        self._ready = []

    def _abort(self, stage: int) -> None:
        together, everything = self._together.get(stage), self._everything(stage)
        if together is not None and everything:
            together.abort(CHECKPOINT, everything)

    def _logged(self, end: Callable[[], None]) -> None:
        try:
            end()
        except Exception:  # noqa: BLE001  # of the user's own sink
            _log.warning("a sink of job %s could not be tidied up", self._job_id, exc_info=True)
