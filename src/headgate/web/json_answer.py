"""JSON answers, and errors as JSON answers: a status and a list of sentences.

The JSON is ASCII: texts of users may contain half of a surrogate pair, which UTF-8 cannot encode.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Final, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

PRIVATE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Headers of every answer about a job: no cache stores it, no browser treats it as a page or a script."""


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


_log = logging.getLogger(__name__)


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
