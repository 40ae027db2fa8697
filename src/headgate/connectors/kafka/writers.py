"""The writers of the Kafka sink: one whose records are safe at each barrier, and one that writes transactions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, final

from confluent_kafka import KafkaException

from headgate.connectors.kafka.producing import RecordProducer
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
    """Writes records as they come. `waits`: at a barrier, for the brokers to have them."""

    def __init__(
        self, properties: Mapping[str, Any], serializer: KafkaRecordSerializationSchema, *, waits: bool
    ) -> None:
        self._producer = RecordProducer(properties, serializer)
        self._waits = waits

    def write(self, records: list[Any]) -> None:
        self._producer.write(records)

    def flush(self) -> None:
        if self._waits:
            self._producer.flush()

    def close(self) -> None:
        self._producer.client.flush(_CLOSE_S)


@final
class TransactionalWriter(SinkWriter[Transaction]):
    """Writes a transaction for each checkpoint with records.

    A producer of librdkafka does one transaction and leaves it open, for the committer. The next producer is made
    beside the loop, while the one before it is in use, so that records do not wait for it.
    """

    def __init__(
        self,
        properties: Mapping[str, Any],
        serializer: KafkaRecordSerializationSchema,
        name: Callable[[int], str],
    ) -> None:
        self._properties = properties
        self._serializer = serializer
        self._names = map(name, itertools.count(1))
        self._closed = False
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="kafka-transactions")
        self._next = self._prepare_next()
        self._current: tuple[str, RecordProducer] | None = None

    def write(self, records: list[Any]) -> None:
        if records:
            self._producer().write(records)

    def _producer(self) -> RecordProducer:
        if self._current is None:
            self._current = self._begun()
            self._next = self._prepare_next()
        return self._current[1]

    def _begun(self) -> tuple[str, RecordProducer]:
        try:
            return self._next.result(_BEGIN_S)
        except TimeoutError as error:
            servers = self._properties["bootstrap.servers"]
            raise SinkError(f"the Kafka brokers at {servers} begin no transaction within {_BEGIN_S:g} s") from error

    def _prepare_next(self) -> Future[tuple[str, RecordProducer]]:
        return self._beside.submit(self._begin, next(self._names))

    def _begin(self, transactional_id: str) -> tuple[str, RecordProducer]:
        producer = RecordProducer({**self._properties, "transactional.id": transactional_id}, self._serializer)
        try:
            self._register(producer)
            producer.client.begin_transaction()
        except KafkaException as error:
            raise SinkError(f"the Kafka transaction {transactional_id!r} cannot be begun: {error}") from error
        return transactional_id, producer

    def _register(self, producer: RecordProducer) -> None:
        """Make the transactional id known to the brokers: an outage is waited for."""
        while True:
            try:
                producer.client.init_transactions(_TRY_S)
                return
            except KafkaException as error:
                if self._closed or not error.args[0].retriable():
                    raise

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Transaction]:
        if self._current is None:
            return []
        transactional_id, producer = self._current
        producer.flush()
        self._current = None
        if not producer.records:
            self._beside.submit(_abort, producer)
            return []
        return [
            Transaction(
                transactional_id=transactional_id, topics=tuple(sorted(producer.topics)), records=producer.records
            )
        ]

    def close(self) -> None:
        """Abort what is not prepared, beside the loop. Does not block."""
        if self._closed:
            return
        self._closed = True
        if self._current is not None:
            self._beside.submit(_abort, self._current[1])
        self._beside.submit(self._abort_next)
        self._beside.shutdown(wait=False)

    def _abort_next(self) -> None:
        with suppress(SinkError):
            _abort(self._next.result()[1])


def _abort(producer: RecordProducer) -> None:
    """Abort a transaction. One that cannot be, because the brokers are away, they abort themselves after a time."""
    with suppress(KafkaException):
        producer.client.purge()
        producer.client.abort_transaction(_TRY_S)
