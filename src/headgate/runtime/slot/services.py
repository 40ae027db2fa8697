"""Services around a slot: those that its host provides, and those that it provides to operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, final

from headgate.checkpoint.messages import SubtaskCommitted
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import Clock
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.services import Services
from headgate.operators.stepped_loop import SteppedLoop
from headgate.runtime.control.messages import Collected, FromSlot, SplitsRead, WatermarkReported
from headgate.runtime.exchange import Exchange
from headgate.runtime.io import WaitingIo
from headgate.runtime.slot.log_tail import LogTail
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.runtime.wire.poller import Watch
from headgate.state.backend import BackendServices, StateWriter

if TYPE_CHECKING:
    from headgate.runtime.slot.slot import Slot

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


@final
@dataclass(frozen=True, slots=True)
class SlotBackendServices:
    """The `BackendServices` of one operator of a subtask."""

    slot: Slot
    subtask: SubtaskId
    uid: str

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.slot.submit(work, done)

    def state_writer(self) -> StateWriter:
        return self.slot.state_writer(self.subtask, self.uid)


@final
@dataclass(slots=True)
class SubtaskServices(Services):
    """The services of one subtask's operators in a slot."""

    slot: Slot
    subtask: SubtaskId
    clock: Clock

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.slot.submit_outward(work, done)

    def submit_waiting(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self.slot.submit_waiting(work, done)

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        self.slot.call_later(delay_ms, call)

    def event_loop(self) -> SteppedLoop:
        return self.slot.event_loop()

    def shared(self, uid: str, make: Callable[[], T]) -> T:
        return self.slot.shared(uid, make)

    def committed(self, checkpoint_id: CheckpointId) -> None:
        slot = self.slot
        slot.send(SubtaskCommitted(attempt=slot.attempt, checkpoint_id=checkpoint_id, subtask=self.subtask))

    def fail(self, error: BaseException) -> None:
        self.slot.failed(self.subtask, f"{type(error).__name__}: {error}", error)

    def of_backend(self, uid: str) -> BackendServices:
        return SlotBackendServices(self.slot, self.subtask, uid)

    def scratch(self, uid: str) -> Path:
        return self.slot.scratch(self.subtask, uid)

    def splits_read(self, given: int) -> None:
        self.slot.send(SplitsRead(attempt=self.slot.attempt, subtask=self.subtask, given=given))

    def report_watermark(self, watermark_ms: int | None) -> None:
        self.slot.send(WatermarkReported(attempt=self.slot.attempt, subtask=self.subtask, watermark_ms=watermark_ms))

    def held_back_ms(self) -> float:
        return self.slot.held_back_ms(self.subtask)

    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        attempt, subtask = self.slot.attempt, SubtaskId(self.subtask.vertex, origin)
        self.slot.send(
            Collected(attempt=attempt, subtask=subtask, checkpoint_id=checkpoint_id, part=part, records=records)
        )

    def count(self, name: str, by: int) -> None:
        self.slot.count(name, by)
