"""Operations that take a while, such as savepoints: one request begins them, later requests ask for the result."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.runtime.monitoring.statistics_json import Json

OPERATIONS_MAX: Final = 1000
"""The largest number of operations that are kept; the oldest are deleted first."""
_POLL_S: Final = 0.02


class OperationKind(Enum):
    """The kind of an operation; each kind has its own trigger ids."""

    SAVEPOINT = "savepoints"
    CHECKPOINT = "checkpoints"
    DISPOSAL = "savepoint-disposal"
    RESCALING = "rescaling"


AskedFor = Future[str] | Future[None]
"""The future of an operation. Answers use its result for savepoints and checkpoints only: their location."""


@final
@dataclass(slots=True)
class _Operation:
    owner: str
    future: AskedFor
    fetched: bool = False


@final
class Operations:
    """The operations of a server, by kind and trigger id. May be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[OperationKind, str], _Operation] = OrderedDict()

    def begin(self, kind: OperationKind, owner: str, future: AskedFor, trigger_id: str | None = None) -> str:
        """Register an operation of the job `owner` ("" for none); return its trigger id."""
        id_ = trigger_id or secrets.token_hex(16)
        with self._lock:
            self._known[kind, id_] = _Operation(owner, future)
            while len(self._known) > OPERATIONS_MAX:
                self._known.popitem(last=False)
        return id_

    def is_known(self, kind: OperationKind, owner: str, trigger_id: str) -> bool:
        """Return whether the job has an operation of this kind and id."""
        with self._lock:
            found = self._known.get((kind, trigger_id))
            return found is not None and found.owner == owner

    def answer(self, kind: OperationKind, owner: str, trigger_id: str) -> Json | None:
        """Return the status of the operation in Flink's form; None if the job has none of this kind and id."""
        with self._lock:
            found = self._known.get((kind, trigger_id))
            if found is None or found.owner != owner:
                return None
            found.fetched = done = found.future.done()
        if not done:
            return {"status": {"id": "IN_PROGRESS"}, "operation": None}
        return {"status": {"id": "COMPLETED"}, "operation": _result(kind, found.future)}

    def await_fetched(self, owner: str, timeout_s: float) -> None:
        """Block until clients have fetched the result of each operation of the job, at most for the timeout.

        A stop with a savepoint ends the job: the client must learn the savepoint's location before the server closes.
        """
        deadline = time.monotonic() + timeout_s
        while self._has_unfetched(owner) and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _has_unfetched(self, owner: str) -> bool:
        with self._lock:
            return any(each.owner == owner and not each.fetched for each in self._known.values())


def _result(kind: OperationKind, future: AskedFor) -> Json:
    error = BaseException("cancelled") if future.cancelled() else future.exception()
    if error is not None:
        return {"failure-cause": {"class": type(error).__name__, "stack-trace": str(error) or type(error).__name__}}
    if kind is OperationKind.SAVEPOINT:
        return {"location": future.result()}
    return {"external-path": future.result()} if kind is OperationKind.CHECKPOINT else {}
