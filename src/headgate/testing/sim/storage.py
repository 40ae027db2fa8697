"""Simulated checkpoint storage: it fails, tears writes and lies about them, and has each operation at its own time."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.store import Chunk, MemoryStore, chunks_of
from headgate.errors import StorageError
from headgate.state.files import FileHandle
from headgate.testing.sim.beside import Fate, operation
from headgate.testing.sim.ledger import Ledger
from headgate.testing.sim.world import Action, World

_MISHAPS: Final = ("nothing", "torn", "complete")


@final
class SimStorage:
    """All of simulated storage: its folders, and how well it does. It is shared by all processes of a run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outage_until_ms = 0.0
        self.mishap_rate = 0.0
        self.mishaps = 0
        self.is_disk = False
        """Whether it is like a local disk: a file that is being written can be seen, and a folder goes with all that it
        has then. In an object store, files appear whole, and a folder is the files that were listed."""
        self.permitted: set[str] = set()
        """Names of the transactions that durable manifests have named."""
        self.folders: dict[str, SimStore] = {}
        """Those that were ever opened, by their locations."""

    def open(self, location: str) -> SimStore:
        """Return the store of a folder, the same one each time."""
        if location not in self.folders:
            self.folders[location] = SimStore(self, location)
        return self.folders[location]

    def ledger_of(self, location: str) -> Ledger:
        """Return the ledger of a folder."""
        return self.open(location).ledger

    def fails(self) -> bool:
        """Return whether the operation that is under way fails."""
        fails = self.world.now_ms < self.outage_until_ms or self.world.chance(self.mishap_rate)
        self.mishaps += fails
        return fails


@final
class SimStore:
    """A `CheckpointStore` in memory, with mishaps until the world has had enough of them.

    Each operation takes effect at an instant of its own.
    """

    def __init__(self, storage: SimStorage, location: str) -> None:
        self.memory = MemoryStore()
        self.ledger = Ledger(storage.world, self.memory, storage.permitted, storage.ledger_of)
        self.on_result: Action = lambda: None
        """Called when the job's result is written."""
        self._storage = storage
        self._world = storage.world
        self.location = location

    def locate(self, path: str) -> str:
        return f"sim:{self.location}/{path}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        data = b"".join(chunks)
        fate = operation(self._world, f"write {path}")
        if path in self.memory.files:
            self._world.note("storage", f"{path} exists already")
            raise StorageError(f"{self.locate(path)} exists already: checkpoint files are never overwritten")
        if fate is Fate.TORN:
            self._put(path, self._beginning(data))
            raise StorageError(f"simulated: torn at {path}")
        if self._storage.fails():
            self._botch(path, data)
        if self._storage.is_disk:
            self._put(path, self._beginning(data))
            if operation(self._world, f"finish {path}") is Fate.TORN:
                raise StorageError(f"simulated: torn at {path}")
        self._put(path, data)
        self._world.note("storage", f"wrote {path}")
        return FileHandle(path, len(data), zlib.crc32(data))

    def _beginning(self, data: bytes) -> bytes:
        return data[: self._world.rng.randrange(len(data) + 1)]

    def _botch(self, path: str, data: bytes) -> None:
        mishap = self._world.rng.choice(_MISHAPS)
        self._world.note("storage", f"failing to write {path}: {mishap}")
        if mishap == "torn":
            self._put(path, self._beginning(data))
        elif mishap == "complete":
            self._put(path, data)
        raise StorageError(f"simulated: cannot write {path}")

    def _put(self, path: str, data: bytes) -> None:
        self.memory.files[path] = data
        self.ledger.written(path, data)
        if path == paths.RESULT:
            self.on_result()

    def read(self, path: str) -> bytes | None:
        self._reach(f"read {path}")
        return self.memory.read(path)

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def download(self, handle: FileHandle, target: Path) -> None:
        self._reach(f"read {handle.path}")
        self.memory.download(handle, target)

    def list_files(self, folder: str) -> list[str]:
        self._reach(f"list {folder!r}")
        return self.memory.list_files(folder)

    def list_sizes(self, folder: str) -> dict[str, int]:
        self._reach(f"list {folder!r}")
        return self.memory.list_sizes(folder)

    def delete(self, files: Iterable[str]) -> None:
        for path in files:
            self._reach(f"delete {path}")
            self._remove(path)

    def delete_folder(self, folder: str) -> None:
        found = self.list_files(folder)
        self._reach(f"delete the folder {folder}")
        self.ledger.deleting_folder(folder)
        for path in self.memory.list_files(folder) if self._storage.is_disk else found:
            self._remove(path)

    def _remove(self, path: str) -> None:
        if path in self.memory.files:
            self._world.note("storage", f"deletes {path}")
            self.ledger.deleting(path)
            del self.memory.files[path]

    def _reach(self, what: str) -> None:
        operation(self._world, what)
        if self._storage.fails():
            self._world.note("storage", f"failing to {what}")
            raise StorageError(f"simulated: cannot {what}")


def is_simulated(reason: str) -> bool:
    """Return whether the text of a failure tells of something that the simulation brought about."""
    return "simulated" in reason
