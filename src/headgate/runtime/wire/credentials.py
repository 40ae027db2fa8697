"""What proves that a peer belongs to the job: the job's secret, and a throw-away certificate for TLS.

The processes of one job show this certificate to each other, and trust no other certificate.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import final

from headgate.errors import ConfigError, EnvironmentFault

SECRET_BYTES_MIN = 16
MAC_BYTES = hashlib.sha256().digest_size


@final
class JobSecret:
    """A key that all processes of one job share. It never shows in `repr`, `str` or a log line.

    It can be pickled, to reach the slots. Pickle it only into channels that strangers cannot read.

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
        """Return the key itself, to pass it to another process of the job."""
        return self._key

    def mac(self, *parts: bytes) -> bytes:
        """Return the HMAC-SHA256 of `parts`, each preceded by its length, so that different lists of parts differ."""
        code = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in parts:
            code.update(len(part).to_bytes(8, "big"))
            code.update(part)
        return code.digest()

    def __repr__(self) -> str:
        return "JobSecret(...)"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowAwayCertificate:
    """A self-signed certificate and its private key, as PEM. Neither is ever in a file.

    The key never shows in `repr`. Both can be pickled, to reach the slots with the job's secret. Pickle them only into
    channels that strangers cannot read.
    """

    cert: str
    key: str = field(repr=False)

    @staticmethod
    def generate() -> ThrowAwayCertificate:
        """Return a new certificate for a new key. Takes about a millisecond.

        Raises EnvironmentFault without the package `cryptography`. Only drivers need it.
        """
        try:
            # Imported here because slots need not have the package `cryptography`.
            from headgate.runtime.wire.self_signed import self_signed  # noqa: PLC0415
        except ImportError as error:
            raise EnvironmentFault(
                f"the driver needs the package cryptography to protect connections between machines ({error}): "
                "install it, or set headgate.network.tls.cert, .key and .ca; or, if the network is trusted, set "
                "headgate.network.tls.enabled=false"
            ) from None
        cert, key = self_signed()
        return ThrowAwayCertificate(cert=cert, key=key)

    @property
    def der(self) -> bytes:
        """The certificate in DER form."""
        return ssl.PEM_cert_to_DER_cert(self.cert)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Make a context show the certificate, and trust no other."""
        with ExitStack() as open_files:
            cert, key = (open_files.enter_context(_readable(text)) for text in (self.cert, self.key))
            context.load_cert_chain(cert, key)
        context.load_verify_locations(cadata=self.cert)


@contextmanager
def _readable(text: str) -> Iterator[str]:
    """Yield a path from which the text can be read once. The `ssl` module loads keys only from paths.

    The text is in a pipe, which holds at least 4 kB without a reader.
    """
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "w") as pipe:
            pipe.write(text)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
