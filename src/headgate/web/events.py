"""Server-sent events: what a client is told while its request stays open."""

from __future__ import annotations

import json
from typing import Any


def event(name: str, data: Any) -> bytes:
    """Return an event with JSON as its data."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
