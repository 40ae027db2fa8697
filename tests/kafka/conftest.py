"""One broker for all Kafka tests of a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import shared_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker, started at the first test that asks for it."""
    yield from shared_broker(tmp_path_factory.mktemp("broker"))
