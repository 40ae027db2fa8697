"""S34: files that checkpoints share live as long as one of them needs them, whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from headgate.checkpoint.file_store import FileSystemStore
from headgate.common import Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import ValueStateDescriptor
from headgate.errors import StorageError
from headgate.state.files import SHARED, FileHandle
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import Runs, on_incremental_backends

COUNT = 1200
TOLERANT = {
    "execution.checkpointing.tolerable-failed-checkpoints": "2",
    "execution.checkpointing.data-inline-threshold": "0 b",
}


@pytest.mark.slow
@on_incremental_backends
def test_checkpoints_share_what_has_not_changed_and_all_that_the_kept_one_names_is_there(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **backend)
    env = runs.environment(1)
    ledger.seen_of(ledger.written(env, COUNT))
    runs.stop(env, checkpoints=8)
    [named] = [manifest.files() for manifest in runs.manifests()]  # of eight, one is retained
    assert any(path.startswith(f"{SHARED}/") and f"/{runs.latest}-" not in path for path in named)
    assert runs.missing() == []
    env = runs.environment(1)
    ledger.seen_of(ledger.written(env, COUNT, burst=COUNT))
    runs.finish(env)
    ledger.check_seen(1, COUNT)


class Fault:
    """Whether storage is to refuse what the head of the job writes, and what came of it."""

    armed = False
    aborted: ClassVar[list[int]] = []
    restored: ClassVar[list[int | None]] = []


class Head(KeyedProcessFunction, CheckpointedFunction, CheckpointListener):
    """Cannot store its part of a checkpoint once there are some that build on each other; fails right after it."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        Fault.restored.append(context.get_restored_checkpoint_id())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """It has no state but that of its keys."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.fails = False

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        Fault.armed = checkpoint_id >= 4

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.fails = not Fault.aborted
        Fault.aborted.append(checkpoint_id)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        if self.fails:
            HURRY.set()
            raise ValueError("planned")
        self.state.update(value)
        yield value


@pytest.mark.slow
@on_incremental_backends
def test_a_checkpoint_that_failed_takes_no_file_along_that_an_earlier_one_needs(
    backend: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail of two keyed operators has stored its part of a checkpoint when the head fails at its own."""
    write = FileSystemStore.write

    def refusing_write(self: FileSystemStore, path: str, pieces: list[bytes]) -> FileHandle:
        if Fault.armed and not Fault.aborted and "-head-" in path and "/ahead-" not in path:
            raise StorageError("planned")
        return write(self, path, pieces)

    monkeypatch.setattr(FileSystemStore, "write", refusing_write)
    runs = Runs(tmp_path, monkeypatch, **backend, **TOLERANT)
    Fault.armed = False
    Fault.aborted.clear()
    Fault.restored.clear()
    env = runs.environment(1)
    through_head = ledger.numbers(env, 4 * COUNT, ledger.BURST).key_by(ledger.key_of).process(Head()).uid("head")
    ledger.seen_of(through_head.key_by(ledger.key_of).process(ledger.Ledger()).uid("ledger"))
    runs.finish(env)
    first, then = Fault.restored
    assert first is None
    assert then is not None
    assert then >= 4
    assert then not in Fault.aborted
    assert Fault.aborted != []
    ledger.check_seen(1, 4 * COUNT)
