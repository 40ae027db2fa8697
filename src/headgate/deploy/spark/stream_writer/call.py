"""One call of a Spark writer's `write`, which asks for its rows by itself, while a sink's records come by themselves.

The call is made in a thread of its own. It and the caller take turns: one waits while the other runs, so that user code
never runs at the same time as other user code of the slot, and no more than one piece of rows is on its way.
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
    """Raised by the iterator that a writer reads: the rest will not come, and nothing of it will be committed."""


@final
class WriteCall:
    """One call of `write`. Its methods are called by one thread, and block while the writer runs."""

    def __init__(self, write: Callable[[Iterator[Any]], Any], name: str, context: SinkContext) -> None:
        """Begin the call: run `write` until it asks for its first row. `name` is what errors call it."""
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
        """Let the writer take these rows. Raises what it raises, `SinkError` when it has returned before."""
        if self._ended:
            self._raise_error()
            raise self._left()
        self._take_turn(lambda: self._given.put(rows))
        self._raise_error()

    def end(self) -> Any:
        """Tell the writer that there are no more rows; return what `write` returns. Raises as `give` does."""
        if not self._ended:
            self._take_turn(lambda: self._given.put(None))
        self._thread.join()
        self._raise_error()
        if length_hint(self._last):
            raise self._left()
        return self._result

    def abandon(self) -> None:
        """Have the writer see `WriteAbandoned` where it waits for rows, so that it closes what it has open."""
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

    # --- in the thread

    def _run(self) -> None:
        try:
            self._result = self._write(chain.from_iterable(self._pieces()))
        except BaseException as error:  # noqa: BLE001  # whatever user code raises is raised again by the caller
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
    """Return what `TaskContext.get()` gives the writer: as in Spark, no two calls have the same `taskAttemptId`."""
    task = object.__new__(TaskContext)  # TaskContext() is that of the process, which runs for longer than one call
    task._partitionId = context.subtask
    task._attemptNumber = context.attempt
    task._taskAttemptId = secrets.randbits(63)
    task._stageId = 0
    task._localProperties = {}
    task._resources = {}
    return task
