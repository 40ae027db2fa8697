"""Every snapshot that an earlier release has written is restored by this one, with all that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.compat import frames, windows
from tests.compat.restoring import GOLDEN, PARALLELISM, restore


def snapshots() -> list[Any]:
    """Return the snapshots that are kept, with the backends that restore each of them."""
    return [
        pytest.param(path, backend, id=f"{path.parent.name}-{path.name}-{backend}")
        for path in sorted(GOLDEN.glob("v*/*"))
        for backend in backends_of(path.name)
    ]


def backends_of(name: str) -> tuple[str, ...]:
    """Return the backends that restore a snapshot of this kind."""
    only_rocksdb = name in ("rocksdb-incremental", "rocksdb-changelog", "rocksdb-native")
    return ("rocksdb",) if only_rocksdb else ("hashmap", "rocksdb")


@pytest.mark.slow
@pytest.mark.parametrize("parallelism", [PARALLELISM, 3])
@pytest.mark.parametrize(("kept", "backend"), snapshots())
def test_a_snapshot_of_an_earlier_release_is_restored(
    kept: Path, backend: str, parallelism: int, tmp_path: Path
) -> None:
    restore(kept, tmp_path, backend, parallelism)


@pytest.mark.slow
@pytest.mark.parametrize("parallelism", [PARALLELISM, 3])
@pytest.mark.parametrize(
    ("name", "backend"), [(name, backend) for name in windows.KINDS for backend in backends_of(name)]
)
def test_windows_of_an_earlier_release_go_on(name: str, backend: str, parallelism: int, tmp_path: Path) -> None:
    windows.restore(windows.GOLDEN / name, tmp_path, backend, parallelism)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return frames.results(tmp_path_factory.mktemp("unbroken"))


@pytest.mark.slow
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("kept", ["hashmap-canonical", "rocksdb-canonical"])
def test_dataframes_go_on_from_a_savepoint(
    kept: str, backend: str, parallelism: int, tmp_path: Path, unbroken: list[Any]
) -> None:
    assert frames.restore(frames.GOLDEN / kept, tmp_path, backend, parallelism) == unbroken
