"""Answers of the REST interface: JSON, errors as JSON, and server-sent events.

An error is a status and a list of sentences. A client receives events while its request stays open. The JSON is ASCII:
texts of users may contain half of a surrogate pair, which UTF-8 cannot encode.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from headgate.web.logins import IDENTITY, Identity

PRIVATE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Headers of every answer about a job: no cache stores it, no browser treats it as a page or a script."""
_log = logging.getLogger(__name__)
_TYPE = "text/event-stream"


def written(content: Any) -> bytes:
    """Return the JSON of a value. Raises ValueError for NaN and infinity, which browsers cannot parse."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


@final
class JsonAnswer(JSONResponse):
    """An answer with any JSON value."""

    def __init__(self, content: Any, status_code: int = 200) -> None:
        super().__init__(content, status_code, PRIVATE)

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return written(content)


def errors(status: int, message: str) -> Response:
    """Return an answer that reports an error."""
    return JsonAnswer({"errors": [message]}, status)


async def refused(request: Request, error: Exception) -> Response:
    """Return the answer for an HTTPException, raised by Starlette or by an endpoint."""
    assert isinstance(error, HTTPException)
    unknown = error.status_code == 404 and error.detail == "Not Found"
    return errors(error.status_code, f"there is no path {request.url.path}" if unknown else error.detail)


async def broken(request: Request, error: Exception) -> Response:
    """Return the answer for an unexpected exception, and log the exception."""
    _log.error("the REST interface could not answer %s %s", request.method, request.url.path, exc_info=error)
    return errors(500, f"{type(error).__name__}: {error}")


@final
class EventStream(StreamingResponse):
    """An answer of events. It ends with the client's session; a HEAD request gets no events.

    The context manager `during` is open while events are sent.
    """

    def __init__(
        self, request: Request, events: AsyncIterator[bytes], during: AbstractContextManager[None] | None = None
    ) -> None:
        super().__init__(_told(getattr(request.state, IDENTITY), events), media_type=_TYPE, headers=PRIVATE)
        self._during = during or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events. Enters `during` before the loop runs anything else."""
        if scope["method"] == "HEAD":
            await Response(media_type=_TYPE, headers=PRIVATE)(scope, receive, send)
            return
        with self._during:
            await super().__call__(scope, receive, send)


async def _told(who: Identity, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for each in events:
        if not who.stays():
            return
        yield each


def event(name: str, data: Any) -> bytes:
    """Return an event with JSON as its data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), written(data))
