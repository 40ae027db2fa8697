"""The jobs of a server: what its paths answer from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from headgate.clock import SystemClock
from headgate.ids import JobId
from headgate.web.job_view import JobView
from headgate.web.operations import Operations
from headgate.web.question import ServedJob


@final
class ServedJobs:
    """The jobs that were added, and the orders to them. `by_id` is read by the serving thread, so it is replaced."""

    def __init__(self) -> None:
        self.by_id: dict[JobId, ServedJob] = {}
        self.operations: Final = Operations()
        self.clock: Final = SystemClock()

    def add(self, view: JobView, folder: str | None, facts: Mapping[str, str]) -> ServedJob:
        """Answer for a job, whose checkpoints are in `folder`, or in the memory of the driver; it runs on `facts`."""
        job = ServedJob(view, self.clock.wall_ms(), folder, facts)
        self.by_id = {**self.by_id, view.job_id: job}
        return job

    def remove(self, job_id: JobId) -> None:
        """Forget a job that has ended."""
        self.by_id = {id_: job for id_, job in self.by_id.items() if id_ != job_id}
