"""The history of each job's figures, for curves. Sampling does not depend on an open page, so a page shows the past.

The history covers half an hour, with a sample every few seconds. A sample of a job with a thousand subtasks takes some
milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from typing import Final, final

from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.page.overview_json import overview
from headgate.web.question import ServedJob
from headgate.web.requests import ServedJobs

_log = logging.getLogger(__name__)

EVERY_S: Final = 3.0
KEPT: Final = 600
COLUMNS: Final = ("in", "out", "busy", "backPressured", "watermark", "watermarkLag", "stateBytes")
"""The figures kept for each vertex, named as in the overview. Of shares of time, the maximum over the subtasks."""


@final
class JobHistory:
    """The latest samples of one job. Samples from before a rescale or a restart are kept."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, list[tuple[float | None, ...]]]] = deque(maxlen=KEPT)

    def add(self, seen: Json) -> None:
        """Add a sample: the figures of an overview."""
        vertices = [tuple(_figure(vertex[name]) for name in COLUMNS) for vertex in seen["vertices"]]
        self._samples.append((seen["now"], vertices))

    def series(self, vertex: int, name: str) -> Iterator[tuple[int, float | None]]:
        """Return the samples of a vertex's figure with their wall-clock times, newest first."""
        column = COLUMNS.index(name)
        return ((at_ms, vertices[vertex][column]) for at_ms, vertices in reversed(self._samples))

    def curves(self, vertex: int) -> Json:
        """Return the samples of all figures of a vertex as columns, oldest first."""
        rows = [(at_ms, *vertices[vertex]) for at_ms, vertices in self._samples]
        return {name: [row[place] for row in rows] for place, name in enumerate(("at", *COLUMNS))}


def _figure(value: float | Json | None) -> float | None:
    return value["max"] if isinstance(value, dict) else value


@final
class Histories:
    """The histories of the jobs of a server. Owned by the server's loop."""

    def __init__(self, served: ServedJobs) -> None:
        self._served = served
        self._kept: dict[str, JobHistory] = {}

    def of(self, job: ServedJob) -> JobHistory:
        """Return the history of a job, which is empty at first."""
        return self._kept.setdefault(job.view.job_id, JobHistory())

    async def keep(self) -> None:
        """Sample all jobs until cancelled."""
        while True:
            self.sample()
            await asyncio.sleep(EVERY_S)

    def sample(self) -> None:
        """Sample all jobs, and delete the histories of jobs that have ended."""
        jobs = self._served.by_id
        self._kept = {id_: history for id_, history in self._kept.items() if id_ in jobs}
        for job in jobs.values():
            try:
                self.of(job).add(overview(job, self._served.clock.wall_ms()))
            except Exception as error:  # noqa: BLE001  # the other jobs, and later samples, do not depend on it
                _log.warning("the curves of job %s have a gap: %s: %s", job.view.job_id, type(error).__name__, error)
