"""The contract of checkpoint storage, on each store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.ids import JobId
from headgate.runtime.slot_storage.local_copies import LocalCopies
from headgate.testing.contracts.store import STORE_CHECKS

JOB = JobId("cd61")


def in_memory(_: Path) -> CheckpointStore:
    return MemoryStore()


def at_local_path(folder: Path) -> CheckpointStore:
    return FileSystemStore.open(f"{folder}/check points/", JOB)


def at_file_uri(folder: Path) -> CheckpointStore:
    return FileSystemStore.open(f"file://{folder}", JOB)


def with_local_copies(folder: Path) -> CheckpointStore:
    return LocalCopies(MemoryStore(), folder)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "store", [in_memory, at_local_path, at_file_uri, with_local_copies], ids=lambda store: store.__name__
)
def test_store(
    store: Callable[[Path], CheckpointStore], check: Callable[[CheckpointStore], None], tmp_path: Path
) -> None:
    check(store(tmp_path))
