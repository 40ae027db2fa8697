"""Connections to Kafka's transaction coordinators when no broker answers."""

from __future__ import annotations

import socket
import threading

import pytest

from headgate.connectors.kafka import coordinator
from headgate.connectors.kafka.coordinator import TransactionCoordinator
from headgate.functions.sink import RetriableCommitError


def test_a_connection_that_cannot_be_made_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_ANSWER_MS", 100)
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RetriableCommitError, match=f"{servers}: cannot be reached"):
            TransactionCoordinator({"bootstrap.servers": servers})
    for thread in set(threading.enumerate()) - before:
        thread.join(120.0)
        assert not thread.is_alive()
