from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.errors import ConfigError, NetworkError
from headgate.runtime.wire import JobSecret
from headgate.runtime.wire.handshake import HandshakeRefused, Proof, prove_as_client, prove_as_server
from tests.unit.runtime.wire.loopback import SECRET

CLIENT_NONCE, SERVER_NONCE = b"c" * 32, b"s" * 32
OTHER = JobSecret(b"the secret of another job")


def client_of(secret: JobSecret = SECRET, hello: bytes = b"slot 1", binding: bytes = b"") -> Proof:
    return Proof(prove_as_client(secret, CLIENT_NONCE, binding, hello))


def server_of(secret: JobSecret = SECRET, binding: bytes = b"") -> Proof:
    return Proof(prove_as_server(secret, SERVER_NONCE, binding))


def exchange(client: Proof, server: Proof, tamper: Callable[[bytes], bytes] = lambda sent: sent) -> bytes | None:
    """Carry bytes to and fro until both are done; return the hello that the server accepts."""
    to_server, to_client = b"", b""
    while client.hello is None or server.hello is None:
        to_server += tamper(client.take_outgoing())
        used, to_server = to_server[: server.missing], to_server[server.missing :]
        server.received(used)
        to_client += server.take_outgoing()
        used, to_client = to_client[: client.missing], to_client[client.missing :]
        client.received(used)
    return server.hello


def test_both_sides_end_with_the_clients_hello() -> None:
    client, server = client_of(hello=b"slot 7"), server_of()
    assert exchange(client, server) == b"slot 7"
    assert client.hello == b"slot 7"


def test_an_empty_hello_is_a_hello() -> None:
    assert exchange(client_of(hello=b""), server_of()) == b""


def test_a_client_tells_its_hello_to_no_server_without_the_secret() -> None:
    client = client_of(hello=b"confidential")
    sent: list[bytes] = []

    def listen_in(outgoing: bytes) -> bytes:
        sent.append(outgoing)
        return outgoing

    with pytest.raises(HandshakeRefused, match="does not know this job's secret"):
        exchange(client, server_of(OTHER), listen_in)
    assert b"confidential" not in b"".join(sent)


def test_a_changed_hello_is_refused() -> None:
    with pytest.raises(HandshakeRefused, match="does not know this job's secret"):
        exchange(client_of(hello=b"slot 1"), server_of(), lambda sent: sent.replace(b"slot 1", b"slot 2"))


def test_a_man_in_the_middle_who_shows_another_certificate_is_refused() -> None:
    with pytest.raises(HandshakeRefused, match="does not know this job's secret"):
        exchange(client_of(binding=b"the attacker's certificate"), server_of(binding=b"the server's certificate"))


def test_the_servers_own_proof_played_back_to_it_is_refused() -> None:
    server = server_of()
    server.received(b"hdgt\x02")
    server.received(SERVER_NONCE)
    proof = server.take_outgoing()[5 + 32 :]
    server.received(bytes(4))
    with pytest.raises(HandshakeRefused):
        server.received(proof)


def test_another_version_is_named_to_both_sides() -> None:
    with pytest.raises(HandshakeRefused, match=r"version 9 .* this side version 2; install the same headgate"):
        client_of().received(b"hdgt\x09")
    server = server_of()
    server.received(b"hdgt\x09")
    assert server.take_outgoing() == b"hdgt\x02"
    with pytest.raises(HandshakeRefused, match="version 9"):
        server.received(CLIENT_NONCE)


@pytest.mark.parametrize(
    ("start", "complaint"), [(b"GET /", "does not speak headgate's protocol"), (b"\x16\x03\x01\x02\x00", "speaks TLS")]
)
def test_other_protocols_are_recognised(start: bytes, complaint: str) -> None:
    with pytest.raises(HandshakeRefused, match=complaint):
        server_of().received(start)


def test_a_hello_above_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(NetworkError, match="hello of 65,537 bytes is too long"):
        client_of(hello=bytes(65_537))
    server = server_of()
    server.received(b"hdgt\x02")
    server.received(CLIENT_NONCE)
    with pytest.raises(HandshakeRefused, match="announced a hello of 65,537 bytes"):
        server.received((65_537).to_bytes(4, "big"))


def test_the_secret_does_not_show() -> None:
    secret = JobSecret(b"correct horse battery staple")
    assert "horse" not in f"{secret!r} {secret} {client_of(secret)!r} {[secret]}"


def test_a_short_secret_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError, match="at least 16 bytes, this one has 5") as refusal:
        JobSecret(b"hello")
    assert "hello" not in str(refusal.value)
