"""A store in memory to build stores with faults upon."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headgate.checkpoint.store import Chunk, MemoryStore, chunks_of
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
