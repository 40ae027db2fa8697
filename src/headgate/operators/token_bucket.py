"""Token bucket: when calls of a service may begin, so that there are not too many of them in a second."""

from __future__ import annotations

from typing import Final, final

_EARLY_S: Final = 1e-6
"""By how much a call may be early, as times are rounded."""


@final
class TokenBucket:
    """Allows `per_second` calls each second on average, and those of a second at once; None: any number of them.

    It is kept as the time at which the bucket will be full again.

    >>> bucket = TokenBucket(2.0)
    >>> [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0), bucket.take(0.5)]
    [0.0, 0.0, 0.5, 0.0]
    """

    def __init__(self, per_second: float | None) -> None:
        self._interval_s = 0.0 if per_second is None else 1.0 / per_second
        self._slack_s = max(0.0, 1.0 - self._interval_s)
        self._full_s = 0.0
        self._paused_until_s = 0.0

    def take(self, now_s: float) -> float:
        """Take a token and return 0.0; if there is none, return in how many seconds there will be one."""
        wait_s = max(self._full_s - self._slack_s, self._paused_until_s) - now_s
        if wait_s > _EARLY_S:
            return wait_s
        self._full_s = max(self._full_s, now_s) + self._interval_s
        return 0.0

    def pause(self, until_s: float) -> None:
        """Give no token before this time."""
        self._paused_until_s = max(self._paused_until_s, until_s)
