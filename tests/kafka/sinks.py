"""Kafka sinks of words, and where they run."""

from __future__ import annotations

from dataclasses import replace

from headgate.common import SimpleStringSchema
from headgate.datastream.connectors.base import DeliveryGuarantee
from headgate.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSinkBuilder
from headgate.functions.sink import SinkContext, SinkIdentity
from headgate.testing.contracts.sink import JOB, sink_context
from headgate.testing.servers.kafka import KafkaBroker


def words_to(topic: str) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return builder.set_value_serialization_schema(SimpleStringSchema()).build()


def exactly_once(broker: KafkaBroker, topic: str) -> KafkaSinkBuilder:
    """Return the builder of an exactly-once sink of words to a topic."""
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(broker.bootstrap)
        .set_record_serializer(words_to(topic))
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"test-{topic}")
    )


def at(subtask: int = 0, parallelism: int = 1, attempt: int = 1, identity: SinkIdentity = JOB) -> SinkContext:
    """Return where a sink runs."""
    return replace(sink_context(identity, subtask, attempt), parallelism=parallelism)
