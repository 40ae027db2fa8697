"""Answers as JSON, in ASCII: texts of users may hold half of a surrogate pair, which UTF-8 does not know."""

from __future__ import annotations

import json
from typing import Any, final

from starlette.responses import JSONResponse


def written(content: Any) -> bytes:
    """Return the JSON of a value. Raises ValueError for NaN and infinity, which no browser reads."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


@final
class JsonAnswer(JSONResponse):
    """An answer with any JSON value."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return written(content)
