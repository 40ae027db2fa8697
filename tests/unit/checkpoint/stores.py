"""Stores in memory: with manifests in them, and with faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.manifest_storage import Refused, Stored, metadata_of, store_manifest
from headgate.checkpoint.store import CheckpointStore, Chunk, MemoryStore, chunks_of
from headgate.errors import StorageError
from headgate.state.files import FileHandle


class OverMemory:
    """Does what the store in memory does."""

    def __init__(self) -> None:
        self.memory = MemoryStore()

    @property
    def files(self) -> dict[str, bytes]:
        return self.memory.files

    def locate(self, path: str) -> str:
        return self.memory.locate(path)

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        return self.memory.write(path, chunks)

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def secure(self, path: str) -> None:
        self.memory.secure(path)

    def read(self, path: str) -> bytes | None:
        return self.memory.read(path)

    def download(self, handle: FileHandle, target: Path) -> None:
        self.memory.download(handle, target)

    def list_files(self, folder: str) -> list[str]:
        return self.memory.list_files(folder)

    def list_sizes(self, folder: str) -> dict[str, int]:
        return self.memory.list_sizes(folder)

    def delete(self, paths: Iterable[str]) -> None:
        self.memory.delete(paths)

    def delete_folder(self, folder: str) -> None:
        self.memory.delete_folder(folder)


class FailingStore(OverMemory):
    """A store whose writes reach `kept` bytes of the file before they fail, and whose reads fail when told to."""

    def __init__(self, kept: Callable[[bytes], bytes | None] = lambda data: data, *, reads_fail: bool = False) -> None:
        super().__init__()
        self.kept = kept
        self.reads_fail = reads_fail

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        kept = self.kept(b"".join(chunks))
        if kept is not None:
            super().write(path, [kept])
        raise StorageError(f"cannot write {path}: connection reset")

    def read(self, path: str) -> bytes | None:
        if self.reads_fail:
            raise StorageError(f"cannot read {path}: no route")
        return super().read(path)


def written(store: CheckpointStore, each: Manifest) -> Stored | Refused:
    """Write the manifest to the store."""
    return store_manifest(store, metadata_of(each), encode(each))


def store_of(*manifests: Manifest) -> MemoryStore:
    """Return a store that holds the manifests."""
    store = MemoryStore()
    for each in manifests:
        assert written(store, each) == Stored()
    return store
