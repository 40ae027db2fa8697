from __future__ import annotations

import contextlib
import hashlib
import select
import shutil
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.errors import ConfigError, NetworkError
from headgate.runtime.wire import CloseCause, JobSecret, NetworkConfig, TlsConfig, Wire
from tests.unit.runtime.wire.echo import echo
from tests.unit.runtime.wire.loopback import SECRET, loopback

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl command to make certificates with")
PLAIN = NetworkConfig()


def authority(folder: Path) -> TlsConfig:
    """A self-signed certificate, which is then its own authority."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    subprocess.run([*command.split(), "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return TlsConfig(cert=str(cert), key=str(key), ca=str(cert))


def impatient(config: NetworkConfig) -> NetworkConfig:
    """Tries for a short while only: a peer that hangs up is tried again, as it might be crowded."""
    return replace(config, handshake_timeout_s=3.0)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> NetworkConfig:
    return NetworkConfig(tls=authority(tmp_path_factory.mktemp("ours")))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> NetworkConfig:
    return NetworkConfig(tls=authority(tmp_path_factory.mktemp("theirs")))


def test_frames_of_all_sizes_travel_both_ways_under_tls(ours: NetworkConfig) -> None:
    with loopback(ours) as pair:
        client, server = pair.connected()
        sent = [b"x", bytes(70_000), b"", b"y" * 3_000_000, *(b"%d" % number for number in range(2_000))]
        for frame in sent:
            client.send(frame)
            server.send(frame)
        pair.drive(lambda: len(pair.server.frames) == len(pair.client.frames) == len(sent))
        assert pair.server.frames == pair.client.frames == sent


def test_what_travels_is_encrypted(ours: NetworkConfig) -> None:
    with loopback(ours) as pair:
        client, _ = pair.connected()
        assert type(client._sock).__name__ == "SSLSocket"
        assert client._sock.version() == "TLSv1.3"  # type: ignore[attr-defined]


def test_frames_sent_before_the_handshake_arrive_under_tls(ours: NetworkConfig) -> None:
    with loopback(ours) as pair:
        client = pair.connect(hello=b"early")
        client.send(b"bird")
        pair.drive(lambda: pair.server.frames)
        assert (pair.server.hellos, pair.server.frames) == ([b"early"], [b"bird"])


def test_a_busy_tls_peer_is_read_in_bounded_portions(ours: NetworkConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.runtime.wire.connection.READ_BYTES_PER_POLL", 20_000)
    with loopback(ours) as pair:
        client, _ = pair.connected()
        for _ in range(1_000):
            client.send(bytes(1_000))
        pair.server.poller.poll(1.0)
        assert 0 < len(pair.server.frames) <= 100
        pair.drive(lambda: len(pair.server.frames) == 1_000)


def test_frames_left_in_a_record_that_was_read_in_part_need_no_further_bytes_to_arrive(
    ours: NetworkConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.runtime.wire.connection.READ_BYTES_PER_POLL", 1)
    with loopback(ours) as pair:
        client = pair.connect()
        # Queued until the handshake has ended, the end of the large frame shares a record with the small one.
        client.send(*[bytes(10_000)] * 10)
        client.send(b"in the same record")
        pair.drive(lambda: len(pair.server.frames) == 2)


def test_a_peer_that_does_not_read_holds_back_what_is_sent_under_tls(ours: NetworkConfig) -> None:
    small = replace(ours, socket_buffer_bytes=1 << 16)
    with loopback(small) as pair:
        client, _ = pair.connected()
        sent = [bytes([number]) * 1_000_000 for number in range(8)]
        for frame in sent:
            client.send(frame)
        before = -1
        while client.pending_bytes != before:
            before = client.pending_bytes
            pair.client.poller.poll(0.05)
        assert before > 5_000_000
        pair.drive(lambda: len(pair.server.frames) == len(sent))
        assert pair.server.frames == sent
        assert client.pending_bytes == 0


def test_both_ends_tie_the_handshake_to_the_servers_certificate(ours: NetworkConfig) -> None:
    assert ours.tls is not None
    certificate = ssl.PEM_cert_to_DER_cert(Path(ours.tls.cert).read_text())
    with loopback(ours) as pair:
        for connection in pair.connected():
            assert connection._stream is not None
            assert connection._stream.binding() == hashlib.sha256(certificate).digest()


@pytest.mark.slow
def test_a_tls_client_at_a_plain_server_is_told_so(ours: NetworkConfig, caplog: pytest.LogCaptureFixture) -> None:
    with loopback(PLAIN, client_config=impatient(ours)) as pair:
        pair.connect()
        pair.drive(lambda: pair.client.closed and caplog.messages)
        assert pair.client.closed[0].cause is CloseCause.REFUSED
        assert "is TLS on at both ends" in str(pair.client.closed[0])
        assert "it speaks TLS and this side does not" in caplog.messages[0]


@pytest.mark.slow
def test_a_plain_client_at_a_tls_server_is_told_so(ours: NetworkConfig, caplog: pytest.LogCaptureFixture) -> None:
    with loopback(ours, client_config=impatient(PLAIN)) as pair:
        pair.connect()
        pair.drive(lambda: pair.client.closed and caplog.messages)
        assert "TLS" in str(pair.client.closed[0])
        assert "the TLS handshake failed" in caplog.messages[0]
        assert pair.server.hellos == []


@pytest.mark.parametrize("foreign_end", ["client", "server"])
def test_a_certificate_of_another_authority_is_refused(
    foreign_end: str, ours: NetworkConfig, theirs: NetworkConfig, caplog: pytest.LogCaptureFixture
) -> None:
    server, client = (ours, theirs) if foreign_end == "client" else (theirs, ours)
    with loopback(server, client_config=client) as pair:
        pair.connect()
        pair.drive(lambda: pair.client.closed and caplog.messages)
        assert pair.server.hellos == []
        assert "secret" not in caplog.messages[0]


def test_tls_does_not_stand_in_for_the_job_secret(ours: NetworkConfig, caplog: pytest.LogCaptureFixture) -> None:
    with loopback(ours, client_secret=JobSecret(b"the secret of another job")) as pair:
        pair.connect()
        pair.drive(lambda: pair.client.closed and caplog.messages)
        assert pair.client.closed[0].cause is CloseCause.REFUSED
        assert pair.server.hellos == []


def test_missing_tls_files_are_named(ours: NetworkConfig) -> None:
    assert ours.tls is not None
    with pytest.raises(ConfigError, match=r"nowhere\.pem"):
        Wire(NetworkConfig(tls=replace(ours.tls, key="nowhere.pem")), SECRET)


def test_the_blocking_connection_speaks_tls(ours: NetworkConfig) -> None:
    with echo(ours) as server:
        connection = server.wire.blocking_connect(server.address, b"blocking")
        connection.send(b"ping")
        assert connection.recv(5.0) == b"ping"
        connection.close()


def test_an_interrupted_connection_takes_no_bytes_without_tls(ours: NetworkConfig) -> None:
    with echo(ours) as server:
        connection = server.wire.blocking_connect(server.address, b"blocking")
        connection.send(b"ping")
        select.select([connection._sock], [], [], 60.0)
        connection.interrupt()
        with contextlib.suppress(NetworkError):
            assert connection.recv(5.0) == b"ping"
        assert not connection._reader.in_mid_frame
        connection.close()


@pytest.mark.slow
def test_a_blocking_tls_connection_to_a_plain_server_is_told_so(ours: NetworkConfig) -> None:
    with echo(PLAIN) as server, pytest.raises(NetworkError, match="is TLS on at both ends"):
        Wire(impatient(ours), SECRET).blocking_connect(server.address, b"")
