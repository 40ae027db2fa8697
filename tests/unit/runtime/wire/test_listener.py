from __future__ import annotations

import contextlib
import errno
import logging
import select
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate.clock import VirtualClock
from headgate.runtime.wire import CloseCause, Connection, JobSecret, NetworkConfig
from headgate.runtime.wire.handshake import NONCE_BYTES, Proof, prove_as_client
from tests.unit.runtime.wire.loopback import SECRET, Loopback, loopback

LOGGER = "headgate.runtime.wire.listener"
OTHER = JobSecret(b"the secret of another job")


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


def stranger(pair: Loopback, says: bytes = b"") -> socket.socket:
    """A connected socket that does not speak the protocol."""
    sock = socket.create_connection(pair.raw_address, timeout=300)
    sock.sendall(says)
    return sock


def test_a_peer_with_another_secret_is_refused_logged_once_and_hears_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with loopback(client_secret=OTHER) as pair:
        client = pair.connect(hello=b"let me in")
        client.send(b"payload")
        pair.drive(lambda: pair.client.closed and refusals(caplog))
        assert pair.client.closed[0].cause is CloseCause.REFUSED
        assert "does not know this job's secret" in str(pair.client.closed[0])
        assert (pair.server.hellos, pair.server.frames, pair.server.closed) == ([], [], [])
        (line,) = refusals(caplog)
        assert line.startswith(f"refused a connection to {pair.listener.address} from 127.0.0.1:")
        assert "secret of" not in caplog.text


def test_garbage_is_refused_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with loopback() as pair, stranger(pair, says=b"GET / HTTP/1.1\r\n\r\n" * 1000) as sock:
        pair.drive(lambda: refusals(caplog))
        (line,) = refusals(caplog)
        assert f"from 127.0.0.1:{sock.getsockname()[1]}: it does not speak headgate's protocol" in line
        assert pair.server.hellos == []


def test_a_forged_proof_is_refused_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with loopback() as pair, stranger(pair, says=b"hdgt\x02" + bytes(32) + bytes(4) + bytes(32)):
        pair.drive(lambda: refusals(caplog))
        assert "does not know this job's secret" in refusals(caplog)[0]
        assert pair.server.hellos == []


def test_a_client_of_another_version_is_told_ours(caplog: pytest.LogCaptureFixture) -> None:
    with loopback() as pair, stranger(pair, says=b"hdgt\x07" + bytes(32)) as sock:
        pair.drive(lambda: refusals(caplog))
        assert "version 7" in refusals(caplog)[0]
        assert sock.recv(100) == b"hdgt\x02"


def test_a_half_open_handshake_is_given_up_at_its_deadline(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    with (
        loopback(NetworkConfig(proof_timeout_s=10.0), server_clock=clock) as pair,
        stranger(pair, says=b"hd") as sock,
    ):
        sock.setblocking(False)
        for _ in range(5):
            pair.server.poller.poll(0.0)
        clock.advance(9_999)
        pair.server.poller.poll(0.0)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        clock.advance(2)
        pair.drive(lambda: refusals(caplog))
        assert "no handshake within 10 s" in refusals(caplog)[0]


def test_an_authenticated_connection_outlives_the_deadline_of_its_handshake() -> None:
    clock = VirtualClock()
    with loopback(server_clock=clock) as pair:
        client, server = pair.connected()
        clock.advance(60_000)
        pair.server.poller.poll(0.0)
        client.send(b"still here")
        pair.drive(lambda: pair.server.frames or pair.server.closed)
        assert pair.server.frames == [b"still here"]
        assert server.is_open


def test_at_the_limit_the_oldest_of_the_strangers_gives_way() -> None:
    with loopback(NetworkConfig(unproven_connections_max=2)) as pair:
        first, second = [stranger(pair) for _ in range(2)]
        for _ in range(5):
            pair.server.poller.poll(0.0)
        client = pair.connect()
        pair.drive(lambda: client.is_open)
        assert first.recv(1) == b""
        second.setblocking(False)
        with pytest.raises(BlockingIOError):
            second.recv(1)
        for sock in (first, second):
            sock.close()


@pytest.mark.slow
def test_thousands_of_strangers_keep_nobody_out_and_cost_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    with loopback(server_clock=clock) as pair, contextlib.ExitStack() as strangers:
        for number in range(3_000):
            says = (b"", b"hdgt\x02" + bytes(32), b"GET / HTTP/1.1\r\n\r\n")[number % 3]
            strangers.enter_context(stranger(pair, says))
            if number % 100 == 0:
                pair.connect(hello=b"%d" % number)
            pair.server.poller.poll(0.0)
            pair.client.poller.poll(0.0)
        pair.drive(lambda: all(connection.is_open for connection in pair.client.connections))
        assert len(pair.server.hellos) == len(pair.client.connections) == 30
        assert len(refusals(caplog)) == 1
        clock.advance(60_001)
        pair.drive(lambda: len(refusals(caplog)) == 2)
        assert "more before it)" in refusals(caplog)[1]
        clock.advance(60_001)
        pair.drive(lambda: len(refusals(caplog)) == 3)  # of those that were still waiting
        clock.advance(600_000)
        for _ in range(5):
            pair.server.poller.poll(0.0)
        assert len(refusals(caplog)) == 3


def test_a_proof_that_has_come_counts_when_its_connection_is_to_give_way() -> None:
    client = Proof(prove_as_client(SECRET, bytes(NONCE_BYTES), b"", b"in time"))
    with loopback(NetworkConfig(unproven_connections_max=1)) as pair, stranger(pair, client.take_outgoing()) as sock:
        pair.drive(lambda: select.select([sock], [], [], 0)[0])
        while not (proof := client.take_outgoing()):
            client.received(sock.recv(client.missing))
        with stranger(pair):
            sock.sendall(proof)
            pair.drive(lambda: pair.server.hellos)
        assert pair.server.hellos == [b"in time"]


def test_who_is_crowded_out_tries_again_and_its_frames_arrive_once() -> None:
    with loopback(NetworkConfig(unproven_connections_max=1)) as pair, contextlib.ExitStack() as strangers:
        client = pair.connect()
        client.send(b"one")
        client.send(b"two")
        for _ in range(50):
            strangers.enter_context(stranger(pair))
            pair.server.poller.poll(0.0)
            pair.client.poller.poll(0.0)
        pair.drive(lambda: len(pair.server.frames) >= 2)
        client.send(b"three")
        pair.drive(lambda: len(pair.server.frames) >= 3)
        assert pair.server.frames == [b"one", b"two", b"three"]
        assert pair.client.closed == []


def test_a_thread_that_is_crowded_out_tries_again() -> None:
    with loopback(NetworkConfig(unproven_connections_max=1)) as pair, contextlib.ExitStack() as strangers:
        with ThreadPoolExecutor(1) as pool:
            dialled = pool.submit(pair.wires[1].blocking_connect, pair.listener.address, b"beats")
            for _ in range(50):
                strangers.enter_context(stranger(pair))
                pair.server.poller.poll(0.0)
            pair.drive(dialled.done)
            dialled.result().close()
        assert pair.server.hellos == [b"beats"]


def test_proven_connections_do_not_count_against_the_limit() -> None:
    with loopback(NetworkConfig(unproven_connections_max=1)) as pair:
        for _ in range(3):
            pair.connected()
        assert all(connection.is_open for connection in pair.server.connections)


def test_an_authenticated_peer_may_still_be_turned_away(caplog: pytest.LogCaptureFixture) -> None:
    with loopback() as pair:

        def nobody_today(_connection: Connection, _hello: bytes) -> None:
            return None

        listener = pair.wires[0].listen(pair.server.poller, nobody_today)
        pair.wires[1].connect(pair.client.poller, listener.address, b"", pair.client.handlers)
        pair.drive(lambda: pair.client.closed)
        assert pair.client.closed[0].cause is CloseCause.CLOSED_BY_PEER
        assert refusals(caplog) == []
        listener.close()


def test_a_closed_listener_accepts_nobody_and_keeps_its_connections() -> None:
    with loopback() as pair:
        client, server = pair.connected()
        pair.listener.close()
        late = pair.connect()
        pair.drive(lambda: pair.client.closed)
        assert late.is_closed
        client.send(b"still here")
        pair.drive(lambda: pair.server.frames)
        assert server.is_open


def test_running_out_of_file_descriptors_is_logged_and_passes(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    with loopback(server_clock=clock) as pair:
        pair.listener._skip(OSError(errno.EMFILE, "Too many open files"))
        client = pair.connect()
        for _ in range(20):
            pair.server.poller.poll(0.0)
            pair.client.poller.poll(0.0)
        assert not client.is_open
        clock.advance(1_001)
        pair.drive(lambda: client.is_open)
        assert "Too many open files" in refusals(caplog)[0]


@pytest.fixture(autouse=True)
def _log_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger=LOGGER)
