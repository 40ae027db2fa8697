"""What the operators of a batch task may ask for. There is no loop to hold up, so all work is done at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

from headgate.clock import Clock, SystemClock
from headgate.errors import InternalError
from headgate.ids import CheckpointId
from headgate.state.backend import StateWriter


@final
@dataclass(slots=True)
class TaskServices:
    """The `Services` of a task's operators."""

    clock: Clock = field(default_factory=SystemClock)
    collected: list[bytes] = field(default_factory=list)
    """Pickled records that were collected and not yet taken."""
    _folder: TemporaryDirectory[str] | None = None

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Do the work; its exception is a result."""
        try:
            result: Any = work()
        except Exception as error:  # noqa: BLE001  # handed on, as a slot does
            result = error
        done(result)

    def submit_waiting(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Do the work, also if it waits for long."""
        self.submit(work, done)

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Wait, then call."""
        time.sleep(delay_ms / 1000.0)
        call()

    def committed(self, checkpoint_id: CheckpointId) -> None:
        """Take no note: the driver commits."""

    def fail(self, error: BaseException) -> None:
        """Fail the task."""
        raise error

    def of_backend(self, uid: str) -> TaskServices:
        """Return what keyed state may ask for, which is this."""
        return self

    def state_writer(self) -> StateWriter:
        """Nothing of a batch job's state is ever written."""
        raise InternalError("a batch job was asked to write state")

    def scratch(self, uid: str) -> Path:
        """Return a folder, which goes with the task."""
        self._folder = self._folder or TemporaryDirectory(prefix="headgate-")
        folder = Path(self._folder.name, uid)
        folder.mkdir(exist_ok=True)
        return folder

    def collect(self, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Keep the records for the task to put out."""
        self.collected.append(records)

    def take(self) -> list[bytes]:
        """Return what was collected, and forget it."""
        collected, self.collected = self.collected, []
        return collected

    def splits_read(self, given: int) -> None:
        """Tell nobody: a task reads what it was given."""

    def count(self, name: str, by: int) -> None:
        """Count nothing: a task that Spark runs again would count twice."""

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            self._folder.cleanup()
