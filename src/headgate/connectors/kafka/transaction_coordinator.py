"""Describes, commits and aborts transactions at Kafka's transaction coordinators, also after their producers died.

A checkpoint completes after its transaction's records are written, and the process that wrote them may be dead by then.
librdkafka commits a transaction only in the process that began it. But Kafka keeps a transaction open until any client
ends it, as a two-phase commit needs. Every transactional id here is used for one transaction only, so the state of the
id is the state of that transaction, for as long as the brokers remember the id (seven days).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Self, TypeVar, final

from kafka.admin import KafkaAdminClient
from kafka.errors import (
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidTransactionTimeoutError,
    KafkaConnectionError,
    KafkaError,
    NoError,
    NotCoordinatorError,
    TransactionalIdNotFoundError,
    for_code,
)
from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer.transaction import EndTxnRequest, InitProducerIdRequest

from headgate.connectors.kafka.properties import Properties, for_coordinator
from headgate.errors import SinkError
from headgate.functions.sink import RetriableCommitError

_ANSWER_MS: Final = 10_000
_AGAIN_S: Final = 0.1
_NOT_YET: Final = (CoordinatorNotAvailableError, CoordinatorLoadInProgressError, NotCoordinatorError)
"""Errors of brokers that have just started, or whose cluster has never had a transaction. They end by themselves."""
_NOT_YET_OR_LOST: Final = (*_NOT_YET, KafkaConnectionError)
"""Also the error of a broker that has just died: after some seconds another broker is the coordinator."""
_NO_STATE_YET: Final = (*_NOT_YET_OR_LOST, TransactionalIdNotFoundError, ConcurrentTransactionsError)
_UNFINISHED: Final = ("Ongoing", "Empty")
_Answer = TypeVar("_Answer")

_client_log = logging.getLogger("kafka")
if _client_log.level == logging.NOTSET:
    _client_log.setLevel(logging.WARNING)  # kafka-python logs each connection, and each commit opens some


class TransactionState(Enum):
    """Whether a transaction is open, or how it ended."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown to the brokers"


@final
@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transaction as its coordinator sees it."""

    state: TransactionState
    producer_id: int = -1
    producer_epoch: int = -1


_STATES: Final = {"Ongoing": TransactionState.OPEN, "CompleteCommit": TransactionState.COMMITTED}
"""Transactions in any other state count as aborted, also in Empty, the state of a fenced transaction."""

_ENDING: Final = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""States that do not decide the end yet. A coordinator may answer with one of them before a majority of the brokers has
stored the state: the next coordinator may not know it, and abort a transaction that the first was committing."""


@final
class _Client(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """A client that ends its thread and connections when it cannot connect; kafka-python's own leaves them."""

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except KafkaError:
            if hasattr(self, "_net"):
                self._closed = False
                self.close()
            raise


@final
class TransactionCoordinator:
    """A connection to the transaction coordinators of a cluster. All methods block, for about ten seconds at most.

    They raise `RetriableCommitError` when the brokers do not answer or are busy, and `SinkError` when they refuse.
    """

    def __init__(self, properties: Properties) -> None:
        self._servers = properties["bootstrap.servers"]
        self._settings = for_coordinator(properties)
        self._client = self._connected()

    def _connected(self) -> KafkaAdminClient:
        try:
            return _Client(**self._settings, bootstrap_timeout_ms=_ANSWER_MS, request_timeout_ms=_ANSWER_MS)
        except KafkaError as error:
            raise self._error("cannot be reached", error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def describe(self, transactional_id: str) -> TransactionDescription:
        """Return the state of the transaction with this id. Waits while the transaction is being ended.

        UNKNOWN takes ten seconds: a coordinator that has just been elected may not know the id yet.
        """

        def ask() -> TransactionDescription:
            found = self._client.describe_transactions([transactional_id])[transactional_id]
            if found.state.value in _ENDING:
                raise ConcurrentTransactionsError(f"it is {found.state.value}")
            return TransactionDescription(
                _STATES.get(found.state.value, TransactionState.ABORTED), found.producer_id, found.producer_epoch
            )

        try:
            return self._patiently(f"cannot describe transaction {transactional_id!r}", ask, _NO_STATE_YET)
        except SinkError as error:
            if isinstance(error.__cause__, TransactionalIdNotFoundError):
                return TransactionDescription(TransactionState.UNKNOWN)
            raise

    def unfinished(self, prefix: str) -> list[str]:
        """Return the transactional ids with this prefix whose transaction is open or was never begun."""
        listed = self._patiently(
            "cannot list transactions", lambda: self._client.list_transactions(state_filters=_UNFINISHED).values()
        )
        found = [listing.transactional_id for listings in listed for listing in listings]
        return [transactional_id for transactional_id in found if transactional_id.startswith(prefix)]

    def commit(self, transactional_id: str, described: TransactionDescription) -> None:
        """Commit an open transaction: consumers see its records a moment later."""
        self._send(
            transactional_id,
            EndTxnRequest(
                transactional_id=transactional_id,
                producer_id=described.producer_id,
                producer_epoch=described.producer_epoch,
                committed=True,
            ),
            _NOT_YET,  # not after a lost connection: then the transaction has to be described before another commit
        )

    def fence(self, transactional_ids: Iterable[str]) -> None:
        """Abort the transactions of these ids, and fence the producers that used them."""
        for transactional_id in transactional_ids:
            try:
                self.register(transactional_id, _ANSWER_MS)
            except RetriableCommitError as error:
                if not isinstance(error.__cause__, ConcurrentTransactionsError):
                    raise

    def register(self, transactional_id: str, timeout_ms: int) -> None:
        """Register an id with its coordinator, which fences earlier producers with the id.

        `timeout_ms` is the transaction timeout. Raises `SinkError` if the brokers allow less, and
        `RetriableCommitError` while the coordinator aborts an open transaction of an earlier producer.
        """
        self._send(
            transactional_id,
            InitProducerIdRequest(
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
                producer_id=-1,
                producer_epoch=-1,
            ),
            _NOT_YET_OR_LOST,
        )

    def _send(self, transactional_id: str, request: Any, again: tuple[type[KafkaError], ...]) -> None:
        """Send a request to the coordinator of an id. The client has no public method for these two requests."""

        async def send() -> Any:
            node = await self._client._find_coordinator_id(transactional_id, CoordinatorType.TRANSACTION)
            return await self._client._manager.send(request, node_id=node)

        def ask() -> None:
            answer = for_code(self._client._manager.run(send).error_code)
            if answer is not NoError:
                raise answer

        self._patiently(f"refused {type(request).__name__} of {transactional_id!r}", ask, again)

    def _patiently(
        self, trouble: str, ask: Callable[[], _Answer], again: tuple[type[KafkaError], ...] = _NOT_YET_OR_LOST
    ) -> _Answer:
        """Call `ask`, and retry on the errors `again`, for ten seconds: these end when a new coordinator is elected."""
        deadline = time.monotonic() + _ANSWER_MS / 1_000.0
        while True:
            try:
                return ask()
            except KafkaError as error:
                if not isinstance(error, again) or time.monotonic() > deadline:
                    raise self._error(trouble, error) from error
            time.sleep(_AGAIN_S)
            self._client.close()
            self._client = self._connected()  # a new client: the old one would ask the coordinator that it remembers

    def _error(self, what: str, error: KafkaError) -> SinkError:
        said = f"the Kafka brokers at {self._servers}: {what}: {error}"
        if isinstance(error, InvalidTransactionTimeoutError):
            return SinkError(
                f"{said}. transaction.timeout.ms is more than the brokers allow: lower it, or raise the brokers' "
                "transaction.max.timeout.ms"
            )
        return RetriableCommitError(said) if error.retriable else SinkError(said)
