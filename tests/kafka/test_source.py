"""Where the Kafka source starts and stops, what it makes of messages, and what it finds later, on a real broker."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from headgate.common import SimpleStringSchema
from headgate.datastream.connectors.dynamic_kafka import DynamicKafkaSource, SingleClusterTopicMetadataService
from headgate.datastream.connectors.kafka import (
    BrokenMessages,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headgate.errors import SourceError
from headgate.functions.fetching import FetchingReader
from headgate.functions.source import Records
from headgate.testing.contracts.source import ReaderContext, close, open_reader, read, read_all
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic

pytestmark = pytest.mark.slow

START_MS: Final = 1_700_000_000_000
DEADLINE_S: Final = 120.0


def words_of(broker: KafkaBroker, *topics: str) -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap)
    return builder.set_topics(*topics).set_value_only_deserializer(SimpleStringSchema())


def ending(builder: KafkaSourceBuilder) -> KafkaSource:
    return builder.set_bounded(KafkaOffsetsInitializer.latest()).build()


@pytest.fixture
def ten(broker: KafkaBroker) -> str:
    """A topic of one partition with the numbers 0 to 9, a second apart."""
    topic = new_topic(broker)
    for number in range(10):
        broker.write(topic, [str(number).encode()], timestamp=START_MS + number * 1000)
    return topic


def partition(topic: str, number: int = 0) -> KafkaTopicPartition:
    return KafkaTopicPartition(topic, number)


@pytest.mark.parametrize(
    ("start", "first"),
    [
        (KafkaOffsetsInitializer.earliest(), 0),
        (KafkaOffsetsInitializer.latest(), 10),
        (KafkaOffsetsInitializer.timestamp(START_MS + 3500), 4),
        (KafkaOffsetsInitializer.timestamp(START_MS + 60_000), 10),
        (KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST), 10),
        (KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST), 0),
        (KafkaOffsetsInitializer.offsets({}), 0),
    ],
    ids=["earliest", "latest", "timestamp", "later than all", "nothing committed", "nothing committed", "none given"],
)
def test_reading_starts_where_it_is_told(
    start: KafkaOffsetsInitializer, first: int, broker: KafkaBroker, ten: str
) -> None:
    source = ending(words_of(broker, ten).set_group_id(f"group-{ten}").set_starting_offsets(start))
    assert read_all(source) == [str(number) for number in range(first, 10)]


def test_reading_starts_and_stops_at_given_offsets(broker: KafkaBroker, ten: str) -> None:
    start, stop = (KafkaOffsetsInitializer.offsets({partition(ten): offset}) for offset in (2, 5))
    assert read_all(words_of(broker, ten).set_starting_offsets(start).set_bounded(stop).build()) == ["2", "3", "4"]


def test_reading_starts_at_committed_offsets_and_commits_them_for_others_to_see(broker: KafkaBroker, ten: str) -> None:
    group = f"group-{ten}"
    builder = words_of(broker, ten).set_group_id(group)
    source = builder.build()
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    read(reader, context, 4)
    reader.notify_completed(reader.snapshot())
    deadline = time.monotonic() + DEADLINE_S
    while committed(broker, group, ten) != 4:
        read(reader, context, endless=True)
        assert time.monotonic() < deadline
    close(reader, context)
    builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    assert read_all(ending(builder))[0] == "4"


def committed(broker: KafkaBroker, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    [found] = consumer.committed([TopicPartition(topic, 0)], timeout=DEADLINE_S)
    consumer.close()
    return int(found.offset)


def test_a_group_that_has_committed_nothing_is_an_error_unless_something_else_is_said(
    broker: KafkaBroker, ten: str
) -> None:
    builder = words_of(broker, ten).set_group_id("nobody")
    with pytest.raises(SourceError, match=r"'nobody'.*KafkaOffsetResetStrategy"):
        builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build().splits(1)


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, message: Message) -> Any:
        return message.topic(), message.partition(), message.offset(), message.key(), message.value(), message.headers()


def test_records_can_be_made_of_whole_messages_and_have_their_timestamps(broker: KafkaBroker) -> None:
    topic = new_topic(broker, 2)
    broker.write(topic, [b"v"], partition=1, key=b"k", headers=[("h", b"1")], timestamp=START_MS)
    builder = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap).set_deserializer(Whole())
    source = ending(builder.set_partitions({partition(topic, 1)}))
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    reader.poll(10)
    context.work()
    polled = reader.poll(10)
    assert isinstance(polled, Records)
    assert polled.records == [(topic, 1, 0, b"k", b"v", [("h", b"1")])]
    assert (polled.timestamps, polled.split) == ([START_MS], f"{topic}-1")
    close(reader, context)


def test_a_message_that_is_no_record_fails_the_job_or_is_left_out_and_counted(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    broker.write(topic, [b"a", b"\xff", b"b", b"\xfe"])
    with pytest.raises(SourceError, match=rf"offset 1 of partition 0 of topic '{topic}'.*UnicodeDecodeError"):
        read_all(ending(words_of(broker, topic)))
    source = ending(words_of(broker, topic).set_broken_messages(BrokenMessages.SKIP))
    context = ReaderContext()
    reader = open_reader(source, source.splits(1), context)
    assert read(reader, context) == ["a", "b"]
    assert reader.snapshot() == []
    assert context.counters == {"skipped_messages": 2}
    close(reader, context)


def test_new_partitions_and_topics_are_found_and_read_from_their_beginning(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topic_pattern(f"{topic}.*")
        .set_starting_offsets(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    known = {source.split_id(split) for split in source.splits(1)}
    assert known == {f"{topic}-0"}
    broker.add_partitions(topic, 2)
    broker.create_topic(f"{topic}-more")
    broker.write(f"{topic}-more", [b"x"])
    new = source.discover(frozenset(known))
    assert [(split.name, split.offset) for split in new] == [(f"{topic}-1", 0), (f"{topic}-more-0", 0)]


def test_a_position_whose_messages_are_deleted_is_an_error(broker: KafkaBroker, ten: str) -> None:
    source = words_of(broker, ten).build()
    [split] = source.splits(1)
    context = ReaderContext()
    gone = type(split)(topic=split.topic, partition=0, offset=500)
    reader = open_reader(source, [gone], context)
    assert isinstance(reader, FetchingReader)
    with pytest.raises(SourceError, match=rf"offset 500 of partition 0 of topic '{ten}' is not there"):
        read(reader, context, 1)
    close(reader, context)


def test_streams_of_a_cluster_are_topics(broker: KafkaBroker, ten: str) -> None:
    cluster = SingleClusterTopicMetadataService("local", {"bootstrap.servers": broker.bootstrap})
    builder = DynamicKafkaSource.builder().set_kafka_metadata_service(cluster).set_stream_ids({ten})
    builder.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest())
    assert read_all(builder.build()) == [str(number) for number in range(10)]
