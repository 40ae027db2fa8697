"""The services of operators: a slot, a batch task or a test harness provides them; the defaults need no slot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from headgate.clock import Clock
from headgate.errors import InternalError
from headgate.ids import CheckpointId
from headgate.operators.stepped_loop import SteppedLoop
from headgate.state.backend import BackendServices, StateWriter

T = TypeVar("T")


class Services(ABC):
    """The services for the operators of one subtask. The defaults do all work at once: without a slot no loop waits.

    A slot overrides most services (`runtime.slot.services`). Batch tasks and harnesses override the services they need.
    """

    clock: Clock
    """The injected clock."""
    _event_loop: SteppedLoop | None = None
    _shared: dict[str, Any] | None = None

    def event_loop(self) -> SteppedLoop:
        """Return the asyncio loop that all operators share. The first call creates it.

        A slot steps the loop between two pieces of work. Without a slot the caller of the operator steps it.
        """
        if self._event_loop is None:
            self._event_loop = SteppedLoop(self.clock)
        return self._event_loop

    def end_event_loop(self) -> None:
        """Cancel the remaining coroutines and close the loop. Call it after the operators are closed."""
        if self._event_loop is not None:
            self._event_loop.end()
            self._event_loop = None

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        """Return the object that all subtasks of the operator `uid` in this slot share. The first call makes it."""
        if self._shared is None:
            self._shared = {}
        if uid not in self._shared:
            self._shared[uid] = make()
        return cast("T", self._shared[uid])

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread, then call `done` on the loop with the result or the exception."""
        try:
            result: T | BaseException = work()
        except Exception as error:  # noqa: BLE001  # an exception is a result
            result = error
        done(result)

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Do as `submit` does, for `work` that may wait long. The result is dropped once the attempt has ended."""
        self.submit(work, done)

    @abstractmethod
    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Call `call` on the loop after `delay_ms`. Returns at once."""

    def committed(self, checkpoint_id: CheckpointId) -> None:
        """Report that this subtask's sinks have committed everything up to and including the checkpoint."""

    def fail(self, error: BaseException) -> None:
        """Fail the subtask with an error that occurred outside the loop."""
        raise error

    def of_backend(self, uid: str) -> BackendServices:
        """Return the services for the keyed state of the operator `uid`."""
        return self

    def state_writer(self) -> StateWriter:
        """Return a writer for files of keyed state that do not belong to a checkpoint yet."""
        raise InternalError("an operator that no slot runs was asked to write state")

    @abstractmethod
    def scratch(self, uid: str) -> Path:
        """Return a local folder for the operator `uid`. It is empty in each attempt, and removed when the slot ends."""

    def splits_read(self, given: int) -> None:
        """Report that this subtask's reader has read all its splits; `given` of them were added in this attempt."""

    def report_watermark(self, watermark_ms: int | None) -> None:
        """Report the watermark of a source's subtask. None: other subtasks need not wait for this one."""

    def held_back_ms(self) -> float:
        """Return the total milliseconds for which the subtask had work but could not do it.

        Its outputs were full, or other subtasks had the thread.
        """
        return 0.0

    @abstractmethod
    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Send pickled records to the program that waits for them. They are one part of a checkpoint's records.

        `origin` is the index of the subtask that received the records, possibly in an earlier attempt. `part` numbers
        the parts of one subtask.
        """

    def count(self, name: str, by: int) -> None:
        """Add to a named counter of the job."""
