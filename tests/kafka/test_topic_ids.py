"""A topic that is deleted and created again is another topic: a position in the old one is no position in it."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest

from headgate.common import SimpleStringSchema
from headgate.connectors.kafka import topic_ids
from headgate.connectors.kafka.fetcher import KafkaSplit
from headgate.datastream.connectors.kafka import KafkaSource
from headgate.errors import SourceError, SuppressRestartsException
from headgate.functions.source import SourceReader
from headgate.testing.contracts.source import ReaderContext, close, open_reader, read
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic

pytestmark = pytest.mark.slow

DEADLINE_S: Final = 120.0


def words_of(broker: KafkaBroker, topic: str, **properties: str) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap).set_topics(topic)
    return builder.set_properties(properties).set_value_only_deserializer(SimpleStringSchema()).build()


def write(broker: KafkaBroker, topic: str, name: str, count: int) -> None:
    broker.write(topic, [f"{name}{number}".encode() for number in range(count)])


def read_five(source: KafkaSource) -> tuple[SourceReader[KafkaSplit], ReaderContext]:
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    assert read(reader, context, 5) == [f"old{number}" for number in range(5)]
    return reader, context


def create_again(broker: KafkaBroker, topic: str) -> None:
    broker.delete_topic(topic)
    broker.create_topic(topic)


def read_until_it_fails(reader: SourceReader[KafkaSplit], context: ReaderContext) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        read(reader, context, endless=True)


def is_final(error: Any) -> bool:
    return isinstance(error.__cause__, SuppressRestartsException)


@pytest.mark.parametrize("reset", ["error", "earliest", "latest"])
def test_a_position_in_the_old_topic_is_refused(reset: str, broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    write(broker, topic, "old", 5)
    source = words_of(broker, topic, **{"auto.offset.reset": reset})
    reader, context = read_five(source)
    left = reader.snapshot()
    close(reader, context)
    create_again(broker, topic)
    write(broker, topic, "new", 20)
    context = ReaderContext()
    again = open_reader(source, left, context)
    with pytest.raises(SourceError, match=rf"'{topic}'.*created again: offset 5 of partition 0.*another uid") as caught:
        read(again, context, 1)
    assert is_final(caught.value)
    close(again, context)


def test_a_topic_that_is_created_again_while_it_is_read_is_noticed(
    broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_ids, "CHECK_S", 0.5)
    topic = new_topic(broker)
    write(broker, topic, "old", 5)
    reader, context = read_five(words_of(broker, topic, **{"auto.offset.reset": "latest"}))
    create_again(broker, topic)
    write(broker, topic, "new", 20)
    with pytest.raises(SourceError, match=f"'{topic}' of Kafka was deleted and created again") as caught:
        read_until_it_fails(reader, context)
    assert is_final(caught.value)
    close(reader, context)


def test_an_offset_that_a_new_topic_lacks_is_not_called_deleted(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    write(broker, topic, "old", 5)
    reader, context = read_five(words_of(broker, topic))
    create_again(broker, topic)
    with pytest.raises(SourceError, match=f"'{topic}' of Kafka was deleted and created again"):
        read_until_it_fails(reader, context)
    close(reader, context)


def test_a_position_without_an_id_is_read_and_gets_one(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    write(broker, topic, "old", 5)
    context = ReaderContext()
    reader = open_reader(words_of(broker, topic), [KafkaSplit(topic=topic, partition=0, offset=2)], context)
    assert read(reader, context, 3) == ["old2", "old3", "old4"]
    [split] = reader.snapshot()
    assert split.topic_id == topic_ids.topic_ids([topic], {"bootstrap.servers": broker.bootstrap})[topic]
    close(reader, context)


def test_topics_that_are_not_there_have_no_id(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    properties = {"bootstrap.servers": broker.bootstrap}
    assert topic_ids.topic_ids([topic, "nowhere"], properties).keys() == {topic}
    assert topic_ids.topic_ids([], properties) == {}
