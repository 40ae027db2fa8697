from __future__ import annotations

import pytest

from headgate.errors import NetworkError
from headgate.runtime.wire import JobSecret, NetworkConfig, Wire
from tests.nobody import nobody
from tests.unit.runtime.wire.echo import echo


def test_frames_go_to_and_fro() -> None:
    with echo() as server:
        connection = server.wire.blocking_connect(server.address, b"blocking")
        connection.send(b"ping")
        assert connection.recv(5.0) == b"ping"
        connection.send(bytes(1_000_000))
        assert connection.recv(5.0) == bytes(1_000_000)
        connection.close()
        assert server.hellos == [b"blocking"]


def test_silence_is_none() -> None:
    with echo() as server:
        connection = server.wire.blocking_connect(server.address, b"")
        assert connection.recv(0.001) is None
        connection.close()


def test_a_peer_that_is_gone_is_an_error() -> None:
    with echo() as server:
        connection = server.wire.blocking_connect(server.address, b"")
        server.hang_up()
        with pytest.raises(NetworkError, match=str(server.address)):
            connection.recv(5.0)
        connection.close()


def test_an_interrupted_connection_raises() -> None:
    with echo() as server:
        connection = server.wire.blocking_connect(server.address, b"")
        connection.interrupt()
        with pytest.raises(NetworkError):
            connection.recv(5.0)
        connection.close()


def test_another_secret_is_refused() -> None:
    with echo() as server:
        stranger = Wire(NetworkConfig(), JobSecret(b"the secret of another job"))
        with pytest.raises(NetworkError, match="does not know this job's secret"):
            stranger.blocking_connect(server.address, b"")
        assert server.hellos == []


def test_nobody_there_is_an_error_that_names_the_address() -> None:
    with nobody() as address, pytest.raises(NetworkError, match=f"cannot connect to {address}"):
        Wire(NetworkConfig(), JobSecret.generate()).blocking_connect(address, b"")
