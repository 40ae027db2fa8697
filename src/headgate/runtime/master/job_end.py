"""The end of a job: stores its result, and only then sets its outcome."""

from __future__ import annotations

import logging
from typing import final

from headgate.graph.job_graph import JobGraph
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.location import (
    advice_after_cancellation,
    advice_after_failure,
    advice_after_suspension,
)
from headgate.runtime.master.checkpoints import Checkpoints
from headgate.runtime.master.services import MasterServices
from headgate.runtime.monitoring.outcome import JobOutcome
from headgate.runtime.monitoring.progress import JobProgress

_log = logging.getLogger(__name__)


@final
class JobEnd:
    """The end of one job. Owned by the job master's loop."""

    def __init__(
        self, plan: JobGraph, services: MasterServices, progress: JobProgress, checkpoints: Checkpoints
    ) -> None:
        self.outcome: JobOutcome | None = None
        self.is_under_way = False
        self.submitted_ms = 0.0
        """When the job was submitted, on the monotonic clock."""
        self.fatal: str | None = None
        """A failure that overrides the status that the supervisor orders; None for no such failure."""
        self._plan = plan
        self._services = services
        self._storage = services.storage
        self._progress = progress
        self._checkpoints = checkpoints

    def refuse(self, cause: str) -> None:
        """End a job that could not begin. Does not change files of earlier drivers."""
        self.is_under_way = True
        outcome = self._outcome_of(JobStatus.FAILED, cause)

        def done(result: object) -> None:
            self.outcome = outcome

        self._storage.release(done)

    def begin(self, status: JobStatus, cause: str | None) -> None:
        """Store the result, if the status has one, and clean up; then set the outcome. Does not block."""
        self.is_under_way = True
        if self.fatal is not None:
            status, cause = JobStatus.FAILED, self.fatal
        way_on = self._way_on(status, cause)
        if status is JobStatus.SUSPENDED:
            cause = way_on if cause is None else f"{cause}; {way_on}"
        elif cause is not None and way_on:
            cause = f"{cause}\n{way_on}"
        outcome = self._outcome_of(status, cause, way_on)

        def done(result: object) -> None:
            if isinstance(result, BaseException):
                _log.warning("job %s ended, but its clean-up failed: %s", self._plan.job_id, result)
            self.outcome = outcome
            self._checkpoints.job_ended(finished=status is JobStatus.FINISHED, cause=cause)

        self._storage.finish(self._plan, outcome, done)

    def _way_on(self, status: JobStatus, cause: str | None) -> str:
        """Return where the job can be continued, or why it cannot; empty if there is no advice."""
        known = self._checkpoints.latest
        newest = None if known is None else self._storage.locate(known)
        match status:
            case JobStatus.SUSPENDED:
                return advice_after_suspension(self._plan, newest)
            case JobStatus.FAILED if cause is not None:
                return advice_after_failure(self._plan, newest, is_over=self._storage.has_completed)
            case JobStatus.CANCELED:
                return advice_after_cancellation(self._plan, newest)
            case _:
                return ""

    def _outcome_of(self, status: JobStatus, cause: str | None, way_on: str = "") -> JobOutcome:
        return JobOutcome(
            job_id=self._plan.job_id,
            status=status,
            cause=cause,
            runtime_ms=self._services.clock.monotonic_ms() - self.submitted_ms,
            counters=self._progress.counters(),
            way_on=way_on,
        )
