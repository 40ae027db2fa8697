"""The broker that the Kafka tests of a run share."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from headgate.testing.servers.kafka import KafkaBroker
from headgate.testing.servers.kafka_download import missing_programs

_NUMBERS: Final = itertools.count()


def need_brokers() -> None:
    """Install Maven where that can be done; else skip the test with what to install."""
    if missing_programs() is not None and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "maven"], check=True)
    missing = missing_programs()
    if missing is not None:
        pytest.skip(missing)


def shared_broker(folder: Path) -> Iterator[KafkaBroker]:
    """Yield a broker, or skip the test where none can be had."""
    need_brokers()
    with KafkaBroker(folder / "kafka") as broker:
        yield broker


def new_topic(broker: KafkaBroker, partitions: int = 1) -> str:
    """Return the name of an empty topic that nobody else uses."""
    topic = f"topic-{next(_NUMBERS)}"
    broker.create_topic(topic, partitions)
    return topic


def texts(broker: KafkaBroker, topic: str) -> list[str]:
    """Return the values that a read-committed consumer sees, partition after partition."""
    return [message.value().decode() for message in broker.read_committed(topic)]
