"""A throw-away certificate: the processes of one job show it to each other, and trust no other."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import final

from headgate.errors import EnvironmentFault


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowAwayCertificate:
    """A self-signed certificate and its private key, as PEM. Neither is ever in a file.

    The key shows in no `repr`. Both can be pickled, as they have to reach the slots with the job's secret: only do so
    into channels that strangers cannot read.
    """

    cert: str
    key: str = field(repr=False)

    @staticmethod
    def generate() -> ThrowAwayCertificate:
        """Return a new certificate for a new key. Takes about a millisecond.

        Raises EnvironmentFault without the package `cryptography`. Only drivers need it.
        """
        try:
            # Here, as slots need not have the package `cryptography`.
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
        """Have a context show the certificate, and trust no other."""
        with ExitStack() as open_files:
            cert, key = (open_files.enter_context(_readable(text)) for text in (self.cert, self.key))
            context.load_cert_chain(cert, key)
        context.load_verify_locations(cadata=self.cert)


@contextmanager
def _readable(text: str) -> Iterator[str]:
    """Yield a path from which the text can be read once. The `ssl` module loads keys from paths only.

    The text is in a pipe, which takes 4 kB at least without a reader.
    """
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "w") as pipe:
            pipe.write(text)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
