"""The servers that programs of the pages need: each a fixture that gives the environment variables to reach it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import pytest

from headgate.dataframe import set_table_environment
from headgate.testing.servers.kafka import KafkaBroker
from headgate.testing.servers.postgres import PostgresServer
from tests.kafka.broker import shared_broker
from tests.postgres.server import postgres_server
from tests.unit.connectors.formats.registry import running_registry

__all__ = ["postgres_server"]

_NUMBERS: Final = itertools.count()


@pytest.fixture(autouse=True)
def _session_of_dataframes() -> Iterator[None]:
    """Each program has its own session of DataFrames."""
    yield
    set_table_environment(None)


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> dict[str, str]:
    """A PostgreSQL with an empty database."""
    return {"DATABASE_URL": postgres_server.create_database(f"shop{next(_NUMBERS)}")}


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker for all programs."""
    yield from shared_broker(tmp_path_factory.mktemp("broker"))


@pytest.fixture
def kafka(kafka_broker: KafkaBroker) -> dict[str, str]:
    """A broker with the topics that the programs use."""
    for topic in {"orders", "totals", "clicks", "texts", "prices", "goods", "expensive"} - kafka_broker.topics():
        kafka_broker.create_topic(topic)
    return {"KAFKA": kafka_broker.bootstrap}


@pytest.fixture
def registry(kafka: dict[str, str]) -> Iterator[dict[str, str]]:
    """A broker, and a schema registry."""
    with running_registry() as running:
        yield {**kafka, "REGISTRY": running.url}
