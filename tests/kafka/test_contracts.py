"""The contracts of sources and sinks, on a real Kafka broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.common import JsonSchema, SimpleStringSchema
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSink, KafkaSource
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, SINK_CHECKS, SinkCase, SinkTarget
from headgate.testing.contracts.source import SOURCE_CHECKS, SourceCase
from headgate.testing.servers.kafka import KafkaBroker
from tests.kafka.broker import new_topic, texts
from tests.kafka.sinks import at, exactly_once, words_to

pytestmark = pytest.mark.slow

WORDS = [f"word-{index}" for index in range(16)]


def one_partition(broker: KafkaBroker) -> SourceCase:
    topic = new_topic(broker)
    broker.write(topic, [word.encode() for word in WORDS])
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    return SourceCase(source=source, expected=WORDS, histories=5)


def marks_of_transactions_in_between(broker: KafkaBroker) -> SourceCase:
    """Offsets have gaps, and the last offset of each partition is that of a mark, which nobody reads."""
    topic = new_topic(broker, 3)
    sink = exactly_once(broker, topic).build()
    writer, committer = sink.writer(at()), sink.committer(at())
    for number in range(0, len(WORDS), 4):
        writer.write(WORDS[number : number + 4])
        committer.commit(writer.prepare_commit(CheckpointId(number + 1)))
    writer.close()
    assert sorted(texts(broker, topic)) == sorted(WORDS)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topic_pattern(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    return SourceCase(source=source, expected=texts(broker, topic), ordered=False, histories=5)


def without_an_end(broker: KafkaBroker) -> SourceCase:
    topic = new_topic(broker)
    broker.write(topic, [f'{{"number":{number}}}'.encode() for number in range(20)])
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_topics(topic)
        .set_value_only_deserializer(JsonSchema())
        .build()
    )
    return SourceCase(source=source, expected=[{"number": number} for number in range(20)], histories=5)


SOURCES = [one_partition, marks_of_transactions_in_between, pytest.param(without_an_end, marks=pytest.mark.soak)]


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", SOURCES)
def test_source(
    case: Callable[[KafkaBroker], SourceCase], check: Callable[[SourceCase], None], broker: KafkaBroker
) -> None:
    check(case(broker))


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
def test_exactly_once_sink(check: Callable[[SinkCase], None], broker: KafkaBroker) -> None:
    def fresh() -> SinkTarget:
        topic = new_topic(broker, 2)
        sink = exactly_once(broker, topic).build()
        sink.prepare(JOB)
        return SinkTarget(sink=sink, read=lambda: texts(broker, topic))

    check(SinkCase(fresh=fresh, records=WORDS, histories=8))


def test_a_sink_without_a_guarantee_waits_for_the_brokers_at_the_end_of_its_input(broker: KafkaBroker) -> None:
    topic = new_topic(broker, 2)
    sink = KafkaSink.builder().set_bootstrap_servers(broker.bootstrap).set_record_serializer(words_to(topic))
    writer = sink.set_property("linger.ms", "100000").build().writer(at())
    writer.write(WORDS)
    assert writer.prepare_commit(CheckpointId(1)) == []
    assert texts(broker, topic) == []
    writer.end_input()
    assert sorted(texts(broker, topic)) == sorted(WORDS)
    writer.close()


def test_at_least_once_sink_has_all_records_at_the_broker_when_the_barrier_has_passed(broker: KafkaBroker) -> None:
    topic = new_topic(broker, 2)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_record_serializer(words_to(topic))
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build()
    )
    writer = sink.writer(at())
    writer.write(WORDS)
    assert writer.prepare_commit(CheckpointId(1)) == []
    assert sorted(texts(broker, topic)) == sorted(WORDS)
    writer.close()
