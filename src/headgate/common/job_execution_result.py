"""The result of a finished job: its id, its run time and its counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from headgate import unsupported
from headgate.common.job_id import JobID

if TYPE_CHECKING:
    from headgate.runtime.monitoring.outcome import JobOutcome

__all__ = ["JobExecutionResult"]


@final
class JobExecutionResult:
    """The result of a job that finished."""

    def __init__(self, outcome: JobOutcome) -> None:
        self._outcome = outcome

    def get_job_id(self) -> JobID:
        """Return the job's id."""
        return JobID(self._outcome.job_id)

    def get_net_runtime(self) -> int:
        """Return how long the job ran, in milliseconds."""
        return round(self._outcome.runtime_ms)

    def get_accumulator_result(self, accumulator_name: str) -> int | None:
        """Return a counter of the job's last attempt, for instance `skipped_lines`; None if it does not exist."""
        return self._outcome.counters.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, int]:
        """Return all counters of the job's last attempt: counters of sources, and counter metrics of functions.

        Counters with the same name are added up. The names of a metric's groups precede its name: `parsing.bad`.
        """
        return dict(self._outcome.counters)

    def __str__(self) -> str:
        return (
            f"Program execution finished\nJob with JobID {self._outcome.job_id} has finished.\n"
            f"Job Runtime: {self.get_net_runtime()} ms\n"
        )

    def __repr__(self) -> str:
        return f"JobExecutionResult(job {self._outcome.job_id}, {self.get_net_runtime()} ms)"


unsupported.guard(__name__, globals())
