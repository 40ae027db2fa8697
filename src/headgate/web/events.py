"""Server-sent events: what a client is told while its request stays open."""

from __future__ import annotations

from typing import Any

from headgate.web.json_answer import written


def event(name: str, data: Any) -> bytes:
    """Return an event with JSON as its data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), written(data))
