"""The writers of the Kafka sink: one flushes at each barrier, the other writes transactions."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, final

from confluent_kafka import KafkaException

from headgate.connectors.kafka.producing import RecordProducer
from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headgate.connectors.kafka.transactions import Transaction
from headgate.errors import SinkError
from headgate.functions.flushing import FlushingWriter
from headgate.functions.sink import SinkWriter
from headgate.ids import CheckpointId

if TYPE_CHECKING:
    import pyarrow as pa

_BEGIN_S: Final = 60.0
"""Seconds that a record waits for its transaction to begin, before the job fails."""
_CLOSE_S: Final = 2.0
_TRY_S: Final = 10.0


@final
class KafkaFlushingWriter(FlushingWriter):
    """Writes records as they come. Waits for the brokers' acknowledgements at the end, and with `waits` at barriers."""

    def __init__(
        self, properties: Properties, serializer: KafkaRecordSerializationSchema, subtask: int, *, waits: bool
    ) -> None:
        self._producer = RecordProducer(properties, serializer, subtask)
        self._waits = waits

    def write(self, records: list[Any]) -> None:
        self._producer.write(records)

    def write_columns(self, columns: pa.RecordBatch) -> None:
        self._producer.write_columns(columns)

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

    A producer of librdkafka writes one transaction and leaves it open for the committer. An I/O thread makes the next
    producer while the current one is in use, and names its transaction after the next checkpoint. If the next records
    follow a later checkpoint, because checkpoints failed or had no records, they wait for a producer with that name.
    """

    def __init__(
        self,
        properties: Properties,
        serializer: KafkaRecordSerializationSchema,
        name: Callable[[CheckpointId], str],
        after: CheckpointId,
        subtask: int,
    ) -> None:
        self._properties = properties
        self._serializer = serializer
        self._subtask = subtask
        self._name = name
        self._after = after
        self._closed = False
        self._background = ThreadPoolExecutor(1, thread_name_prefix="kafka-transactions")
        self._next = self._begin_ahead(after)
        self._current: tuple[str, RecordProducer] | None = None

    def write(self, records: list[Any]) -> None:
        if records:
            self._producer().write(records)

    def write_columns(self, columns: pa.RecordBatch) -> None:
        if columns.num_rows:
            self._producer().write_columns(columns)

    def _producer(self) -> RecordProducer:
        if self._current is None:
            after, begun = self._next
            if after != self._after:
                _, begun = self._begin_ahead(self._after)
            self._current = self._begun(begun)
            self._next = self._begin_ahead(CheckpointId(self._after + 1))
        return self._current[1]

    def _begin_ahead(self, after: CheckpointId) -> tuple[CheckpointId, Future[tuple[str, RecordProducer]]]:
        return after, self._background.submit(self._begin, self._name(after))

    def _begun(self, begun: Future[tuple[str, RecordProducer]]) -> tuple[str, RecordProducer]:
        try:
            return begun.result(_BEGIN_S)
        except TimeoutError as error:
            servers = self._properties["bootstrap.servers"]
            raise SinkError(f"the Kafka brokers at {servers} began no transaction within {_BEGIN_S:g} s") from error

    def _begin(self, transactional_id: str) -> tuple[str, RecordProducer]:
        """Make a producer and begin its transaction. Blocks while no broker answers."""
        properties = {**self._properties, "transactional.id": transactional_id}
        producer = RecordProducer(properties, self._serializer, self._subtask)
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
        """Open connections to the brokers: without a connection, `init_transactions` waits for half a second.

        The first request connects to a bootstrap server, the second to a broker that the first answer names.
        """
        with suppress(KafkaException):
            for _ in range(2):
                producer.client.list_topics(self._serializer.topic, timeout=_TRY_S)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Transaction]:
        self._after = checkpoint_id
        if self._current is None:
            return []
        transactional_id, producer = self._current
        producer.flush()
        self._current = None
        topics = tuple(sorted(producer.topics))
        if not topics:
            return []  # the serializer left all records out, so no broker knows the transaction
        return [Transaction(transactional_id=transactional_id, topics=topics, records=producer.records)]

    def close(self) -> None:
        """Abort the current transaction, which is not prepared, on an I/O thread. Does not block."""
        if not self._closed:
            self._closed = True
            if self._current is not None:
                self._background.submit(_abort, self._current[1])
            self._background.shutdown(wait=False)


def _abort(producer: RecordProducer) -> None:
    """Abort a transaction. If no broker answers, the brokers abort it themselves after the transaction timeout."""
    with suppress(KafkaException):
        producer.client.purge()
        producer.client.abort_transaction(_TRY_S)
