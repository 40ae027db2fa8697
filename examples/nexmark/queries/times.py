"""Times in milliseconds as texts, in UTC."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def day(time_ms: int) -> str:
    """Return the date: 2015-07-15."""
    return _text(time_ms // DAY * DAY, "%Y-%m-%d")


def minute(time_ms: int) -> str:
    """Return hour and minute: 09:30."""
    return _text(time_ms % DAY // MINUTE * MINUTE, "%H:%M")


@lru_cache
def _text(time_ms: int, form: str) -> str:
    return dt.datetime.fromtimestamp(time_ms / 1000, dt.UTC).strftime(form)
