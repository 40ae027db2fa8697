"""Kafka topics as a sink: at least once, or exactly once by transactions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Self, final

from confluent_kafka import Producer

from headgate.connectors.guarantee import DeliveryGuarantee
from headgate.connectors.kafka.client import partitions_of, topics_of
from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headgate.connectors.kafka.transaction_coordinator import (
    TransactionCoordinator,
    TransactionDescription,
    TransactionState,
)
from headgate.connectors.kafka.transactions import (
    Transaction,
    abandoned,
    job_prefix,
    leftovers,
    mark_of,
    name_of,
    of_other_lineages,
    voids_of,
)
from headgate.connectors.kafka.writers import KafkaFlushingWriter, TransactionalWriter
from headgate.errors import ProgramError, SinkError
from headgate.functions.flushing import FlushingSink
from headgate.functions.sink import CommitLostError, Committer, Sink, SinkContext, SinkIdentity, SinkWriter
from headgate.ids import CheckpointId

_TIMEOUT: Final = "transaction.timeout.ms"
_TIMEOUT_MS: Final = 900_000
"""The longest timeout that brokers allow by default. Flink's default is an hour, which such brokers refuse."""


class KafkaSink(Sink[Any]):
    """Writes records to Kafka. Make one with `KafkaSink.builder()`."""

    def __init__(self, properties: Properties, serializer: KafkaRecordSerializationSchema) -> None:
        self._properties = dict(properties)
        self._serializer = serializer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Return a builder, which needs bootstrap servers and a record serializer."""
        return KafkaSinkBuilder()

    def prepare(self, identity: SinkIdentity) -> None:
        """Find the brokers, log in, and look for the topic, if all records go to one."""
        if self._serializer.topic is None:
            topics_of(self._properties, SinkError)
        else:
            partitions_of(self._serializer.topic, self._properties, SinkError, Producer)


@final
class FlushingKafkaSink(KafkaSink, FlushingSink):
    """Writes records without transactions. `waits`: each barrier waits until the brokers have all records."""

    def __init__(self, properties: Properties, serializer: KafkaRecordSerializationSchema, *, waits: bool) -> None:
        super().__init__(properties, serializer)
        self._waits = waits

    def flushing_writer(self, context: SinkContext) -> KafkaFlushingWriter:
        return KafkaFlushingWriter(self._properties, self._serializer, context.subtask, waits=self._waits)


@final
class TransactionalKafkaSink(KafkaSink):
    """One transaction for each subtask and checkpoint."""

    def __init__(
        self,
        properties: Properties,
        serializer: KafkaRecordSerializationSchema,
        prefix: str,
        *,
        ignores_lost: bool,
    ) -> None:
        super().__init__({_TIMEOUT: _TIMEOUT_MS, **properties}, serializer)
        self._prefix = prefix
        self._ignores_lost = ignores_lost
        self._timeout_ms = _milliseconds(self._properties[_TIMEOUT])
        self.transaction_timeout_ms = self._timeout_ms

    def prepare(self, identity: SinkIdentity) -> None:
        """Also ask the brokers whether they allow the sink's transactional ids and its transaction timeout."""
        super().prepare(identity)
        with TransactionCoordinator(self._properties) as coordinator:
            coordinator.register(job_prefix(self._prefix, identity.job_id), self._timeout_ms)

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        with TransactionCoordinator(self._properties) as coordinator:
            for void in voids_of(coordinator.unfinished(self._prefix), savepoints):
                coordinator.register(void, self._timeout_ms)

    def discard(self, identity: SinkIdentity) -> None:
        with TransactionCoordinator(self._properties) as coordinator:
            coordinator.fence(abandoned(coordinator.unfinished(self._prefix), self._prefix, identity))

    def end_others(self, identity: SinkIdentity, held: list[Transaction]) -> Callable[[], None]:
        with TransactionCoordinator(self._properties) as coordinator:
            left = of_other_lineages(coordinator.unfinished(self._prefix), self._prefix, identity)
        ended = set(left) - {transaction.transactional_id for transaction in held}

        def end() -> None:
            with TransactionCoordinator(self._properties) as coordinator:
                coordinator.fence(sorted(ended))

        return end if ended else super().end_others(identity, held)

    def writer(self, context: SinkContext) -> SinkWriter[Transaction]:
        return TransactionalWriter(
            self._properties,
            self._serializer,
            lambda after: name_of(self._prefix, context, after),
            context.restored_id or CheckpointId(0),
            context.subtask,
        )

    def committer(self, context: SinkContext) -> Committer[Transaction]:
        return TransactionCommitter(
            self._properties, self._prefix, context, self._timeout_ms, ignores_lost=self._ignores_lost
        )


_log = logging.getLogger(__name__)


@final
class TransactionCommitter(Committer[Transaction]):
    """Commits transactions. `ignores_lost`: log a transaction that the brokers aborted, instead of failing."""

    def __init__(
        self,
        properties: Properties,
        prefix: str,
        context: SinkContext,
        timeout_ms: int,
        *,
        ignores_lost: bool,
    ) -> None:
        self._properties = properties
        self._prefix = prefix
        self._context = context
        self._timeout_ms = timeout_ms
        self._ignores_lost = ignores_lost

    def commit(self, committables: list[Transaction]) -> None:
        if not committables:
            return
        with TransactionCoordinator(self._properties) as coordinator:
            for transaction in committables:
                described = coordinator.describe(transaction.transactional_id)
                if described.state is TransactionState.OPEN:
                    coordinator.commit(transaction.transactional_id, described)
                elif described.state is not TransactionState.COMMITTED:
                    self._lose(transaction, described)

    def _lose(self, transaction: Transaction, described: TransactionDescription) -> None:
        lost = CommitLostError(
            f"{transaction.records} records for {', '.join(transaction.topics)} can never be committed: the Kafka "
            f"transaction {transaction.transactional_id!r} (producer id {described.producer_id}) is "
            f"{described.state.value}. Brokers abort a transaction that is open for longer than transaction.timeout.ms "
            f"({self._timeout_ms} ms), and forget it after seven days. The records are in the topics, for consumers "
            "with isolation.level=read_uncommitted. Raise transaction.timeout.ms above the longest outage; to give "
            "these records up and go on, build the sink with ignore_failures_after_transaction_timeout()"
        )
        if not self._ignores_lost:
            raise lost
        _log.error("%s: left out, because of ignore_failures_after_transaction_timeout()", lost)

    def keep(self, committables: list[Transaction], savepoint: str) -> None:
        if committables:
            with TransactionCoordinator(self._properties) as coordinator:
                for transaction in committables:
                    coordinator.register(mark_of(transaction.transactional_id, savepoint), self._timeout_ms)

    def abort(self, committables: list[Transaction]) -> None:
        if committables:
            with TransactionCoordinator(self._properties) as coordinator:
                coordinator.fence(transaction.transactional_id for transaction in committables)

    def recover(self, restored: list[Transaction]) -> None:
        if self._context.attempt == 1 and self._context.restored_job is None:
            return
        with TransactionCoordinator(self._properties) as coordinator:
            left = leftovers(coordinator.unfinished(self._prefix), self._prefix, self._context)
            coordinator.fence(set(left) - {transaction.transactional_id for transaction in restored})


@final
class KafkaSinkBuilder:
    """Builds a `KafkaSink`."""

    def __init__(self) -> None:
        self._properties: dict[str, object] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._ignores_lost = False

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set the addresses of brokers: `host:port`, or several with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> Self:
        """Set the schema that makes messages of records."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise ProgramError(
                f"set_record_serializer() takes a KafkaRecordSerializationSchema, not {record_serializer!r:.100}"
            )
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Set the delivery guarantee. The default is NONE, as in Flink."""
        self._guarantee = DeliveryGuarantee(delivery_guarantee)
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """Set the prefix of all transactional ids; needed for EXACTLY_ONCE. Brokers can have access rules for it."""
        self._prefix = transactional_id_prefix
        return self

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of librdkafka's producer, for instance `compression.type`."""
        self._properties[key] = value
        return self

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Log transactions that brokers aborted before their commit, instead of failing. Their records are lost."""
        self._ignores_lost = True
        return self

    def build(self) -> KafkaSink:
        """Return the sink. Raises `ProgramError` naming what is missing."""
        if not self._properties.get("bootstrap.servers"):
            raise ProgramError("a KafkaSink needs set_bootstrap_servers()")
        if self._serializer is None:
            raise ProgramError("a KafkaSink needs set_record_serializer()")
        if self._guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            waits = self._guarantee is DeliveryGuarantee.AT_LEAST_ONCE
            return FlushingKafkaSink(self._properties, self._serializer, waits=waits)
        if not self._prefix:
            raise ProgramError(
                "a KafkaSink with EXACTLY_ONCE needs set_transactional_id_prefix() with a prefix that no other sink has"
            )
        return TransactionalKafkaSink(self._properties, self._serializer, self._prefix, ignores_lost=self._ignores_lost)


def _milliseconds(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise ProgramError(f"{_TIMEOUT} must be a number of milliseconds, not {value!r}") from None
