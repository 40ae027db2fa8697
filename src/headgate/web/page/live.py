"""Server-sent events for open pages: each overview is made once for all pages that show the same job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, final

from starlette.requests import Request

from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.answers import EventStream, event
from headgate.web.page.findings import Seen, findings
from headgate.web.page.history import Histories
from headgate.web.page.overview_json import overview
from headgate.web.question import Question, ServedJob
from headgate.web.requests import ServedJobs

EVERY_S: Final = 1.0
_LOOK_S: Final = 0.1
"""Seconds between checks whether the job has ended."""


@final
class LiveOverviews:
    """Overviews of the jobs of a server, each made at most once in `EVERY_S`. Owned by the server's loop."""

    def __init__(self, served: ServedJobs, histories: Histories) -> None:
        self._served = served
        self._histories = histories
        self._made: dict[str, tuple[float, bytes]] = {}

    def now(self, asked: Question) -> Json:
        """Return the overview of a job, with its findings."""
        return self._seen(asked.job, asked.now_ms)

    def _seen(self, job: ServedJob, now_ms: int) -> Json:
        stands_out = findings(Seen(job, self._histories.of(job), now_ms))
        return overview(job, now_ms) | {"findings": stands_out}

    def stream(self, job: ServedJob, request: Request) -> EventStream:
        """Return the events of a job: `overview` about once a second, `ended` when the job ends."""
        return EventStream(request, self._events(job))

    async def _events(self, job: ServedJob) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        while self._is_served(job):
            yield self._newest(job, loop.time())
            due_s = loop.time() + EVERY_S
            while loop.time() < due_s and self._is_served(job):
                await asyncio.sleep(_LOOK_S)
        ending = job.view.ending()
        yield event("ended", {} if ending is None else {"state": ending.status.name, "cause": ending.cause})

    def _is_served(self, job: ServedJob) -> bool:
        return self._served.by_id.get(job.view.job_id) is job

    def _newest(self, job: ServedJob, now_s: float) -> bytes:
        made_s, found = self._made.get(job.view.job_id, (-EVERY_S, b""))
        if now_s - made_s >= EVERY_S * 0.9:
            found = event("overview", self._seen(job, self._served.clock.wall_ms()))
            others = {id_: made for id_, made in self._made.items() if id_ in self._served.by_id}
            self._made = others | {job.view.job_id: (now_s, found)}
        return found
