"""What somebody between two processes can do: under TLS nothing but hang up, without it read and add frames."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from headgate.runtime.wire import CloseCause, Connection, NetworkConfig, ThrowAwayCertificate, TlsConfig
from headgate.runtime.wire.frames import LENGTH
from tests.unit.runtime.wire.between import Between, between
from tests.unit.runtime.wire.loopback import Loopback, loopback

PLAIN = NetworkConfig()
UNDER_TLS = NetworkConfig(tls=ThrowAwayCertificate.generate())
SECRET_PHRASE = b"the balance of ann is 3,141"
ADDED = LENGTH.pack(5) + b"added"


def connected_by(pair: Loopback, somebody: Between) -> Connection:
    """Return the client's end of a connection through somebody, over which one frame has come."""
    client = pair.wires[1].connect(pair.client.poller, somebody.address, b"hello", pair.client.handlers)
    client.send(SECRET_PHRASE)
    pair.drive(lambda: pair.server.frames)
    assert pair.server.frames == [SECRET_PHRASE]
    return client


def test_who_listens_in_reads_no_frame() -> None:
    with loopback(UNDER_TLS) as pair, between(pair.listener.address) as somebody:
        connected_by(pair, somebody)
        assert len(somebody.seen) > len(SECRET_PHRASE)
        assert SECRET_PHRASE not in somebody.seen
        assert b"hello" not in somebody.seen


@pytest.mark.parametrize(
    "alter",
    [
        pytest.param(lambda data: data + ADDED, id="add"),
        pytest.param(lambda data: ADDED + data, id="add in front"),
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="change a bit"),
        pytest.param(lambda data: data[:9] + data[10:], id="leave a byte out"),
        pytest.param(lambda data: data + data, id="repeat"),
    ],
)
def test_bytes_that_somebody_changes_deliver_no_frame_and_end_the_connection(alter: Callable[[bytes], bytes]) -> None:
    with loopback(UNDER_TLS) as pair, between(pair.listener.address) as somebody:
        client = connected_by(pair, somebody)
        somebody.alter = alter
        client.send(b"second")
        client.send(bytes(100_000))
        pair.drive(lambda: pair.server.closed)
        assert pair.server.closed[0].cause is CloseCause.LOST
        assert b"added" not in pair.server.frames
        assert pair.server.frames in ([SECRET_PHRASE], [SECRET_PHRASE, b"second"])


def test_a_frame_that_somebody_injects_ends_the_connection() -> None:
    with loopback(UNDER_TLS) as pair, between(pair.listener.address) as somebody:
        connected_by(pair, somebody)
        somebody.inject(ADDED)
        pair.drive(lambda: pair.server.closed)
        assert pair.server.closed[0].cause is CloseCause.LOST
        assert pair.server.frames == [SECRET_PHRASE]


def test_without_tls_somebody_reads_frames_and_adds_some() -> None:
    """The reason why only loopback is without it; the guide says so."""
    with loopback(PLAIN) as pair, between(pair.listener.address) as somebody:
        connected_by(pair, somebody)
        assert SECRET_PHRASE in somebody.seen
        somebody.inject(ADDED)
        pair.drive(lambda: len(pair.server.frames) == 2)


@pytest.mark.slow
def test_somebody_with_a_certificate_of_its_own_is_refused() -> None:
    own = ThrowAwayCertificate.generate()
    for_client = context(ssl.PROTOCOL_TLS_SERVER, own)
    for_server = context(ssl.PROTOCOL_TLS_CLIENT, own)
    impatient = NetworkConfig(tls=UNDER_TLS.tls, handshake_timeout_s=3.0)
    with loopback(UNDER_TLS, client_config=impatient) as pair:
        with between(pair.listener.address, for_client, for_server) as somebody:
            client = pair.wires[1].connect(pair.client.poller, somebody.address, b"hello", pair.client.handlers)
            client.send(SECRET_PHRASE)
            pair.drive(lambda: pair.client.closed)
        assert pair.client.closed[0].cause is CloseCause.REFUSED
        assert "the TLS handshake failed" in pair.client.closed[0].detail
        assert (pair.server.hellos, bytes(somebody.seen)) == ([], b"")


def test_somebody_with_a_certificate_of_the_users_authority_is_refused_by_the_handshake(tmp_path: Path) -> None:
    """TLS lets the certificate pass, but the proof of the secret is bound to the certificate of the server."""
    ours, theirs = signed_by_one_authority(tmp_path)
    for_client, for_server = context(ssl.PROTOCOL_TLS_SERVER, theirs), context(ssl.PROTOCOL_TLS_CLIENT, theirs)
    with loopback(NetworkConfig(tls=ours)) as pair:
        with between(pair.listener.address, for_client, for_server) as somebody:
            client = pair.wires[1].connect(pair.client.poller, somebody.address, b"hello", pair.client.handlers)
            client.send(SECRET_PHRASE)
            pair.drive(lambda: pair.client.closed)
        assert pair.client.closed[0].cause is CloseCause.REFUSED
        assert "does not know this job's secret" in pair.client.closed[0].detail
        assert pair.server.hellos == []
        assert b"hello" not in somebody.seen


def context(protocol: int, certificate: ThrowAwayCertificate | TlsConfig) -> ssl.SSLContext:
    """The TLS of somebody who shows a certificate and accepts any."""
    made = ssl.SSLContext(protocol)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    certificate.load_into(made)
    return made


def signed_by_one_authority(folder: Path) -> tuple[TlsConfig, TlsConfig]:
    """Return two certificates, each with a key of its own, that the same authority has signed."""
    authority = ThrowAwayCertificate.generate()
    issuer = x509.load_pem_x509_certificate(authority.cert.encode())
    issuers_key = load_pem_private_key(authority.key.encode(), None)
    assert isinstance(issuers_key, ec.EllipticCurvePrivateKey)
    (folder / "ca.pem").write_text(authority.cert)
    made = []
    for name in ("ours", "theirs"):
        key = ec.generate_private_key(ec.SECP256R1())
        cert = (
            x509.CertificateBuilder()
            .issuer_name(issuer.subject)
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.datetime(2020, 1, 1))
            .not_valid_after(datetime.datetime(2100, 1, 1))
            .sign(issuers_key, SHA256())
        )
        files = TlsConfig(cert=f"{folder}/{name}.pem", key=f"{folder}/{name}-key.pem", ca=f"{folder}/ca.pem")
        Path(files.cert).write_bytes(cert.public_bytes(Encoding.PEM))
        Path(files.key).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        made.append(files)
    return made[0], made[1]
