"""One call of a Spark writer's `write`: the writer pulls rows from an iterator, while a sink pushes records.

The call runs in a separate thread. The thread and the caller take turns: one waits while the other runs. So no two
functions of user code run at the same time in a slot, and at most one list of rows is in memory.
"""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import length_hint
from typing import Any, final

from pyspark import TaskContext

from headgate.errors import SinkError
from headgate.functions.sink import SinkContext


@final
class WriteAbandoned(BaseException):
    """Raised by the iterator of rows: no more rows follow, and nothing of this call will be committed."""


@final
class WriteCall:
    """One call of `write`. One thread calls the methods, which block while the writer runs."""

    def __init__(self, write: Callable[[Iterator[Any]], Any], name: str, context: SinkContext) -> None:
        """Begin the call: run `write` until it reads its first row. `name` is the name of the call in errors."""
        self._write = write
        self._name = name
        self._task = _task_context(context)
        self._given: queue.SimpleQueue[Iterable[Any] | WriteAbandoned | None] = queue.SimpleQueue()
        self._turns: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._last: Iterator[Any] = iter(())
        self._result: Any = None
        self._error: BaseException | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"headgate-write-{context.subtask}", daemon=True)
        self._take_turn(self._thread.start)

    def give(self, rows: list[Any]) -> None:
        """Pass rows to the writer. Raises the writer's error, `SinkError` if the writer has already returned."""
        if self._ended:
            self._raise_error()
            raise self._left()
        self._take_turn(lambda: self._given.put(rows))
        self._raise_error()

    def end(self) -> Any:
        """End the iterator of rows. Return the result of `write`. Raises the errors of `give`."""
        if not self._ended:
            self._take_turn(lambda: self._given.put(None))
        self._thread.join()
        self._raise_error()
        if length_hint(self._last):
            raise self._left()
        return self._result

    def abandon(self) -> None:
        """Raise `WriteAbandoned` in the writer where it waits for rows, so that it closes its resources."""
        if not self._ended:
            self._take_turn(lambda: self._given.put(WriteAbandoned()))
        self._thread.join()

    def _take_turn(self, begin: Callable[[], None]) -> None:
        others = TaskContext.get()
        TaskContext._setTaskContext(self._task)
        try:
            begin()
            self._turns.get()
        finally:
            TaskContext._setTaskContext(others)

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _left(self) -> SinkError:
        return SinkError(
            f"{self._name} returned before it had read all rows of its iterator, and those that are left would be lost"
        )

    # --- in the writer's thread

    def _run(self) -> None:
        try:
            self._result = self._write(chain.from_iterable(self._pieces()))
        except BaseException as error:  # noqa: BLE001  # the caller raises it again
            self._error = error
        finally:
            self._ended = True
            self._turns.put(None)

    def _pieces(self) -> Iterator[Iterator[Any]]:
        while True:
            self._turns.put(None)
            rows = self._given.get()
            if rows is None:
                return
            if isinstance(rows, WriteAbandoned):
                raise rows
            self._last = iter(rows)
            yield self._last


def _task_context(context: SinkContext) -> TaskContext:
    """Return the writer's `TaskContext`. As in Spark, each call has a unique `taskAttemptId`."""
    task = object.__new__(TaskContext)  # TaskContext() would return the context of the process
    task._partitionId = context.subtask
    task._attemptNumber = context.attempt
    task._taskAttemptId = secrets.randbits(63)
    task._stageId = 0
    task._localProperties = {}
    task._resources = {}
    return task
