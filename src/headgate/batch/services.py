"""The services of a batch task's operators. A batch task has no event loop, so the services may block."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from headgate.clock import Clock, SystemClock
from headgate.ids import CheckpointId
from headgate.operators.services import Services

_WAIT_S_MAX: Final = 1.0
"""Seconds that a task waits for coroutines before it checks whether the job was cancelled."""


@final
@dataclass(slots=True)
class TaskServices(Services):
    """The services of a task's operators. They have no metrics: a task that Spark runs again would count twice."""

    clock: Clock = field(default_factory=SystemClock)
    collected: list[bytes] = field(default_factory=list)
    """Pickled records that were collected and not yet taken."""
    _folder: TemporaryDirectory[str] | None = None

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Block for the delay, then call."""
        time.sleep(delay_ms / 1000.0)
        call()

    def step(self) -> None:
        """Run the operators' coroutines that are ready."""
        if self._event_loop is not None:
            self._event_loop.step()

    def wait(self) -> bool:
        """Run coroutines, after blocking for a short time until some are ready. Return whether any may remain."""
        if self._event_loop is None:
            return False
        self._event_loop.step(_WAIT_S_MAX)
        return True

    def scratch(self, uid: str) -> Path:
        """Return a folder that `close` removes."""
        self._folder = self._folder or TemporaryDirectory(prefix="headgate-")
        folder = Path(self._folder.name, uid)
        folder.mkdir(exist_ok=True)
        return folder

    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Keep the records for the task to emit."""
        self.collected.append(records)

    def take(self) -> list[bytes]:
        """Return the collected records and remove them."""
        collected, self.collected = self.collected, []
        return collected

    def close(self) -> None:
        """Remove the folder and the remaining coroutines."""
        self.end_event_loop()
        if self._folder is not None:
            self._folder.cleanup()
