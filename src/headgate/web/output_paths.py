"""The path for the live output of an operator: samples of its records, as server-sent events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Final, final
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from headgate import options
from headgate.operators.samples import Sample
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.answers import EventStream, event
from headgate.web.question import ServedJob
from headgate.web.requests import ServedJobs, job_of, of_records

TAPS_MAX: Final = 4
"""The largest number of live outputs that may be open at a time."""
STREAM_S_MAX: Final = 600.0
SAMPLES_MAX: Final = 400
"""The largest number of samples that wait for a client; the oldest samples are dropped first."""
_LOOK_S: Final = 0.25
SIGN_OF_LIFE_S: Final = 5.0
_SIGN_OF_LIFE: Final = b":\n\n"


@final
class OutputPaths:
    """The endpoint of the path. It runs on the server's loop, so nothing may block."""

    def __init__(self, served: ServedJobs) -> None:
        self._served = served
        self._open = 0

    def routes(self) -> list[BaseRoute]:
        """Return the route with its endpoint."""
        return [Route("/jobs/{job}/output/{uid:path}", of_records(self._output))]

    async def _output(self, request: Request) -> Response:
        job = job_of(self._served, request)
        uid = unquote(request.scope["raw_path"].decode("latin-1").rpartition("/")[2])
        if not job.view.plan.settings.get(options.WEB_LIVE_OUTPUT):
            raise HTTPException(
                403, f"live output is off: start the job with {options.WEB_LIVE_OUTPUT.key}=true to look at its records"
            )
        uids = [operator.uid for vertex in job.view.plan.vertices for operator in vertex.operators]
        if uid not in uids:
            raise HTTPException(404, f"job {job.view.job_id} has no operator of uid {uid!r}; it has: {', '.join(uids)}")
        if self._open >= TAPS_MAX:
            raise HTTPException(503, f"{TAPS_MAX} live outputs are already open: close one of them")
        waiting: deque[Sample] = deque(maxlen=SAMPLES_MAX)
        return EventStream(request, self._events(job, waiting), during=self._tapped(job, uid, waiting))

    @contextmanager
    def _tapped(self, job: ServedJob, uid: str, waiting: deque[Sample]) -> Iterator[None]:
        see = waiting.extend
        self._open += 1
        job.view.tap(uid, see)
        try:
            yield
        finally:
            self._open -= 1
            job.view.untap(uid, see)

    async def _events(self, job: ServedJob, waiting: deque[Sample]) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        told_s = loop.time()
        ends_s = told_s + STREAM_S_MAX
        yield _SIGN_OF_LIFE
        while loop.time() < ends_s and self._served.by_id.get(job.view.job_id) is job:
            await asyncio.sleep(_LOOK_S)
            if waiting:
                yield event("records", [_sample(waiting.popleft()) for _ in range(len(waiting))])
                told_s = loop.time()
            elif loop.time() - told_s >= SIGN_OF_LIFE_S:
                yield _SIGN_OF_LIFE
                told_s = loop.time()
        yield event("ended", {"minutes": STREAM_S_MAX / 60 if loop.time() >= ends_s else None})


def _sample(sample: Sample) -> Json:
    return {
        "subtask": sample.subtask,
        "at": sample.wall_ms,
        "timestamp": sample.timestamp_ms,
        "key": sample.key,
        "value": sample.value,
    }
