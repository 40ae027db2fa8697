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
    """What the host of a slot provides.

    `store` is the job's folder, `open_store` opens another one by its location (of a savepoint, or of another job): it
    blocks and raises StorageError. `send` takes a message to the job master; it does not block. `watch` ends the wait
    of the host when a file is ready. `log` has what is logged and printed, None where that is not kept.
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
    """What the subtasks of an execution ask of their slot."""

    @property
    def index(self) -> SlotIndex:
        """Which slot it is."""
        ...

    @property
    def attempt(self) -> Attempt:
        """The attempt that runs. Raises InternalError when none does."""
        ...

    def send(self, message: FromSlot) -> None:
        """Take a message to the job master. Does not block."""
        ...

    def submit_outward(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work`, which changes what is outside the job, on an I/O thread; the attempt is not over before it is."""
        ...

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread; its result is dropped if the attempt is over by then."""
        ...

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Do as `submit` does with work that may wait for long."""
        ...

    def state_writer(self, subtask: SubtaskId, uid: str) -> StateWriter:
        """Return a writer for state files of an operator that belong to no checkpoint yet."""
        ...

    def scratch(self, subtask: SubtaskId, uid: str) -> Path:
        """Return a local folder for files of an operator."""
        ...

    def held_back_ms(self, subtask: SubtaskId) -> float:
        """Return how long in all the subtask was back-pressured."""
        ...

    def count(self, name: str, by: int) -> None:
        """Add to a named counter."""
        ...

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Have the loop make the call when the time is over, unless the attempt is by then."""
        ...

    def event_loop(self) -> SteppedLoop:
        """Return the asyncio loop of the attempt's operators."""
        ...

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        """Return what all subtasks of an operator share, which is made for the first of them."""
        ...

    def failed(self, subtask: SubtaskId, failure: UserFailure | str, error: BaseException) -> None:
        """The subtask failed because of `error`, of which `failure` is the report."""
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
