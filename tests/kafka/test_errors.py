"""What is said when a cluster, a topic or a login is not as it must be: before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.common import SimpleStringSchema
from headgate.connectors.kafka.properties import for_coordinator, for_librdkafka
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
    Tombstones,
)
from headgate.errors import HeadgateError, ProgramError, SinkError, SourceError
from headgate.functions.sink import SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB
from headgate.testing.servers.kafka import PASSWORD, USER, KafkaBroker
from tests.kafka.broker import new_topic
from tests.kafka.sinks import at, exactly_once, words_to

ANY: Any = object()
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": USER,
    "sasl.password": PASSWORD,
}


def look_at_source(servers: str, topic: str, properties: dict[str, str]) -> None:
    builder = KafkaSource.builder().set_properties(properties).set_bootstrap_servers(servers).set_topics(topic)
    builder.set_value_only_deserializer(SimpleStringSchema()).build().splits(1)


def look_at_sink(servers: str, topic: str, properties: dict[str, str]) -> None:
    builder = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(words_to(topic))
    builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("errors")
    for key, value in properties.items():
        builder.set_property(key, value)
    builder.build().prepare(JOB)


LOOKS: list[tuple[Callable[[str, str, dict[str, str]], None], type[HeadgateError]]] = [
    (look_at_source, SourceError),
    (look_at_sink, SinkError),
]
both = pytest.mark.parametrize(("look", "error"), LOOKS, ids=["source", "sink"])


@both
@pytest.mark.slow
def test_a_broker_that_is_not_there(look: Any, error: type[HeadgateError]) -> None:
    said = r"no Kafka broker answered at 127\.0\.0\.1:1 within 10 s: .*Connection refused.*bootstrap\.servers"
    with pytest.raises(error, match=said):
        look("127.0.0.1:1", "any", {})


@both
@pytest.mark.slow
def test_a_topic_that_is_not_there(look: Any, error: type[HeadgateError], broker: KafkaBroker) -> None:
    with pytest.raises(error, match=r"have no topic 'nowhere' for this client.*create it"):
        look(broker.bootstrap, "nowhere", {})


@both
@pytest.mark.slow
def test_a_login_that_is_refused_and_one_that_is_not(
    look: Any, error: type[HeadgateError], broker: KafkaBroker
) -> None:
    topic = new_topic(broker)
    look(broker.login_bootstrap, topic, LOGIN)
    with pytest.raises(error, match=r"refused the login.*sasl\.password"):
        look(broker.login_bootstrap, topic, {**LOGIN, "sasl.password": "wrong"})


@both
def test_a_property_that_there_is_not(look: Any, error: type[HeadgateError]) -> None:
    with pytest.raises(ProgramError, match='No such configuration property: "nonsense"'):
        look("127.0.0.1:1", "any", {"nonsense": "1"})


@pytest.mark.slow
def test_a_partition_that_is_not_there(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    builder = KafkaSource.builder().set_bootstrap_servers(broker.bootstrap)
    source = builder.set_partitions({KafkaTopicPartition(topic, 7)}).set_value_only_deserializer(SimpleStringSchema())
    with pytest.raises(SourceError, match=f"topic '{topic}' of Kafka has no partition 7"):
        source.build().splits(1)


@pytest.mark.slow
def test_a_record_that_is_no_message_is_named(broker: KafkaBroker) -> None:
    writer = exactly_once(broker, new_topic(broker)).build().writer(at())
    with pytest.raises(SinkError, match="the record 7 cannot be made into a Kafka message"):
        writer.write(["six", 7])
    writer.close()


def write_and_prepare(writer: SinkWriter[Any], records: list[str]) -> None:
    """Write records for a checkpoint; the broker may refuse them at any time until it is prepared."""
    writer.write(records)
    writer.prepare_commit(CheckpointId(1))


@pytest.mark.slow
def test_a_message_that_is_too_long_fails_the_checkpoint_at_the_latest(broker: KafkaBroker) -> None:
    topic = new_topic(broker)
    writer = exactly_once(broker, topic).set_property("message.max.bytes", "5000000").build().writer(at())
    with pytest.raises(SinkError, match=f"topic '{topic}', partition 0.*too large"):
        write_and_prepare(writer, ["long" * 1_000_000])
    writer.close()


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: KafkaSource.builder().build(), "set_bootstrap_servers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("b:1").build(), "set_topics"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("b:1").set_topics("t").build(), "deserializer"),
        (lambda: KafkaSource.builder().set_topics("t").set_topic_pattern("t"), "one of"),
        (lambda: KafkaSource.builder().set_topic_pattern("("), "not a regular expression"),
        (lambda: KafkaSource.builder().set_value_only_deserializer(ANY), "DeserializationSchema"),
        (
            lambda: KafkaSource.builder().set_value_only_deserializer(SimpleStringSchema(), Tombstones.DELIVER),
            "SimpleStringSchema.*define deserialize_tombstone",
        ),
        (lambda: KafkaSink.builder().build(), "set_bootstrap_servers"),
        (lambda: KafkaSink.builder().set_bootstrap_servers("b:1").build(), "set_record_serializer"),
        (lambda: KafkaSink.builder().set_record_serializer(ANY), "KafkaRecordSerializationSchema"),
        (lambda: KafkaRecordSerializationSchema.builder().build(), "set_topic"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("t").build(), "set_value_serialization_schema"),
        (lambda: look_at_sink("b:1", "t", {"transaction.timeout.ms": "long"}), "number of milliseconds"),
        (lambda: for_librdkafka({"sasl.jaas.config": "Module required;"}), "username and password"),
        (
            lambda: for_coordinator({"bootstrap.servers": "b:1", "security.protocol": "SASL_SSL"}),
            "GSSAPI.*AT_LEAST_ONCE",
        ),
    ],
)
def test_builders_say_what_is_missing_or_wrong(build: Callable[[], Any], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        build()


def test_exactly_once_needs_a_prefix() -> None:
    builder = KafkaSink.builder().set_bootstrap_servers("b:1").set_record_serializer(words_to("t"))
    with pytest.raises(ProgramError, match="set_transactional_id_prefix"):
        builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
