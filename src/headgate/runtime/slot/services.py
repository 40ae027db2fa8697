"""Services around a slot: what its host provides, what subtasks ask of it, and what it provides to operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, final

from headgate.checkpoint.messages import SubtaskCommitted
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import Clock
from headgate.ids import Attempt, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.failure import UserFailure
from headgate.operators.services import Services
from headgate.operators.stepped_loop import SteppedLoop
from headgate.runtime.control.messages import Collected, FromSlot, SplitsRead, WatermarkReported
from headgate.runtime.exchange import Exchange
from headgate.runtime.io import WaitingIo
from headgate.runtime.slot.log_tail import LogTail
from headgate.runtime.slot.subtask import SubtaskHost
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.runtime.wire.poller import Watch
from headgate.state.backend import BackendServices, StateWriter

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotServices:
    """The services that the host of a slot provides.

    `store` is the job's folder. `open_store` opens the folder of a savepoint or another job by its location; it blocks
    and raises StorageError. `send` sends a message to the job master without blocking. `watch` ends the wait of the
    host when a file is ready. `log` has the lines that were logged and printed, None if the host does not keep them.
    """

    clock: Clock
    io: WaitingIo
    store: CheckpointStore
    open_store: Callable[[str], CheckpointStore]
    exchange: Exchange
    send: Callable[[FromSlot], None]
    scratch: Scratch
    watch: Watch
    log: LogTail | None = None


class ExecutionHost(SubtaskHost, Protocol):
    """The slot, as its subtasks see it."""

    @property
    def index(self) -> SlotIndex:
        """The index of the slot."""
        ...

    @property
    def attempt(self) -> Attempt:
        """The attempt that runs. Raises InternalError when none does."""
        ...

    def send(self, message: FromSlot) -> None:
        """Send a message to the job master. Does not block."""
        ...

    def submit_outward(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work`, which changes external systems, as `submit` does. The attempt ends only after the work."""
        ...

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread. `done` gets its result unless the attempt has ended. Does not block."""
        ...

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work`, which may wait for long, as `submit` does."""
        ...

    def state_writer(self, subtask: SubtaskId, uid: str) -> StateWriter:
        """Return a writer for state files of an operator that belong to no checkpoint yet."""
        ...

    def scratch(self, subtask: SubtaskId, uid: str) -> Path:
        """Return a local folder for the files of an operator."""
        ...

    def held_back_ms(self, subtask: SubtaskId) -> float:
        """Return the total milliseconds for which the subtask was back-pressured."""
        ...

    def count(self, name: str, by: int) -> None:
        """Add to a named counter."""
        ...

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Have the loop make the call after `delay_ms`, unless the attempt has ended."""
        ...

    def event_loop(self) -> SteppedLoop:
        """Return the asyncio loop of the attempt's operators."""
        ...

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        """Return the object that all subtasks of an operator share. The first call makes it."""
        ...

    def failed(self, subtask: SubtaskId, failure: UserFailure | str, error: BaseException) -> None:
        """Report that the subtask failed with `error`, as described by `failure`."""
        ...


@final
@dataclass(frozen=True, slots=True)
class SlotBackendServices:
    """The `BackendServices` of one operator of a subtask."""

    host: ExecutionHost
    subtask: SubtaskId
    uid: str

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.host.submit(work, done)

    def state_writer(self) -> StateWriter:
        return self.host.state_writer(self.subtask, self.uid)


@final
@dataclass(slots=True)
class SubtaskServices(Services):
    """The services of one subtask's operators in a slot."""

    host: ExecutionHost
    subtask: SubtaskId
    clock: Clock

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.host.submit_outward(work, done)

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.host.submit_waiting(work, done)

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        self.host.call_later(delay_ms, call)

    def event_loop(self) -> SteppedLoop:
        return self.host.event_loop()

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        return self.host.shared(uid, make)

    def committed(self, checkpoint_id: CheckpointId) -> None:
        host = self.host
        host.send(SubtaskCommitted(attempt=host.attempt, checkpoint_id=checkpoint_id, subtask=self.subtask))

    def fail(self, error: BaseException) -> None:
        self.host.failed(self.subtask, f"{type(error).__name__}: {error}", error)

    def of_backend(self, uid: str) -> BackendServices:
        return SlotBackendServices(self.host, self.subtask, uid)

    def scratch(self, uid: str) -> Path:
        return self.host.scratch(self.subtask, uid)

    def splits_read(self, given: int) -> None:
        self.host.send(SplitsRead(attempt=self.host.attempt, subtask=self.subtask, given=given))

    def report_watermark(self, watermark_ms: int | None) -> None:
        self.host.send(WatermarkReported(attempt=self.host.attempt, subtask=self.subtask, watermark_ms=watermark_ms))

    def held_back_ms(self) -> float:
        return self.host.held_back_ms(self.subtask)

    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        attempt, subtask = self.host.attempt, SubtaskId(self.subtask.vertex, origin)
        self.host.send(
            Collected(attempt=attempt, subtask=subtask, checkpoint_id=checkpoint_id, part=part, records=records)
        )

    def count(self, name: str, by: int) -> None:
        self.host.count(name, by)
