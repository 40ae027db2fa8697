"""Makes a self-signed certificate, with the package `cryptography`."""

from __future__ import annotations

import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

# No expiry is needed: the certificate lives as long as its process, and the clocks of machines may differ.
_VALID_FROM: Final = datetime.datetime(2000, 1, 1)
_VALID_UNTIL: Final = datetime.datetime(9999, 12, 31, 23, 59, 59)


def self_signed() -> tuple[str, str]:
    """Return a self-signed certificate, and its new private key on the curve P-256, both as PEM."""
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
