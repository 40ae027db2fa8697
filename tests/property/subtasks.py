"""All subtasks of one keyed operator, on harnesses: snapshots, restarts and other parallelisms."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, final

from headgate import options
from headgate.config import Settings
from headgate.datastream import DataStream, OutputTag
from headgate.elements import Batch
from headgate.operators.base import OperatorSnapshot
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup

LATE: Final = OutputTag("late")


@final
@dataclass
class Subtasks:
    """All subtasks of a keyed operator: `late` has the number of each record that came out at these tags."""

    build: Callable[..., DataStream]
    backend: str
    incremental: bool
    changelog: bool = False
    cache_bytes: int | None = None
    """What RocksDB may have in memory, if not what it usually may."""
    parallelism: int = 2
    running: list[OperatorHarness] = field(default_factory=list)
    stack: ExitStack = field(default_factory=ExitStack)
    late_tags: tuple[OutputTag, ...] = (LATE,)
    late: list[Any] = field(default_factory=list)
    begun: list[OperatorSnapshot] = field(default_factory=list)

    def start(self, saved: list[SavedOperator], watermark: int) -> None:
        backend = Settings().with_value(options.STATE_BACKEND, self.backend)
        backend = backend.with_value(options.CHECKPOINT_INCREMENTAL, self.incremental)
        backend = backend.with_value(options.CHANGELOG, self.changelog)
        if self.cache_bytes is not None:
            backend = backend.with_value(options.ROCKSDB_CACHE_SIZE, self.cache_bytes)
        for subtask in range(self.parallelism):
            setup = Setup(subtask=subtask, parallelism=self.parallelism, max_parallelism=8, settings=backend)
            harness = OperatorHarness.of_stream(self.build, restored=saved, setup=setup)
            self.running.append(self.stack.enter_context(harness))
            assert harness.watermark(watermark) == []

    def checkpoint(self, kind: str) -> None:
        """Begin a checkpoint, and complete it, give it up, or leave it under way until the next one begins."""
        self.finish()
        self.begun = [harness.barrier() for harness in self.running]
        if kind != "begin":
            self.finish()
        for harness in self.running:
            if kind == "complete":
                harness.complete()
            elif kind == "abort":
                harness.abort()

    def finish(self) -> None:
        """Let what is under way be written."""
        for harness, snapshot in zip(self.running, self.begun, strict=bool(self.begun)):
            harness.finish(snapshot)
        self.begun = []

    def restart(self, watermark: int, more: int, *, canonical: bool = False) -> None:
        """Take a snapshot, or a canonical savepoint, and go on from it with the same parallelism, or another."""
        self.finish()
        saved = [harness.savepoint() if canonical else harness.snapshot() for harness in self.running]
        self.stop()
        self.parallelism = (self.parallelism - 1 + more) % 3 + 1
        self.start(saved, watermark)

    def stop(self) -> None:
        self.late += [late[1] for harness in self.running for tag in self.late_tags for late in harness.side(tag)]
        self.stack.close()
        self.running = []

    def add(self, records: list[Any]) -> list[Any]:
        out: list[Any] = []
        for harness in self.running:
            own = [record for record in records if harness.owns(record[0])]
            if own:
                out += harness.process_batch(Batch(list(own), [time for _, _, time in own])).records
        return out

    def add_second(self, record: Any, time_ms: int) -> list[Any]:
        """Add a record to the second input."""
        (owner,) = [harness for harness in self.running if harness.owns(record[0])]
        return owner.process_second(record, timestamp_ms=time_ms)

    def pass_time(self, by_ms: int) -> list[Any]:
        return [result for harness in self.running for result in harness.advance_time(by_ms)]

    def advance(self, watermark: int) -> list[Any]:
        return [result for harness in self.running for result in harness.watermark(watermark)]
