"""Reads requests: the job in the path, the fields of a JSON body, and endpoints that answer a GET.

A wrong request raises HTTPException with the status of the answer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from headgate.clock import SystemClock
from headgate.elements import SavepointFormat
from headgate.ids import JobId
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.answers import JsonAnswer
from headgate.web.job_view import JobView
from headgate.web.logins import IDENTITY, Identity, Rights
from headgate.web.operations import Operations
from headgate.web.question import Answer, Question, ServedJob


@final
class ServedJobs:
    """The jobs of a server and their operations. `by_id` is replaced, never changed: the serving thread reads it."""

    def __init__(self) -> None:
        self.by_id: dict[JobId, ServedJob] = {}
        self.operations: Final = Operations()
        self.clock: Final = SystemClock()

    def add(self, view: JobView, folder: str | None, facts: Mapping[str, str]) -> ServedJob:
        """Serve a job. `folder` has its checkpoints, None if they are in the driver's memory.

        `facts` describe the platform on which the job runs.
        """
        job = ServedJob(view, self.clock.wall_ms(), folder, facts)
        self.by_id = {**self.by_id, view.job_id: job}
        return job

    def remove(self, job_id: JobId) -> None:
        """Stop serving a job that has ended."""
        self.by_id = {id_: job for id_, job in self.by_id.items() if id_ != job_id}


Endpoint = Callable[[Request], Awaitable[Response]]

BODY_BYTES_MAX: Final = 64 * 1024
BODY_S_MAX: Final = 10.0
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def job_of(served: ServedJobs, request: Request) -> ServedJob:
    """Return the job that the path names. Raises HTTPException if this driver does not run it."""
    wanted = request.path_params["job"]
    found = served.by_id.get(JobId(wanted))
    if found is None:
        raise HTTPException(404, f"this driver runs no job {wanted}: it has ended, or another driver runs it")
    return found


def of_records(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that refuses sessions that may only read, for paths that show the job's data."""

    async def guarded(request: Request) -> Response:
        who: Identity = getattr(request.state, IDENTITY)
        if who.rights is not Rights.ACT:
            raise HTTPException(
                403,
                "this session may only read: records, state and logs are shown only in sessions that may give orders, "
                "which begin with a link that `headgate ui` makes",
            )
        return await endpoint(request)

    return guarded


async def body_of(request: Request) -> Json:
    """Return the JSON object in the body; an empty object if there is no body. Raises HTTPException."""
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_S_MAX):
            async for chunk in request.stream():
                data += chunk
                if len(data) > BODY_BYTES_MAX:
                    raise HTTPException(413, f"the request has more than {BODY_BYTES_MAX} bytes")
    except TimeoutError:
        raise HTTPException(408, f"the request did not arrive within {BODY_S_MAX:g} s") from None
    except ClientDisconnect:
        raise HTTPException(400, "the request ended before its body was complete") from None
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):  # too many nested brackets
        found = None
    if not isinstance(found, dict):
        raise HTTPException(400, "the request is not a JSON object")
    return found


def text_of(body: Json, name: str) -> str | None:
    """Return a text field; None if it is missing or empty. Raises HTTPException for any other value."""
    value = body.get(name)
    if not (value is None or isinstance(value, str)):
        raise HTTPException(400, f"{name} is {value!r}, but must be text")
    if value is not None and _LONE_SURROGATE.search(value):
        raise HTTPException(400, f"{name} is {value!r}, which is not Unicode text")
    return value or None


def flag_of(body: Json, name: str) -> bool:
    """Return a boolean field; False if it is missing. Raises HTTPException for any other value."""
    value = body.get(name)
    if not (value is None or isinstance(value, bool)):
        raise HTTPException(400, f"{name} is {value!r}, but must be true or false")
    return bool(value)


def format_of(body: Json) -> SavepointFormat:
    """Return the savepoint format that a request asks for. Raises HTTPException for an unknown format."""
    word = text_of(body, "formatType") or SavepointFormat.CANONICAL.name
    if word.upper() not in SavepointFormat.__members__:
        raise HTTPException(400, f"formatType is {word!r}, but must be one of {', '.join(SavepointFormat.__members__)}")
    return SavepointFormat[word.upper()]


def reading(served: ServedJobs, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that calls `answer` for the job in the path; a LookupError becomes status 404."""

    async def read(request: Request) -> Response:
        asked = Question(
            job=job_of(served, request),
            now_ms=served.clock.wall_ms(),
            path=request.path_params,
            query=dict(request.query_params),
        )
        try:
            return JsonAnswer(answer(asked))
        except LookupError as error:
            raise HTTPException(404, str(error.args[0])) from None

    return read
