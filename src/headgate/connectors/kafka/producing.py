"""A producer of librdkafka that takes records in batches and raises delivery errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headgate.connectors.kafka.client import ANSWER_S, open_client
from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.serialization import (
    ColumnSerialization,
    KafkaMessage,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    SchemaSerialization,
)
from headgate.errors import SinkError

if TYPE_CHECKING:
    import pyarrow as pa

_DEFAULTS: Final = {
    "delivery.report.only.error": True,
    "enable.idempotence": True,
    "linger.ms": 20,
    "partitioner": "murmur2_random",
}
"""The partitioner is the Java clients': messages with one key go to one partition, whichever client writes them."""

_BY_KEY: Final = -1
"""No partition: the key decides, or chance."""

_FULL_S: Final = 0.1
"""Seconds between two attempts to queue a message while librdkafka's queue is full."""


@final
class RecordProducer:
    """Writes records. Methods block while the brokers are slow, and during an outage up to the delivery timeout."""

    def __init__(self, properties: Properties, serializer: KafkaRecordSerializationSchema, subtask: int = 0) -> None:
        self._subtask = subtask
        self._partition_count = 0
        self._failed: list[str] = []
        self._serializer = serializer
        self.topics: set[str] = set()
        self.records = 0
        # Not a method of this object: the object and the client would reference each other, and the client's threads
        # and connections would stay until a garbage collection.
        noting = partial(_note_undelivered, self._failed)
        self.client = open_client(Producer, {**_DEFAULTS, **properties, "on_delivery": noting})

    def write(self, records: list[Any]) -> None:
        """Take records; blocks while the queue of messages to send is full.

        Raises `SinkError` when an earlier record was not delivered, and for a record that cannot be made a message.
        """
        if isinstance(self._serializer, SchemaSerialization):
            for topic, messages in self._batches(self._serializer, records).items():
                self._send(topic, messages)
        else:
            for record in records:
                message = self._message(record)
                if message is not None:
                    self._send_one(message)
        self._serve(self.client.poll, 0)
        self._check()

    def write_columns(self, columns: pa.RecordBatch) -> None:
        """Take the rows of an Arrow batch, as `write` takes records."""
        serializer = self._serializer
        if not isinstance(serializer, ColumnSerialization):
            from headgate.types.arrow import rows_from_batch  # noqa: PLC0415  # Arrow takes long to load

            self.write(rows_from_batch(columns))
            return
        try:
            messages = serializer.messages(columns)
        except ValueError as error:
            raise SinkError(f"rows cannot be made into messages for topic {serializer.topic!r}: {error}") from error
        if serializer.partitioner is KafkaPartitioner.DEFAULT:
            self._send(serializer.topic, messages)
        else:
            count = self._count(serializer.topic)
            for place, partition in serializer.partitioner.places(count, self._subtask, self.records):
                self._send(serializer.topic, messages[place], partition)
        self._serve(self.client.poll, 0)
        self._check()

    def _count(self, topic: str) -> int:
        """Return the number of partitions of a topic, asked for once."""
        if not self._partition_count:
            try:
                self._partition_count = len(self.client.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions)
            except KafkaException as error:
                raise SinkError(f"the Kafka brokers did not return the partitions of {topic!r}: {error}") from error
        return self._partition_count

    def flush(self) -> None:
        """Block until the brokers have all records. Raises `SinkError` naming the topic of a record that failed."""
        while self._serve(self.client.flush, 1.0) and not self._failed:
            pass
        self._check()

    def _serve(self, call: Callable[[float], int], seconds: float) -> int:
        """Let librdkafka send and call back. Raises `SinkError` for an error that ends the producer."""
        try:
            return call(seconds)
        except (KafkaException, SystemError) as error:
            raise SinkError(f"records were not written to Kafka: {error.__cause__ or error}") from error

    def _check(self) -> None:
        if self._failed:
            raise SinkError(f"a record was not written to Kafka: {self._failed[0]}")

    def _batches(self, serializer: SchemaSerialization, records: list[Any]) -> dict[str, list[dict[str, Any]]]:
        try:
            return serializer.batches(records)
        except Exception:
            for record in records:
                self._message(record)
            raise

    def _message(self, record: Any) -> KafkaMessage | None:
        try:
            return self._serializer.serialize(record)
        except Exception as error:
            raise SinkError(
                f"the record {record!r:.200} cannot be made into a Kafka message: {error!r}; map it first"
            ) from error

    def _send(self, topic: str, messages: list[dict[str, Any]], partition: int = _BY_KEY) -> None:
        self._note(topic, len(messages))
        while messages:
            if self._produce(topic, messages, partition) == len(messages):
                return
            messages = [message for message in messages if "_error" in message]
            self._wait_for_room(topic, [message.pop("_error") for message in messages])

    def _produce(self, topic: str, messages: list[dict[str, Any]], partition: int) -> int:
        try:
            return self.client.produce_batch(topic, messages, partition=partition)
        except (TypeError, KafkaException) as error:
            raise SinkError(f"records cannot be written to topic {topic!r} of Kafka: {error}") from error

    def _wait_for_room(self, topic: str, errors: list[KafkaError]) -> None:
        for error in errors:
            if error.code() != KafkaError._QUEUE_FULL:
                raise SinkError(f"a record cannot be written to topic {topic!r} of Kafka: {error.str()}")
        self._serve(self.client.poll, _FULL_S)
        self._check()

    def _send_one(self, message: KafkaMessage) -> None:
        self._note(message.topic, 1)
        more: dict[str, Any] = {}
        if message.partition is not None:
            more["partition"] = message.partition
        if message.timestamp_ms is not None:
            more["timestamp"] = message.timestamp_ms
        if message.headers:
            more["headers"] = list(message.headers)
        while True:
            try:
                self.client.produce(message.topic, message.value, message.key, **more)
                return
            except BufferError:
                self._serve(self.client.poll, _FULL_S)
                self._check()
            except KafkaException as error:
                raise SinkError(f"a record cannot be written to topic {message.topic!r} of Kafka: {error}") from error

    def _note(self, topic: str, count: int) -> None:
        self.topics.add(topic)
        self.records += count


def _note_undelivered(failed: list[str], error: KafkaError | None, message: Message) -> None:
    if error is not None:
        failed.append(f"topic {message.topic()!r}, partition {message.partition()}: {error.str()}")
