"""The job's secret: what proves that a peer belongs to this job."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import final

from headgate.errors import ConfigError

SECRET_BYTES_MIN = 16
MAC_BYTES = hashlib.sha256().digest_size


@final
class JobSecret:
    """A key that all processes of one job share. Never shows in `repr`, `str` or a log line.

    It can be pickled, as it has to reach the slots: only do so into channels that strangers cannot read.

    >>> JobSecret(b"correct horse battery staple")
    JobSecret(...)
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < SECRET_BYTES_MIN:
            raise ConfigError(f"a job secret needs at least {SECRET_BYTES_MIN} bytes, this one has {len(key)}")
        self._key = key

    @staticmethod
    def generate() -> JobSecret:
        """Return a fresh secret of 32 random bytes."""
        return JobSecret(secrets.token_bytes(32))

    def reveal(self) -> bytes:
        """Return the key itself, to hand it to another process of the job."""
        return self._key

    def mac(self, *parts: bytes) -> bytes:
        """Return the HMAC-SHA256 of `parts`, each preceded by its length so that no two lists of parts read alike."""
        code = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in parts:
            code.update(len(part).to_bytes(8, "big"))
            code.update(part)
        return code.digest()

    def __repr__(self) -> str:
        return "JobSecret(...)"
