"""A disk that loses what was not synced when the power goes: a model of the worst that a file system may do.

Real files in a real folder; only `os.fsync` is watched. What a file held when it was last synced is what it holds after
the loss, and a folder has the names that it had when it was last synced. A file that never was is empty, a folder that
never was has nothing in it. What was there at the beginning is on the disk.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

Names = dict[str, int]
"""The names in a folder, each with the number of the file or folder that it leads to."""


class Disk:
    """The disk below `root`. A file keeps its number for as long as the disk knows of it, as it is held open."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self._root = root
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, Names] = {}
        self._held: dict[int, int] = {}
        self._sync = os.fsync
        self.power_left: int | None = None
        """How many more syncs there is power for; None: any number."""
        self._remember_all(root)
        patch.setattr(os, "fsync", self._fsync)

    def _remember_all(self, folder: Path) -> None:
        for path in (folder, *folder.rglob("*")):
            number = os.open(path, os.O_RDONLY)
            self._remember(number)
            os.close(number)

    def _fsync(self, file: int) -> None:
        if self.power_left is not None:
            if self.power_left == 0:
                raise NoPowerError
            self.power_left -= 1
        self._sync(file)
        self._remember(file)

    def _remember(self, file: int) -> None:
        found = os.stat(file)
        path = Path(f"/proc/self/fd/{file}")
        if path.is_dir():
            with os.scandir(path) as entries:
                self._names[found.st_ino] = {entry.name: entry.inode() for entry in entries}
        else:
            self._contents[found.st_ino] = path.read_bytes()
        if found.st_ino not in self._held:
            self._held[found.st_ino] = os.dup(file)

    def lose_power(self) -> None:
        """Leave below the root what is on the disk."""
        root = self._root.stat().st_ino
        kept = dict(self._on_disk(root, Path()))
        for path in self._root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for below, data in kept.items():
            path = self._root / below
            if data is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        self.power_left = None
        self._contents, self._names = {}, {}
        self.close()
        self._remember_all(self._root)

    def _on_disk(self, folder: int, path: Path) -> Iterator[tuple[Path, bytes | None]]:
        for name, number in self._names.get(folder, {}).items():
            if number in self._names or number in self._folders():
                yield path / name, None
                yield from self._on_disk(number, path / name)
            else:
                yield path / name, self._contents.get(number, b"")

    def _folders(self) -> set[int]:
        """The numbers of the folders that are there now."""
        return {path.stat().st_ino for path in self._root.rglob("*") if path.is_dir()}

    def close(self) -> None:
        """Let go of all files."""
        for file in self._held.values():
            os.close(file)
        self._held = {}


class NoPowerError(BaseException):
    """The machine has no power: nothing that runs goes on."""


@contextmanager
def disk(root: Path) -> Iterator[Disk]:
    """Watch the disk below `root`."""
    with Disks(root) as disks:
        yield disks.of(root)


class Disks(ExitStack):
    """Disks of their own in folders below `root`."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self._made: list[Disk] = []

    @property
    def newest(self) -> Disk:
        return self._made[-1]

    def new(self) -> str:
        """Make a folder, with a disk of its own, and return its path."""
        folder = self._root / str(len(self._made))
        folder.mkdir()
        self.of(folder)
        return str(folder)

    def of(self, folder: Path) -> Disk:
        """Watch the disk below a folder."""
        made = Disk(folder, self.enter_context(pytest.MonkeyPatch.context()))
        self.callback(made.close)
        self._made.append(made)
        return made
