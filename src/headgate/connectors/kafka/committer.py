"""Commits Kafka transactions, whichever process wrote them, and aborts those that will never be committed."""

from __future__ import annotations

import logging
from typing import final

from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.transaction_coordinator import (
    TransactionCoordinator,
    TransactionDescription,
    TransactionState,
)
from headgate.connectors.kafka.transactions import Transaction, leftovers, mark_of
from headgate.functions.sink import CommitLostError, Committer, SinkContext

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
