"""Makes Kafka messages of records, with topic, key, value, headers and timestamp."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Self, final

from headgate.connectors.message_schemas import SerializationSchema
from headgate.errors import ProgramError

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaMessage:
    """A message to write.

    If `partition` is None, the key decides the partition. If `timestamp_ms` is None, it is the time of writing.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic to write the record to."""


class KafkaRecordSerializationSchema(ABC):
    """Turns records into messages. Derive from it for headers and timestamps, else use `builder()`.

    >>> class WithSource(KafkaRecordSerializationSchema):
    ...     def serialize(self, record):
    ...         headers = (("source", b"web"),)
    ...         return KafkaMessage(topic="clicks", value=record["page"].encode(), headers=headers)
    """

    topic: str | None = None
    """The topic of all messages, or None if records choose it. A topic named here must exist when a job starts."""

    @abstractmethod
    def serialize(self, record: Any) -> KafkaMessage | None:
        """Return the record's message, or None to leave it out."""

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a builder, for messages that have a topic, a key and a value."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaPartitioner(Enum):
    """How rows are distributed over the partitions of a topic."""

    DEFAULT = "default"
    """By key; without a key, at random."""
    FIXED = "fixed"
    """Each subtask writes to one partition."""
    ROUND_ROBIN = "round-robin"
    """Each subtask writes to all partitions in turn."""

    def places(self, count: int, subtask: int, first: int) -> list[tuple[slice, int]]:
        """Return which rows go to which partition. `count` is the number of partitions, `first` of earlier rows."""
        if self is KafkaPartitioner.FIXED:
            return [(slice(None), subtask % count)]
        return [(slice(place, None, count), (first + place) % count) for place in range(count)]


class ColumnSerialization(KafkaRecordSerializationSchema):
    """Turns the rows of an Arrow record batch into messages for one topic, in one call."""

    topic: str
    partitioner: KafkaPartitioner

    @abstractmethod
    def messages(self, columns: pa.RecordBatch) -> list[dict[str, Any]]:
        """Return the message of each row, a dict with its key, if any, and value. Raises ValueError."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaSerialization(KafkaRecordSerializationSchema):
    """Makes messages with a topic, a value and optionally a key by schemas. Fast, because it makes them in batches."""

    topic: str | None
    selector: Callable[[Any], str] | None
    key: SerializationSchema | None
    value: SerializationSchema

    def serialize(self, record: Any) -> KafkaMessage:
        (topic, [message]), *_ = self.batches([record]).items()
        return KafkaMessage(topic=topic, **message)

    def batches(self, records: list[Any]) -> dict[str, list[dict[str, Any]]]:
        """Return the messages of the records by topic, each as a dict with key and value."""
        if self.topic is not None:
            return {self.topic: self._messages(records)}
        assert self.selector is not None
        by_topic: dict[str, list[Any]] = {}
        for record in records:
            by_topic.setdefault(self.selector(record), []).append(record)
        return {topic: self._messages(some) for topic, some in by_topic.items()}

    def _messages(self, records: list[Any]) -> list[dict[str, Any]]:
        values = self.value.serialize_all(records)
        if self.key is None:
            return [{"value": value} for value in values]
        keys = self.key.serialize_all(records)
        return [{"key": key, "value": value} for key, value in zip(keys, values, strict=True)]


@final
class KafkaRecordSerializationSchemaBuilder:
    """Builds a `KafkaRecordSerializationSchema` of a topic or topic selector, and of schemas for value and key."""

    def __init__(self) -> None:
        self._topic: str | None = None
        self._selector: Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None

    def set_topic(self, topic: str) -> Self:
        """Write all records to one topic."""
        if not isinstance(topic, str) or not topic:
            raise ProgramError(f"a topic of Kafka must be a name, not {topic!r}")
        self._topic = topic
        return self

    def set_topic_selector(self, topic_selector: Callable[[Any], str] | KafkaTopicSelector) -> Self:
        """Choose the topic of each record by a function or a `KafkaTopicSelector`."""
        is_selector = isinstance(topic_selector, KafkaTopicSelector)
        self._selector = topic_selector.apply if is_selector else topic_selector  # type: ignore[union-attr,assignment]
        return self

    def set_key_serialization_schema(self, key_serialization_schema: SerializationSchema) -> Self:
        """Make the messages' keys of records. Messages with the same key go to the same partition."""
        self._key = _checked(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(self, value_serialization_schema: SerializationSchema) -> Self:
        """Make the messages' values of records."""
        self._value = _checked(value_serialization_schema, "set_value_serialization_schema")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema. Raises `ProgramError` unless a value schema and either topic or selector are set."""
        if (self._topic is None) == (self._selector is None):
            raise ProgramError("a KafkaRecordSerializationSchema needs set_topic() or set_topic_selector(), not both")
        if self._value is None:
            raise ProgramError("a KafkaRecordSerializationSchema needs set_value_serialization_schema()")
        return SchemaSerialization(topic=self._topic, selector=self._selector, key=self._key, value=self._value)


def _checked(schema: SerializationSchema, method: str) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise ProgramError(f"{method}() takes a SerializationSchema, not {schema!r:.100}")
    return schema
