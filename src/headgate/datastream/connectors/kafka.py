"""Kafka as a source and as a sink, under PyFlink's names. Unlike in PyFlink, Python functions may make whole messages.

Needs the extra `headgate[kafka]`.
"""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.kafka.deserialization import BrokenMessages, KafkaRecordDeserializationSchema, Tombstones
from headgate.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from headgate.connectors.kafka.serialization import (
    KafkaMessage,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from headgate.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from headgate.connectors.kafka.source import KafkaSource, KafkaSourceBuilder

__all__ = [
    "BrokenMessages",
    "KafkaMessage",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Tombstones",
]

unsupported.guard(__name__, globals())
