"""Connections to Kafka's transaction coordinators when no broker answers."""

from __future__ import annotations

import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import TransactionalIdNotFoundError

from headgate.connectors.kafka import transaction_coordinator
from headgate.connectors.kafka.transaction_coordinator import TransactionCoordinator, TransactionState
from headgate.functions.sink import RetriableCommitError


def test_a_connection_that_cannot_be_made_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_coordinator, "_ANSWER_MS", 100)
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RetriableCommitError, match=f"{servers}: cannot be reached"):
            TransactionCoordinator({"bootstrap.servers": servers})
    for thread in set(threading.enumerate()) - before:
        thread.join(120.0)
        assert not thread.is_alive()


class Client:
    """A client whose first coordinators do not know an id, or are ending its transaction."""

    unknowing = 0
    ending = 0

    def __init__(self, **_: Any) -> None: ...

    def describe_transactions(self, names: list[str]) -> dict[str, Any]:
        if Client.unknowing:
            Client.unknowing -= 1
            raise TransactionalIdNotFoundError
        state = "CompleteCommit"
        if Client.ending:
            Client.ending, state = Client.ending - 1, "PrepareCommit"
        found = SimpleNamespace(state=SimpleNamespace(value=state), producer_id=7, producer_epoch=1)
        return dict.fromkeys(names, found)

    def close(self) -> None: ...


@pytest.mark.parametrize(("unknowing", "fate"), [(3, TransactionState.COMMITTED), (10**9, TransactionState.UNKNOWN)])
def test_an_id_is_unknown_only_if_coordinators_go_on_saying_so(
    unknowing: int, fate: TransactionState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "_Client", Client)
    monkeypatch.setattr(transaction_coordinator, "_ANSWER_MS", 500)
    monkeypatch.setattr(transaction_coordinator, "_AGAIN_S", 0.01)
    monkeypatch.setattr(Client, "unknowing", unknowing)
    with TransactionCoordinator({"bootstrap.servers": "broker:9092"}) as asked:
        assert asked.describe("id").state is fate


def test_a_transaction_is_committed_only_when_the_brokers_have_ended_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_coordinator, "_Client", Client)
    monkeypatch.setattr(transaction_coordinator, "_ANSWER_MS", 500)
    monkeypatch.setattr(transaction_coordinator, "_AGAIN_S", 0.01)
    with TransactionCoordinator({"bootstrap.servers": "broker:9092"}) as asked:
        monkeypatch.setattr(Client, "ending", 3)
        assert asked.describe("id").state is TransactionState.COMMITTED
        monkeypatch.setattr(Client, "ending", 10**9)
        with pytest.raises(RetriableCommitError, match=r"'id'.*PrepareCommit"):
            asked.describe("id")
