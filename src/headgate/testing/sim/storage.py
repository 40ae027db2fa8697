"""Simulated checkpoint storage: it fails, tears writes and misreports them, loses files, and is damaged.

Each operation takes effect at its own time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.store import Chunk, MemoryStore, chunks_of
from headgate.errors import StorageError
from headgate.state.files import FileHandle
from headgate.testing.sim.disk import Disk, beginning
from headgate.testing.sim.ledger import Ledger
from headgate.testing.sim.work import OperationFate, operation
from headgate.testing.sim.world import Action, World

_MISHAPS: Final = ("nothing", "torn", "complete")


@final
class SimStorage:
    """All simulated storage: its folders, and its rate of mishaps. All processes of a run share it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outage_until_ms = 0.0
        self.mishap_rate = 0.0
        self.mishaps = 0
        self.is_disk = False
        """Whether the storage is like a local disk instead of an object store.

        On a disk, a file is written under a temporary name and renamed, and is durable once the rename is synced;
        deleting a folder deletes all files in it at that time. In an object store, every whole file is durable, and
        deleting a folder deletes the files that were listed.
        """
        self.permitted: set[str] = set()
        """Names of the transactions that durable manifests have named."""
        self.folders: dict[str, SimStore] = {}
        """All folders that were ever opened, by location."""

    def open(self, location: str) -> SimStore:
        """Return the store of a folder, the same one each time."""
        if location not in self.folders:
            self.folders[location] = SimStore(self, location)
        return self.folders[location]

    def ledger_of(self, location: str) -> Ledger:
        """Return the ledger of a folder."""
        return self.open(location).ledger

    def lose_power(self) -> None:
        """Lose the data that is not durable."""
        for location in sorted(self.folders):
            self.folders[location].lose_power()

    def is_damage(self, reason: str) -> bool:
        """Return whether the text of a failure names a damaged file."""
        return any(store.is_damage(reason) for store in self.folders.values())

    def mend(self) -> None:
        """Restore the damaged files, as a user does who reads the error."""
        for store in self.folders.values():
            store.mend()

    def fails(self) -> bool:
        """Return whether the current operation fails."""
        fails = self.world.now_ms < self.outage_until_ms or self.world.chance(self.mishap_rate)
        self.mishaps += fails
        return fails


@final
class SimStore:
    """A `CheckpointStore` in memory, with mishaps until the faults are over.

    Each operation takes effect at its own instant.
    """

    def __init__(self, storage: SimStorage, location: str) -> None:
        self.memory = MemoryStore()
        self.ledger = Ledger(storage.world, self.memory, storage.permitted, storage.ledger_of)
        self.on_result: Action = lambda: None
        """Called when the job's result is written."""
        self._storage = storage
        self._world = storage.world
        self._disk = Disk(storage.world, self.memory, self.ledger)
        self.location = location

    def locate(self, path: str) -> str:
        return f"sim:{self.location}/{path}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        data = b"".join(chunks)
        fate = operation(self._world, f"write {path}")
        self._check_new(path)
        if self._storage.is_disk:
            self._write_to_disk(path, data, fate)
        else:
            self._write_at_once(path, data, fate)
        self._world.note("storage", f"wrote {path}")
        return FileHandle(path, len(data), zlib.crc32(data))

    def _check_new(self, path: str) -> None:
        if path in self.memory.files:
            self._world.note("storage", f"{path} exists already")
            raise StorageError(f"{self.locate(path)} exists already: checkpoint files are never overwritten")

    def _write_at_once(self, path: str, data: bytes, fate: OperationFate) -> None:
        if fate is OperationFate.TORN:
            self._put(path, beginning(self._world, data))
            raise StorageError(f"simulated: torn at {path}")
        if self._storage.fails():
            self._botch(path, data)
        self._put(path, data)

    def _botch(self, path: str, data: bytes) -> None:
        mishap = self._world.rng.choice(_MISHAPS)
        self._world.note("storage", f"failing to write {path}: {mishap}")
        if mishap == "torn":
            self._put(path, beginning(self._world, data))
        elif mishap == "complete":
            self._put(path, data)
        raise StorageError(f"simulated: cannot write {path}")

    def _write_to_disk(self, path: str, data: bytes, fate: OperationFate) -> None:
        """Write the file in the steps of a local file system; the process or the power may fail between two steps."""
        temporary = paths.temporary(path, f"{self._world.rng.getrandbits(16):04x}")
        self._disk.write(temporary, beginning(self._world, data))
        if fate is OperationFate.TORN or operation(self._world, f"rename {path}") is OperationFate.TORN:
            raise StorageError(f"simulated: torn at {path}")
        if self._storage.fails():
            self._fail(temporary)
        self._check_new(path)
        self._disk.rename(temporary, path)
        self._put(path, data)
        self._sync(path)

    def _fail(self, temporary: str) -> None:
        self._world.note("storage", f"failing to write {temporary}")
        if self._world.chance(0.5):
            self._disk.delete(temporary)
        raise StorageError(f"simulated: cannot write {temporary}")

    def _sync(self, path: str) -> None:
        if operation(self._world, f"sync {path}") is OperationFate.TORN:
            raise StorageError(f"simulated: torn at {path}")
        if path not in self.memory.files:
            raise StorageError(f"simulated: {path} is gone with the power")
        self._disk.synced(path)

    def _put(self, path: str, data: bytes) -> None:
        self.memory.files[path] = data
        self.ledger.written(path, data)
        if path == paths.RESULT:
            self.on_result()

    def secure(self, path: str) -> None:
        self._reach(f"secure {path}")
        self._disk.synced(path)

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
            self._disk.delete(path)

    # --- what happens to it

    def lose_power(self) -> None:
        """Lose the data that is not durable."""
        self._disk.lose_power()

    def damage(self) -> bool:
        """Damage a durable file, if one may be damaged; return whether one was."""
        return self._disk.damage()

    @property
    def is_damaged(self) -> bool:
        """Whether a file of the newest checkpoint is damaged: the next driver needs it."""
        newest = self.ledger.newest
        needed = set() if newest is None else self.ledger.manifests[paths.metadata(newest)].files()
        return not needed.isdisjoint(self._disk.damaged)

    def is_damage(self, reason: str) -> bool:
        """Return whether the text of a failure names a damaged file, or the folder of a damaged manifest."""
        return any(path.removesuffix(f"/{paths.METADATA}") in reason for path in self._disk.damaged)

    def mend(self) -> None:
        """Restore the damaged files."""
        self._disk.mend()

    def _reach(self, what: str) -> None:
        operation(self._world, what)
        if self._storage.fails():
            self._world.note("storage", f"failing to {what}")
            raise StorageError(f"simulated: cannot {what}")


def is_simulated(reason: str) -> bool:
    """Return whether the text of a failure names a simulated fault."""
    return "simulated" in reason
