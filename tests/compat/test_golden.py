"""Every snapshot that an earlier release has written is restored by this one, with all that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.compat.restoring import GOLDEN, PARALLELISM, restore


def snapshots() -> list[Any]:
    """Return the snapshots that are kept, with the backends that restore each of them."""
    return [
        pytest.param(path, backend, id=f"{path.parent.name}-{path.name}-{backend}")
        for path in sorted(GOLDEN.glob("*/*"))
        for backend in ("hashmap", "rocksdb")
        if backend == "rocksdb" or not _has_files_of_rocksdb(path.name)
    ]


def _has_files_of_rocksdb(name: str) -> bool:
    return name in ("rocksdb-incremental", "rocksdb-changelog", "rocksdb-native")


@pytest.mark.slow
@pytest.mark.parametrize("parallelism", [PARALLELISM, 3])
@pytest.mark.parametrize(("kept", "backend"), snapshots())
def test_a_snapshot_of_an_earlier_release_is_restored(
    kept: Path, backend: str, parallelism: int, tmp_path: Path
) -> None:
    restore(kept, tmp_path, backend, parallelism)
