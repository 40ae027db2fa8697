"""A throw-away certificate: the processes of one job show it to each other, and trust no other."""

from __future__ import annotations

import datetime
import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from headgate.errors import EnvironmentFault

# The certificate ends with the process that made it, and the clocks of machines differ.
_VALID_FROM: Final = datetime.datetime(2000, 1, 1)
_VALID_UNTIL: Final = datetime.datetime(9999, 12, 31, 23, 59, 59)


def self_signed() -> tuple[str, str]:
    """Return a certificate that has signed itself, and its new private key on the curve P-256, both as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "headgate")])
    cert = (
        x509.CertificateBuilder()
        .issuer_name(name)
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_VALID_FROM)
        .not_valid_after(_VALID_UNTIL)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return cert.public_bytes(Encoding.PEM).decode(), private.decode()


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
            from headgate.runtime.wire.throw_away import self_signed  # noqa: PLC0415
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
