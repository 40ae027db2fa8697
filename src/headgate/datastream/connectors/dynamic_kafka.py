"""Streams that are topics of one Kafka cluster, under PyFlink's names. Needs the extra `headgate[kafka]`."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.kafka.deserialization import KafkaRecordDeserializationSchema
from headgate.connectors.kafka.dynamic import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

unsupported.guard(__name__, globals())
