"""What an operator may ask of whoever runs it. A service is declared here, once, with what it does where no slot is."""

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
    """The services of one subtask's operators. Without a slot there is no loop to hold up: work is done at once.

    A slot does most of them another way (`runtime.slot.services`); others only what they have a use for.
    """

    clock: Clock
    """The injected clock."""
    _event_loop: SteppedLoop | None = None
    _shared: dict[str, Any] | None = None

    def event_loop(self) -> SteppedLoop:
        """Return the asyncio loop of the operators, which is made when the first of them asks for it.

        A slot steps it between two pieces of work; without a slot, whoever runs the operator does.
        """
        if self._event_loop is None:
            self._event_loop = SteppedLoop(self.clock)
        return self._event_loop

    def end_event_loop(self) -> None:
        """Cancel what is left of coroutines; to be called when the operators are closed."""
        if self._event_loop is not None:
            self._event_loop.end()
            self._event_loop = None

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        """Return what all subtasks of the operator `uid` share in this slot: what `make` made for the first of them."""
        if self._shared is None:
            self._shared = {}
        if uid not in self._shared:
            self._shared[uid] = make()
        return cast("T", self._shared[uid])

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread and call `done` on the loop with its result or exception."""
        try:
            result: T | BaseException = work()
        except Exception as error:  # noqa: BLE001  # an exception is a result
            result = error
        done(result)

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work`, which may wait for long, on a thread; its result is dropped when the attempt is over."""
        self.submit(work, done)

    @abstractmethod
    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Have the loop make the call when the time is over."""

    def committed(self, checkpoint_id: CheckpointId) -> None:
        """Report that this subtask's sinks have committed everything up to the checkpoint."""

    def fail(self, error: BaseException) -> None:
        """Fail the subtask because of something that happened outside the loop."""
        raise error

    def of_backend(self, uid: str) -> BackendServices:
        """Return what the keyed state of the operator `uid` may ask for."""
        return self

    def state_writer(self) -> StateWriter:
        """Return a writer for files of keyed state that belong to no checkpoint yet."""
        raise InternalError("an operator that no slot runs was asked to write state")

    @abstractmethod
    def scratch(self, uid: str) -> Path:
        """Return a local folder for files of the operator `uid`, empty in each attempt, removed at the slot's end."""

    def splits_read(self, given: int) -> None:
        """Report that this subtask's reader has read all it was given, `given` splits of it since the attempt began."""

    def report_watermark(self, watermark_ms: int | None) -> None:
        """Report how far the subtask of a source has come in event time; None: others need not wait for it."""

    def held_back_ms(self) -> float:
        """Return how long in all there was more to do for the subtask, but no room for what comes out, or no turn."""
        return 0.0

    @abstractmethod
    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Send pickled records, part of those of a checkpoint, to the program that waits for them.

        `origin` is the index of the subtask that they came to, maybe in an earlier attempt.
        """

    def count(self, name: str, by: int) -> None:
        """Add to a named counter of the job."""
