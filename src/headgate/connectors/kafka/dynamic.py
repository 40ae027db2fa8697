"""Streams that are topics of one cluster of Kafka: Flink's `DynamicKafkaSource`, as far as PyFlink has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self, final

from headgate.connectors.kafka.deserialization import KafkaRecordDeserializationSchema, Tombstones
from headgate.connectors.kafka.offsets import KafkaOffsetsInitializer
from headgate.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from headgate.connectors.message_schemas import DeserializationSchema
from headgate.errors import ProgramError

_OWN_PROPERTIES: Final = {
    "stream-metadata-discovery-interval-ms": "partition.discovery.interval.ms",
    "stream-metadata-discovery-failure-threshold": None,
}
"""Properties that only Flink's source has, by what does the same here; None: nothing fails that is tried again."""


class KafkaMetadataService:
    """What says where streams are."""


@final
@dataclass(frozen=True)
class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Streams are topics of one cluster, which `properties` say how to reach."""

    kafka_cluster_id: str
    properties: Mapping[str, str]


class KafkaStreamSubscriber:
    """What says which streams to read."""


@final
@dataclass(frozen=True)
class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """These streams."""

    stream_ids: Iterable[str]


@final
@dataclass(frozen=True)
class StreamPatternSubscriber(KafkaStreamSubscriber):
    """The streams whose whole name matches a regular expression."""

    stream_pattern: str


@final
class DynamicKafkaSource:
    """Makes builders of sources of streams.

    >>> cluster = SingleClusterTopicMetadataService("cluster-a", {"bootstrap.servers": "localhost:9092"})
    >>> builder = DynamicKafkaSource.builder().set_stream_ids({"orders"}).set_kafka_metadata_service(cluster)
    """

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """Return a builder, which needs streams, a metadata service and a deserializer."""
        return DynamicKafkaSourceBuilder()


@final
class DynamicKafkaSourceBuilder:
    """Builds a `KafkaSource` of the topics of streams."""

    def __init__(self) -> None:
        self._builder = KafkaSourceBuilder()
        self._properties: dict[str, str] = {}
        self._subscriber: KafkaStreamSubscriber | None = None
        self._service: KafkaMetadataService | None = None

    def set_stream_ids(self, stream_ids: Iterable[str]) -> Self:
        """Read these streams."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(frozenset(stream_ids)))

    def set_stream_pattern(self, stream_pattern: str) -> Self:
        """Read the streams whose whole name matches a regular expression."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> Self:
        """Say which streams to read."""
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> Self:
        """Say where streams are."""
        self._service = kafka_metadata_service
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> Self:
        """Make records of whole messages."""
        self._builder.set_deserializer(deserializer)
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema, tombstones: Tombstones = Tombstones.SKIP
    ) -> Self:
        """Make records of the messages' values. `tombstones`: what to do with messages that have none."""
        self._builder.set_value_only_deserializer(deserialization_schema, tombstones)
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Say where to start when a job starts afresh; at the earliest message if not called."""
        self._builder.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Read up to these offsets, looked up when the job starts; then the job ends."""
        self._builder.set_bounded(stopping_offsets_initializer)
        return self

    def set_properties(self, props: Mapping[str, str]) -> Self:
        """Set several properties; those of the metadata service go first."""
        self._properties.update(props)
        return self

    def set_property(self, key: str, value: str) -> Self:
        """Set a property."""
        return self.set_properties({key: value})

    def set_group_id(self, group_id: str) -> Self:
        """Name the consumer group that offsets are committed for."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> Self:
        """Say how the names of the clients begin that brokers see."""
        self._builder.set_client_id_prefix(prefix)
        return self

    def build(self) -> KafkaSource:
        """Return the source. Raises `ProgramError` naming what is missing, or is not known here."""
        match self._subscriber:
            case KafkaStreamSetSubscriber(stream_ids):
                self._builder.set_topics(*sorted(stream_ids))
            case StreamPatternSubscriber(pattern):
                self._builder.set_topic_pattern(pattern)
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
        return self._builder.set_properties(
            {name: properties[key] for key, name in names.items() if name is not None}
        ).build()
