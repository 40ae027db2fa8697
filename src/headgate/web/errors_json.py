"""Errors as answers: a status, and a list of sentences."""

from __future__ import annotations

import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from headgate.web.json_answer import JsonAnswer

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
