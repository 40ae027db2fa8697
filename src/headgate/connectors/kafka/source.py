"""Kafka topics as a source: offsets are part of checkpoints, and new partitions are found while a job runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self, final

from headgate.connectors.kafka.client import partitions_of, topics_of
from headgate.connectors.kafka.deserialization import (
    BrokenMessages,
    KafkaRecordDeserializationSchema,
    MessageDecoding,
    RecordDecoding,
    Tombstones,
    ValueDeserialization,
)
from headgate.connectors.kafka.fetcher import KafkaFetcher, KafkaSplit
from headgate.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition, look_up
from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.topic_ids import topic_ids
from headgate.connectors.message_schemas import DeserializationSchema
from headgate.errors import ProgramError, SourceError
from headgate.functions.fetching import FetchingReader
from headgate.functions.source import Source, SourceContext

_DISCOVERY: Final = "partition.discovery.interval.ms"
_DISCOVERY_MS: Final = 300_000
_COMMITS: Final = "commit.offsets.on.checkpoint"
_OWN: Final = (_DISCOVERY, _COMMITS)
"""Properties that librdkafka does not have."""

_DEFAULTS: Final = {
    "auto.offset.reset": "error",
    "fetch.queue.backoff.ms": 10,
    "isolation.level": "read_committed",
}
"""librdkafka pauses fetching for a second, by default, when its queue is full; a slot empties the queue much faster."""
_FIXED: Final = {"enable.auto.commit": False, "enable.auto.offset.store": False, "enable.partition.eof": True}
_GROUP: Final = "headgate"
"""The consumer group if the program sets none. No offsets are committed for it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The partitions to read. Exactly one field is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[KafkaTopicPartition] = field(default_factory=frozenset)

    @staticmethod
    def to_pattern(pattern: str) -> Subscription:
        """Return the subscription to the topics whose whole name matches. Raises `ProgramError`."""
        try:
            re.compile(pattern)
        except re.error as error:
            raise ProgramError(f"{pattern!r} is not a regular expression: {error}") from None
        return Subscription(pattern=pattern)

    def find(self, properties: Properties) -> list[KafkaTopicPartition]:
        """Return the partitions that exist now. Blocks; raises `SourceError` for a missing topic or partition."""
        if self.pattern is not None:
            pattern = re.compile(self.pattern)
            found = topics_of(properties, SourceError)
            return _partitions((topic, found[topic]) for topic in sorted(found) if pattern.fullmatch(topic))
        if self.topics:
            return _partitions((topic, partitions_of(topic, properties, SourceError)) for topic in self.topics)
        return self._find_given(properties)

    def _find_given(self, properties: Properties) -> list[KafkaTopicPartition]:
        topics = sorted({each.topic for each in self.partitions})
        there = set(_partitions((topic, partitions_of(topic, properties, SourceError)) for topic in topics))
        for missing in self.partitions - there:
            raise SourceError(f"topic {missing.topic!r} of Kafka has no partition {missing.partition}")
        return sorted(self.partitions, key=lambda each: (each.topic, each.partition))


@final
@dataclass(kw_only=True, eq=False)
class KafkaSource(Source[KafkaSplit]):
    """Reads topics of Kafka. Make one with `KafkaSource.builder()`."""

    properties: Properties
    subscription: Subscription
    decoding: MessageDecoding
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    is_bounded: bool
    client_id_prefix: str | None

    def __post_init__(self) -> None:
        self.watermarks_per_split = True
        self.produced_type = self.decoding.produced_type
        self.bounded = self.is_bounded
        self.discovery_interval_ms = self._discovery_ms()
        is_wanted = str(self.properties.get(_COMMITS, "true")).lower() == "true"
        self._commits = is_wanted and "group.id" in self.properties
        self._clients = {name: value for name, value in self.properties.items() if name not in _OWN}

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Return a builder, which needs bootstrap servers, topics or partitions, and a deserializer."""
        return KafkaSourceBuilder()

    def _discovery_ms(self) -> int | None:
        if self.stop is not None or self.subscription.partitions:
            return None
        interval = _milliseconds(self.properties.get(_DISCOVERY, _DISCOVERY_MS))
        return interval if interval > 0 else None

    def splits(self, parallelism: int) -> list[KafkaSplit]:
        found = self.subscription.find(self._clients)
        if not found and self.discovery_interval_ms is None:
            raise SourceError(
                f"no topic of the Kafka brokers at {self._clients['bootstrap.servers']} has a name that matches "
                f"{self.subscription.pattern!r}; correct the pattern, or let the source discover topics"
            )
        return self._begun(found, self.start, self.stop)

    def discover(self, known: frozenset[str]) -> list[KafkaSplit]:
        """Return new partitions, from their first message on."""
        found = self.subscription.find(self._clients)
        new = [each for each in found if f"{each.topic}-{each.partition}" not in known]
        return self._begun(new, KafkaOffsetsInitializer.earliest(), None)

    def _begun(
        self,
        partitions: list[KafkaTopicPartition],
        start: KafkaOffsetsInitializer,
        stop: KafkaOffsetsInitializer | None,
    ) -> list[KafkaSplit]:
        """Return a new split of each partition."""
        # Ids before offsets: if a topic is created again in between, its offsets do not fit the id and are refused.
        ids = topic_ids({each.topic for each in partitions}, self._clients)
        begin = look_up(start, partitions, self._clients)
        end = {} if stop is None else look_up(stop, partitions, self._clients)
        return [
            KafkaSplit(
                topic=each.topic,
                partition=each.partition,
                offset=begin[each],
                stop=end.get(each),
                topic_id=ids.get(each.topic),
            )
            for each in partitions
        ]

    def split_id(self, split: KafkaSplit) -> str:
        return split.name

    def reader(self, context: SourceContext) -> FetchingReader[KafkaSplit]:
        own = {} if self.client_id_prefix is None else {"client.id": f"{self.client_id_prefix}-{context.subtask}"}
        fetcher = KafkaFetcher(
            {"group.id": _GROUP, **_DEFAULTS, **self._clients, **_FIXED, **own},
            self.decoding,
            context.count,
            commits=self._commits,
        )
        return FetchingReader(fetcher, context, self.split_id)


class SourceSettings:
    """The settings that the builders of Kafka's sources share."""

    def __init__(self) -> None:
        self._properties: dict[str, object] = {}
        self._schema: KafkaRecordDeserializationSchema | None = None
        self._broken = BrokenMessages.FAIL
        self._start = KafkaOffsetsInitializer.earliest()
        self._stop: KafkaOffsetsInitializer | None = None
        self._ends = False
        self._client_id_prefix: str | None = None

    def set_group_id(self, group_id: str) -> Self:
        """Set the consumer group that offsets are committed for. They serve monitoring, not recovery."""
        return self.set_property("group.id", group_id)

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Set where a job without a snapshot starts to read. The default is the earliest message."""
        self._start = starting_offsets_initializer
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Read up to these offsets, looked up when the job starts; then the job ends."""
        self._stop, self._ends = stopping_offsets_initializer, True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema, tombstones: Tombstones = Tombstones.SKIP
    ) -> Self:
        """Make records of the messages' values. `tombstones`: what to do with messages without a value.

        Raises `ProgramError` when the schema is to make records of tombstones but lacks `deserialize_tombstone`.
        """
        return self.set_deserializer(ValueDeserialization(deserialization_schema, tombstones))

    def set_deserializer(self, schema: KafkaRecordDeserializationSchema) -> Self:
        """Make records of whole messages."""
        if not isinstance(schema, KafkaRecordDeserializationSchema):
            raise ProgramError(f"set_deserializer() takes a KafkaRecordDeserializationSchema, not {schema!r:.100}")
        self._schema = schema
        return self

    def set_client_id_prefix(self, prefix: str) -> Self:
        """Set the prefix of the client ids that brokers see; the subtask's number follows it."""
        self._client_id_prefix = prefix
        return self

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of librdkafka's consumer, or `partition.discovery.interval.ms`."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> Self:
        """Set several properties."""
        self._properties.update(props)
        return self

    def _source(self, subscription: Subscription, properties: Mapping[str, object]) -> KafkaSource:
        """Return the source. Raises `ProgramError` naming what is missing."""
        if not properties.get("bootstrap.servers"):
            raise ProgramError("a KafkaSource needs set_bootstrap_servers()")
        if subscription == Subscription():
            raise ProgramError("a KafkaSource needs set_topics(), set_topic_pattern() or set_partitions()")
        if self._schema is None:
            raise ProgramError("a KafkaSource needs set_value_only_deserializer() or set_deserializer()")
        return KafkaSource(
            properties=properties,
            subscription=subscription,
            decoding=RecordDecoding(self._schema, self._broken),
            start=self._start,
            stop=self._stop,
            is_bounded=self._ends,
            client_id_prefix=self._client_id_prefix,
        )


@final
class KafkaSourceBuilder(SourceSettings):
    """Builds a `KafkaSource`."""

    _subscription: Subscription | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set the addresses of brokers: `host:port`, or several with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_topics(self, *topics: str) -> Self:
        """Read these topics."""
        return self._subscribe(Subscription(topics=topics))

    def set_topic_pattern(self, topic_pattern: str) -> Self:
        """Read the topics whose whole name matches a regular expression, also topics that are created later."""
        return self._subscribe(Subscription.to_pattern(topic_pattern))

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> Self:
        """Read these partitions only."""
        return self._subscribe(Subscription(partitions=frozenset(partitions)))

    def _subscribe(self, subscription: Subscription) -> Self:
        if self._subscription is not None:
            raise ProgramError("a KafkaSource takes one of set_topics(), set_topic_pattern() and set_partitions()")
        self._subscription = subscription
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Read up to these offsets, then end. The source counts as unbounded, also for the choice of STREAMING mode."""
        self._stop, self._ends = stopping_offsets_initializer, False
        return self

    def set_broken_messages(self, broken: BrokenMessages) -> Self:
        """Set what to do with messages that cannot be made records. By default they fail the job."""
        self._broken = BrokenMessages(broken)
        return self

    def build(self) -> KafkaSource:
        """Return the source. Raises `ProgramError` naming what is missing."""
        return self._source(self._subscription or Subscription(), self._properties)


def _partitions(found: Iterable[tuple[str, list[int]]]) -> list[KafkaTopicPartition]:
    return [KafkaTopicPartition(topic, number) for topic, numbers in found for number in numbers]


def _milliseconds(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ProgramError(f"{_DISCOVERY} must be a number of milliseconds, not {value!r}") from None
