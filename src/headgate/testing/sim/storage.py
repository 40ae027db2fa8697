"""Simulated checkpoint storage: it fails, tears writes and lies about them, and watches what must never happen."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.seal import is_torn
from headgate.checkpoint.store import Chunk, MemoryStore, chunks_of
from headgate.errors import StorageError
from headgate.ids import CheckpointId
from headgate.operators.sink import COMMITTABLES_STATE
from headgate.state.files import SHARED, FileHandle, InlineHandle, StateHandle
from headgate.testing.sim.world import Action, World

_MISHAPS: Final = ("nothing", "torn", "complete")


@final
class Ledger:
    """What is durable: the whole manifests in storage, and every transaction that one of them ever named."""

    def __init__(self, world: World, memory: MemoryStore) -> None:
        self.manifests: dict[CheckpointId, Manifest] = {}
        """The manifests that are in storage now."""
        self.completed = 0
        self.final_ids: set[CheckpointId] = set()
        self.permitted: set[str] = set()
        """Names of the transactions that durable manifests have named."""
        self._world = world
        self._memory = memory

    def written(self, path: str, data: bytes) -> None:
        """A file is complete."""
        checkpoint_id = paths.checkpoint_of(path)
        if checkpoint_id is None or path != paths.metadata(checkpoint_id) or is_torn(data):
            return
        manifest = decode(data, path)
        self.manifests[checkpoint_id] = manifest
        self.completed += 1
        if manifest.final:
            self.final_ids.add(checkpoint_id)
        self._world.note("ledger", f"checkpoint {checkpoint_id} of attempt {manifest.attempt} is durable")
        for operator in manifest.operators:
            for handle in operator.handles():
                self._check(checkpoint_id, handle)
            for state in operator.subtasks.values():
                if COMMITTABLES_STATE in state.lists:
                    self._permit(state.lists[COMMITTABLES_STATE].handle)

    def _check(self, checkpoint_id: CheckpointId, handle: StateHandle) -> None:
        if isinstance(handle, FileHandle):
            data = self._memory.files.get(handle.path)
            if data is None or zlib.crc32(data) != handle.crc32:
                self._world.violated(f"checkpoint {checkpoint_id} is durable, but {handle.path} is not whole")

    def _permit(self, handle: StateHandle) -> None:
        data = handle.data if isinstance(handle, InlineHandle) else self._memory.files.get(handle.path)
        if data is not None:
            for entry in pickle.loads(data):  # noqa: S301  # written by this simulation
                self.permitted.update(pickle.loads(entry).committables)  # noqa: S301

    def deleting(self, path: str) -> None:
        """A file is about to be deleted."""
        if paths.RESULT in self._memory.files:
            return
        checkpoint_id = paths.checkpoint_of(path)
        if checkpoint_id is not None and path == paths.metadata(checkpoint_id):
            removed = self.manifests.pop(checkpoint_id, None)
            if removed is not None and not any(newer > checkpoint_id for newer in self.manifests):
                self._world.violated(f"the newest checkpoint, {checkpoint_id}, is deleted before the job has ended")
            return
        for manifest in self.manifests.values():
            if path in manifest.files():
                self._world.violated(f"{path} is deleted, but checkpoint {manifest.checkpoint_id} names it")

    def deleting_folder(self, folder: str) -> None:
        """A folder is about to be deleted, with all that slots may have put there since it was looked at."""
        if folder == SHARED and paths.RESULT not in self._memory.files:
            self._world.violated("the folder of shared files is deleted while slots write to it")


@final
class SimStore:
    """A `CheckpointStore` in memory, with mishaps until the world has had enough of them."""

    def __init__(self, world: World) -> None:
        self.memory = MemoryStore()
        self.ledger = Ledger(world, self.memory)
        self.outage_until_ms = 0.0
        self.mishap_rate = 0.0
        self.mishaps = 0
        self.slowness = 0.0
        """How much of all work beside a loop takes long."""
        self.slow_until_ms = 0.0
        self.tears_next_write = False
        self.on_result: Action = lambda: None
        """Called when the job's result is written."""
        self._world = world

    def delay_ms(self) -> float:
        """Return how long work beside a loop waits before it is done."""
        rng = self._world.rng
        if self._world.now_ms < self.slow_until_ms:
            return rng.uniform(0.2, 300.0)
        return rng.uniform(0.2, 150.0 if rng.random() < self.slowness else 8.0)

    def locate(self, path: str) -> str:
        return f"sim:{path}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        data = b"".join(chunks)
        if path in self.memory.files:
            if self._world.now_ms >= self.outage_until_ms and not self.tears_next_write:
                self._world.note("storage", f"{path} exists already")
            raise StorageError(f"{self.locate(path)} exists already: checkpoint files are never overwritten")
        if self.tears_next_write:
            self.tears_next_write = False
            self._put(path, data[: self._world.rng.randrange(len(data) + 1)])
            raise StorageError(f"simulated: torn at {path}")
        if self._fails():
            self._botch(path, data)
        self._put(path, data)
        self._world.note("storage", f"wrote {path}")
        return FileHandle(path, len(data), zlib.crc32(data))

    def _botch(self, path: str, data: bytes) -> None:
        mishap = self._world.rng.choice(_MISHAPS)
        self._world.note("storage", f"failing to write {path}: {mishap}")
        if mishap == "torn":
            self._put(path, data[: self._world.rng.randrange(len(data) + 1)])
        elif mishap == "complete":
            self._put(path, data)
        raise StorageError(f"simulated: cannot write {path}")

    def _put(self, path: str, data: bytes) -> None:
        self.memory.write(path, [data])
        self.ledger.written(path, data)
        if path == paths.RESULT:
            self.on_result()

    def read(self, path: str) -> bytes | None:
        self._may_fail(f"read {path}")
        return self.memory.read(path)

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def download(self, handle: FileHandle, target: Path) -> None:
        self._may_fail(f"read {handle.path}")
        self.memory.download(handle, target)

    def list_files(self, folder: str) -> list[str]:
        self._may_fail(f"list {folder!r}")
        return self.memory.list_files(folder)

    def delete(self, files: Iterable[str]) -> None:
        for path in files:
            self._may_fail(f"delete {path}")
            if path in self.memory.files:
                self._world.note("storage", f"deletes {path}")
                self.ledger.deleting(path)
            self.memory.delete([path])

    def delete_folder(self, folder: str) -> None:
        self.ledger.deleting_folder(folder)
        self.delete(self.memory.list_files(folder))

    def _may_fail(self, what: str) -> None:
        if self._fails():
            self._world.note("storage", f"failing to {what}")
            raise StorageError(f"simulated: cannot {what}")

    def _fails(self) -> bool:
        fails = self._world.now_ms < self.outage_until_ms or self._world.chance(self.mishap_rate)
        self.mishaps += fails
        return fails


def is_simulated(reason: str) -> bool:
    """Return whether the text of a failure tells of something that the simulation brought about."""
    return "simulated" in reason
