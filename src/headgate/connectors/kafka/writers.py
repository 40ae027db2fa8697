"""The writers of the Kafka sink: one whose records are safe at each barrier, and one that writes transactions."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, final

from confluent_kafka import KafkaException

from headgate.connectors.kafka.producing import RecordProducer
from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headgate.connectors.kafka.transactions import Transaction
from headgate.errors import SinkError
from headgate.functions.flushing import FlushingWriter
from headgate.functions.sink import SinkWriter
from headgate.ids import CheckpointId

_BEGIN_S: Final = 60.0
"""How long records wait for a transaction that they can be part of."""
_CLOSE_S: Final = 2.0
_TRY_S: Final = 10.0


@final
class KafkaFlushingWriter(FlushingWriter):
    """Writes records as they come. Waits for the brokers to have them at the end, and at each barrier if `waits`."""

    def __init__(self, properties: Properties, serializer: KafkaRecordSerializationSchema, *, waits: bool) -> None:
        self._producer = RecordProducer(properties, serializer)
        self._waits = waits

    def write(self, records: list[Any]) -> None:
        self._producer.write(records)

    def flush(self) -> None:
        if self._waits:
            self._producer.flush()

    def end_input(self) -> None:
        self._producer.flush()

    def close(self) -> None:
        self._producer.client.flush(_CLOSE_S)


@final
class TransactionalWriter(SinkWriter[Transaction]):
    """Writes a transaction for each checkpoint with records.

    A producer of librdkafka does one transaction and leaves it open, for the committer. The next producer is made
    on an I/O thread while the one before it is in use, so that records do not wait for it: unless checkpoints without
    records, or that came to nothing, lie between them, since its transaction is named after the one that is expected.
    """

    def __init__(
        self,
        properties: Properties,
        serializer: KafkaRecordSerializationSchema,
        name: Callable[[CheckpointId], str],
        behind: CheckpointId,
    ) -> None:
        self._properties = properties
        self._serializer = serializer
        self._name = name
        self._behind = behind
        self._closed = False
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="kafka-transactions")
        self._next = self._begin_beside(behind)
        self._current: tuple[str, RecordProducer] | None = None

    def write(self, records: list[Any]) -> None:
        if records:
            self._producer().write(records)

    def _producer(self) -> RecordProducer:
        if self._current is None:
            behind, begun = self._next
            if behind != self._behind:
                _, begun = self._begin_beside(self._behind)
            self._current = self._begun(begun)
            self._next = self._begin_beside(CheckpointId(self._behind + 1))
        return self._current[1]

    def _begin_beside(self, behind: CheckpointId) -> tuple[CheckpointId, Future[tuple[str, RecordProducer]]]:
        return behind, self._beside.submit(self._begin, self._name(behind))

    def _begun(self, begun: Future[tuple[str, RecordProducer]]) -> tuple[str, RecordProducer]:
        try:
            return begun.result(_BEGIN_S)
        except TimeoutError as error:
            servers = self._properties["bootstrap.servers"]
            raise SinkError(f"the Kafka brokers at {servers} begin no transaction within {_BEGIN_S:g} s") from error

    def _begin(self, transactional_id: str) -> tuple[str, RecordProducer]:
        """Make a producer and its transaction known to the brokers. An outage is waited for."""
        producer = RecordProducer({**self._properties, "transactional.id": transactional_id}, self._serializer)
        self._connect(producer)
        while True:
            try:
                producer.client.init_transactions(_TRY_S)
                producer.client.begin_transaction()
            except KafkaException as error:
                if self._closed or not error.args[0].retriable():
                    raise SinkError(f"the Kafka transaction {transactional_id!r} cannot be begun: {error}") from error
            else:
                return transactional_id, producer

    def _connect(self, producer: RecordProducer) -> None:
        """Have the brokers answer: without a connection at that moment, `init_transactions` waits for half a second.

        The first answer comes from a server that the properties name, the second from a broker that it told of.
        """
        with suppress(KafkaException):
            for _ in range(2):
                producer.client.list_topics(self._serializer.topic, timeout=_TRY_S)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Transaction]:
        self._behind = checkpoint_id
        if self._current is None:
            return []
        transactional_id, producer = self._current
        producer.flush()
        self._current = None
        topics = tuple(sorted(producer.topics))
        if not topics:
            return []  # the serializer left all records out, and brokers have not heard of the transaction
        return [Transaction(transactional_id=transactional_id, topics=topics, records=producer.records)]

    def close(self) -> None:
        """Abort what is not prepared, on an I/O thread. Does not block."""
        if not self._closed:
            self._closed = True
            if self._current is not None:
                self._beside.submit(_abort, self._current[1])
            self._beside.shutdown(wait=False)


def _abort(producer: RecordProducer) -> None:
    """Abort a transaction. One that cannot be, because the brokers are away, they abort themselves after a time."""
    with suppress(KafkaException):
        producer.client.purge()
        producer.client.abort_transaction(_TRY_S)
