"""Streams that are topics of one cluster of Kafka: Flink's `DynamicKafkaSource`, as far as PyFlink has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self, final

from headgate.connectors.kafka.deserialization import KafkaRecordDeserializationSchema
from headgate.connectors.kafka.source import KafkaSource, SourceSettings, Subscription
from headgate.errors import ProgramError

_OWN_PROPERTIES: Final = {
    "stream-metadata-discovery-interval-ms": "partition.discovery.interval.ms",
    "stream-metadata-discovery-failure-threshold": None,
}
"""Properties of Flink's source, with the property here that has the same effect; None: it is not needed here."""


class KafkaMetadataService:
    """Maps streams to topics and clusters."""


@final
@dataclass(frozen=True)
class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Streams are topics of one cluster. `properties` are the properties of its clients."""

    kafka_cluster_id: str
    properties: Mapping[str, str]


class KafkaStreamSubscriber:
    """Selects the streams to read."""


@final
@dataclass(frozen=True)
class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Selects streams by their names."""

    stream_ids: Iterable[str]


@final
@dataclass(frozen=True)
class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Selects the streams whose whole name matches a regular expression."""

    stream_pattern: str


@final
class DynamicKafkaSource:
    """A source of streams that are topics of one cluster.

    >>> cluster = SingleClusterTopicMetadataService("cluster-a", {"bootstrap.servers": "localhost:9092"})
    >>> builder = DynamicKafkaSource.builder().set_stream_ids({"orders"}).set_kafka_metadata_service(cluster)
    """

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """Return a builder, which needs streams, a metadata service and a deserializer."""
        return DynamicKafkaSourceBuilder()


@final
class DynamicKafkaSourceBuilder(SourceSettings):
    """Builds a `KafkaSource` that reads the streams' topics. Properties of the metadata service override others."""

    _subscriber: KafkaStreamSubscriber | None = None
    _service: KafkaMetadataService | None = None

    def set_stream_ids(self, stream_ids: Iterable[str]) -> Self:
        """Read these streams."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(frozenset(stream_ids)))

    def set_stream_pattern(self, stream_pattern: str) -> Self:
        """Read the streams whose whole name matches a regular expression."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> Self:
        """Set the subscriber that selects the streams to read."""
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> Self:
        """Set the service that maps streams to topics and clusters."""
        self._service = kafka_metadata_service
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> Self:
        """Make records of whole messages."""
        return super().set_deserializer(deserializer)

    def build(self) -> KafkaSource:
        """Return the source. Raises `ProgramError` naming the missing setting, or one that is not supported."""
        match self._subscriber:
            case KafkaStreamSetSubscriber(stream_ids):
                subscription = Subscription(topics=tuple(sorted(stream_ids)))
            case StreamPatternSubscriber(pattern):
                subscription = Subscription.to_pattern(pattern)
            case None:
                raise ProgramError("a DynamicKafkaSource needs set_stream_ids() or set_stream_pattern()")
            case other:
                raise ProgramError(f"{other!r:.100} is a subscriber of your own: use set_stream_ids() or a pattern")
        if not isinstance(self._service, SingleClusterTopicMetadataService):
            raise ProgramError(
                f"a DynamicKafkaSource needs a SingleClusterTopicMetadataService, not {self._service!r:.100}; "
                "read several clusters with a KafkaSource each, and union() the streams"
            )
        properties = {**self._properties, **self._service.properties}
        names = {key: _OWN_PROPERTIES.get(key, key) for key in properties}
        own = {name: properties[key] for key, name in names.items() if name is not None}
        return self._source(subscription, own)
