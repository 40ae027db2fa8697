"""Orders that take a while, such as savepoints: begun by one request, and asked about by others."""

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
"""Operations that are kept, the latest."""
_POLL_S: Final = 0.02


class OperationKind(Enum):
    """What is asked for: each kind has ids of its own."""

    SAVEPOINT = "savepoints"
    CHECKPOINT = "checkpoints"
    DISPOSAL = "savepoint-disposal"
    RESCALING = "rescaling"


AskedFor = Future[str] | Future[None]
"""What the outcome of an operation arrives in: where a savepoint is, or that it is gone; how a job runs now."""


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
        """Keep an operation of the job `owner` ("" for none); return the id to ask about it with."""
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
        """Return how far the operation is, as Flink writes it; None when there is none of this kind and id."""
        with self._lock:
            found = self._known.get((kind, trigger_id))
            if found is None or found.owner != owner:
                return None
            found.fetched = done = found.future.done()
        if not done:
            return {"status": {"id": "IN_PROGRESS"}, "operation": None}
        return {"status": {"id": "COMPLETED"}, "operation": _result(kind, found.future)}

    def await_fetched(self, owner: str, timeout_s: float) -> None:
        """Block until a client has fetched how each operation of the job went, but no longer than the timeout.

        A job ends by its stop-with-savepoint: who waits for the savepoint has to learn of it before the server closes.
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
