"""Answers as JSON, in ASCII: texts of users may hold half of a surrogate pair, which UTF-8 does not know."""

from __future__ import annotations

import json
from typing import Any, Final, final

from starlette.responses import JSONResponse

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
