"""A path that only reads: from a request to a question, and from what answers it to JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headgate.web.json_answer import JsonAnswer
from headgate.web.question import Answer, Question
from headgate.web.requests import job_of
from headgate.web.served_jobs import ServedJobs


def reading(served: ServedJobs, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that asks `answer` about the job in the path; what it does not find is answered 404."""

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
