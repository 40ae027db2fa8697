"""One broker for all Kafka tests of a run."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest

from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import shared_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker, started at the first test that asks for it."""
    yield from shared_broker(tmp_path_factory.mktemp("broker"))


@pytest.fixture(scope="module", autouse=True)
def no_socket_is_left() -> Iterator[None]:
    """Have the sockets collected that kafka-python leaves when a broker dies, before the tests of another file run."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
