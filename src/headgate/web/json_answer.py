"""Answers as JSON, and errors as answers: a status, and a list of sentences.

The JSON is ASCII: texts of users may hold half of a surrogate pair, which UTF-8 does not know.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Final, final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

PRIVATE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Headers of every answer about a job: no cache keeps it, and no browser takes it for a page or a script."""


def written(content: Any) -> bytes:
    """Return the JSON of a value. Raises ValueError for NaN and infinity, which no browser reads."""
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
    """Return the answer of a request that has none."""
    return JsonAnswer({"errors": [message]}, status)


async def refused(request: Request, error: Exception) -> Response:
    """Return what Starlette's own refusals, and those of the paths, are answered with."""
    assert isinstance(error, HTTPException)
    unknown = error.status_code == 404 and error.detail == "Not Found"
    return errors(error.status_code, f"there is no path {request.url.path}" if unknown else error.detail)


async def broken(request: Request, error: Exception) -> Response:
    """Return what a fault of ours is answered with."""
    _log.error("the REST interface could not answer %s %s", request.method, request.url.path, exc_info=error)
    return errors(500, f"{type(error).__name__}: {error}")
