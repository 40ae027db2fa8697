"""Pace: how much of a busy loop's time goes into snapshots that are under way."""

from __future__ import annotations

from typing import Final

WALK_SHARE: Final = 0.15
"""Share of the time that a walk takes; what records touch meanwhile is taken with them, and comes on top."""

REST_MS_MAX: Final = 50.0
"""The longest rest, however long a piece has taken: what made it long may have been something else."""


def rest_ms(took_ms: float) -> float:
    """Return how long a walk rests after a piece that took so long.

    >>> rest_ms(3.0), rest_ms(1_000.0)
    (17.0, 50.0)
    """
    return min(took_ms / WALK_SHARE - took_ms, REST_MS_MAX)
