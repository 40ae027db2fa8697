"""A client that stops giving messages of a partition is replaced, and one that has given all is not."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Final

import pytest
from confluent_kafka import Producer, TopicPartition

from headgate.common import SimpleStringSchema
from headgate.connectors.kafka import stalls
from headgate.connectors.kafka.deserialization import BrokenMessages, RecordDecoding, ValueDeserialization
from headgate.connectors.kafka.fetcher import KafkaFetcher, KafkaSplit
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic

pytestmark = pytest.mark.slow

DEADLINE_S: Final = 120.0


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look soon; later than brokers take to say that there is no more, which is half a second."""
    monkeypatch.setattr(stalls, "STALL_S", 1.5)
    monkeypatch.setattr(stalls, "FETCHES_MIN", 2)


@pytest.fixture
def fetcher(broker: KafkaBroker) -> Iterator[KafkaFetcher]:
    properties = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": "stalls",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
    }
    decoding = RecordDecoding(ValueDeserialization(SimpleStringSchema()), BrokenMessages.FAIL)
    fetcher = KafkaFetcher(properties, decoding, lambda name, count: None, commits=False)
    yield fetcher
    fetcher.close()


def texts(fetcher: KafkaFetcher, count: int) -> list[str]:
    """Fetch until there are so many."""
    found: list[str] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {found} came"
        found += [text for fetched in fetcher.fetch() for text in fetched.records]
    return found


def nothing_more(fetcher: KafkaFetcher) -> bool:
    """Fetch for as long as several looks take."""
    return not any(fetched.records for _ in range(60) for fetched in fetcher.fetch())


def test_reading_goes_on_where_a_client_has_stopped(
    broker: KafkaBroker, fetcher: KafkaFetcher, caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_topic(broker, 2)
    broker.write(topic, [b"a", b"b"], partition=0)
    fetcher.add_splits([KafkaSplit(topic=topic, partition=number, offset=0) for number in range(2)])
    assert texts(fetcher, 2) == ["a", "b"]
    fetcher._connected().pause([TopicPartition(topic, 0)])  # what it looks like when librdkafka stops by itself
    broker.write(topic, [b"c"], partition=0)
    broker.write(topic, [b"d"], partition=1)
    assert sorted(texts(fetcher, 2)) == ["c", "d"]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        f"partition 0 of topic {topic!r} delivered nothing for {stalls.STALL_S:g} s, though it has messages from "
        "offset 2 on: the source connects to Kafka again"
    ]


@pytest.mark.soak
def test_a_partition_that_was_read_to_the_end_of_what_is_committed_has_not_stalled(
    broker: KafkaBroker, fetcher: KafkaFetcher, caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_topic(broker)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"of-{topic}"})
    producer.init_transactions(30.0)
    for text in ("committed", "open"):
        producer.begin_transaction()
        producer.produce(topic, text)
        producer.flush(30.0)
        if text == "committed":
            producer.commit_transaction(30.0)
    fetcher.add_splits([KafkaSplit(topic=topic, partition=0, offset=0)])
    assert texts(fetcher, 1) == ["committed"]
    assert nothing_more(fetcher)
    producer.abort_transaction(30.0)
    assert nothing_more(fetcher)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
