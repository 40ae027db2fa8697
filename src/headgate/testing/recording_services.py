"""Services for an operator outside a slot: they do work at once, and record the operator's reports."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

from headgate.clock import VirtualClock
from headgate.ids import CheckpointId
from headgate.operators.services import Services
from headgate.state.backend import StateWriter
from headgate.state.files import InlineHandle


@final
class InMemoryWriter:
    """A `StateWriter` that keeps everything in the handles."""

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> InlineHandle:
        return InlineHandle(b"".join(pieces))

    def upload(self, name: str, source: Path, *, shared: bool) -> InlineHandle:
        return InlineHandle(source.read_bytes())


@final
@dataclass(slots=True)
class RecordingServices(Services):
    """Stands in for the slot: does work at once, and records what an operator reports."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    commits: list[CheckpointId] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    collections: list[tuple[CheckpointId | None, list[Any]]] = field(default_factory=list)
    parts: list[tuple[int, int]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    watermarks: list[int | None] = field(default_factory=list)
    held_ms: float = 0.0
    folder: TemporaryDirectory[str] | None = None

    def call_later(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Let the time pass, then call."""
        self.clock.advance(delay_ms)
        call()

    def committed(self, checkpoint_id: CheckpointId) -> None:
        """Record the checkpoint in `commits`."""
        self.commits.append(checkpoint_id)

    def fail(self, error: BaseException) -> None:
        """Record the error in `failures`."""
        self.failures.append(error)

    def state_writer(self) -> StateWriter:
        """Return a writer that keeps everything in the handles."""
        return InMemoryWriter()

    def scratch(self, uid: str) -> Path:
        """Return a new folder, which is removed with the harness."""
        self.folder = self.folder or TemporaryDirectory(prefix="headgate-")
        return Path(self.folder.name)

    def report_watermark(self, watermark_ms: int | None) -> None:
        """Record the watermark in `watermarks`."""
        self.watermarks.append(watermark_ms)

    def held_back_ms(self) -> float:
        """Return `held_ms`."""
        return self.held_ms

    def collect(self, origin: int, checkpoint_id: CheckpointId | None, part: int, records: bytes) -> None:
        """Record the records in `collections`, and their origin and number in `parts`."""
        self.parts.append((origin, part))
        self.collections.append((checkpoint_id, pickle.loads(records)))  # noqa: S301  # pickled just now

    def count(self, name: str, by: int) -> None:
        """Add to `counters`."""
        self.counters[name] = self.counters.get(name, 0) + by
