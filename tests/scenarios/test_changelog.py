"""S35: a job with a changelog fails before, while and after its state is materialised, and while it cannot be."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Final

import pytest

from headgate.checkpoint.file_store import FileSystemStore
from headgate.datastream import MapFunction
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.errors import StorageError
from headgate.state.files import FileHandle
from tests.scenarios import ledger
from tests.scenarios.paced import HURRY
from tests.scenarios.runs import CHANGELOG, Runs

COUNT: Final = 4000
MATERIALIZATION: Final = "base%2De"
"""In the names of the files of a materialisation."""

DUE: Final = threading.Event()
"""Set when the moment has come for the job to fail."""

STRUCK: Final = threading.Event()
RESTORED: list[int | None] = []
BASES: list[str] = []


class Failing(MapFunction, CheckpointedFunction, CheckpointListener):
    """Fails once, when it is due and there is something to go on from."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        RESTORED.append(context.get_restored_checkpoint_id())
        self.completed = 0

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """It has no state."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.completed += 1

    def map(self, value: int) -> int:
        if DUE.is_set() and self.completed > 2 and not STRUCK.is_set():
            STRUCK.set()
            HURRY.set()
            raise ValueError("planned")
        return value


@pytest.fixture(autouse=True)
def _clear() -> None:
    DUE.clear()
    STRUCK.clear()
    RESTORED.clear()
    BASES.clear()


def fail_and_finish(runs: Runs) -> None:
    env = runs.environment(2)
    numbers = ledger.numbers(env, COUNT, ledger.BURST).map(Failing()).uid("failing").set_parallelism(1)
    ledger.seen_of(numbers.key_by(ledger.key_of).process(ledger.Ledger()).uid("ledger"))
    runs.finish(env)
    assert [restored is None for restored in RESTORED] == [True, False]
    ledger.check_seen(2, COUNT)


@pytest.mark.slow
def test_before_the_first_materialisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DUE.set()
    never = {"headgate.changelog.cut-interval": "10 min"}
    fail_and_finish(Runs(tmp_path, monkeypatch, **{**CHANGELOG, **never}))


@pytest.mark.slow
def test_while_state_is_materialised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = FileSystemStore.write

    def slow_write(self: FileSystemStore, path: str, pieces: list[bytes]) -> FileHandle:
        if MATERIALIZATION in path:
            BASES.append(path)
            if len(BASES) > 4 and not DUE.is_set():  # the other I/O thread is left to checkpoints
                DUE.set()
                STRUCK.wait(120.0)
        return write(self, path, pieces)

    monkeypatch.setattr(FileSystemStore, "write", slow_write)
    fail_and_finish(Runs(tmp_path, monkeypatch, **CHANGELOG))
    assert len(BASES) > 4


@pytest.mark.slow
def test_after_a_materialisation_during_which_checkpoints_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What those checkpoints hold, and the new base does not, is in the log of the checkpoints that follow."""
    write, manifests = FileSystemStore.write, threading.Semaphore(0)

    def slow_write(self: FileSystemStore, path: str, pieces: list[bytes]) -> FileHandle:
        if f"ledger-0-{MATERIALIZATION}" in path and len(BASES) < 4:  # of one subtask: there are two threads for all
            for _ in range(3):
                manifests.acquire(timeout=300.0)
            time.sleep(0.006)  # by then the slot knows of the third, and has not begun a fourth
            BASES.append(path)
        if path.endswith("_metadata"):
            manifests.release()
            if len(BASES) == 4:
                BASES.append(path)
            elif len(BASES) == 5:
                DUE.set()
        return write(self, path, pieces)

    monkeypatch.setattr(FileSystemStore, "write", slow_write)
    fail_and_finish(Runs(tmp_path, monkeypatch, **CHANGELOG))
    assert len(BASES) == 5


@pytest.mark.slow
def test_after_state_was_materialised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = FileSystemStore.write

    def watched_write(self: FileSystemStore, path: str, pieces: list[bytes]) -> FileHandle:
        handle = write(self, path, pieces)
        if MATERIALIZATION in path:
            BASES.append(path)
        elif path.endswith("_metadata") and len(BASES) > 4:
            DUE.set()  # the checkpoint may build on it
        return handle

    monkeypatch.setattr(FileSystemStore, "write", watched_write)
    fail_and_finish(Runs(tmp_path, monkeypatch, **CHANGELOG))
    assert len(BASES) > 4


@pytest.mark.slow
def test_while_state_cannot_be_materialised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log grows, checkpoints go on."""
    write = FileSystemStore.write

    def failing_write(self: FileSystemStore, path: str, pieces: list[bytes]) -> FileHandle:
        if MATERIALIZATION in path:
            BASES.append(path)
            if 2 < len(BASES) <= 6:
                if len(BASES) == 6:
                    DUE.set()
                raise StorageError("planned")
        return write(self, path, pieces)

    monkeypatch.setattr(FileSystemStore, "write", failing_write)
    fail_and_finish(Runs(tmp_path, monkeypatch, **CHANGELOG))
    assert len(BASES) >= 6
