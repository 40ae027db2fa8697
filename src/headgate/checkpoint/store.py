"""Checkpoint storage: the few operations that checkpoints need, and where they are done in memory.

Nothing is renamed and nothing overwritten: object stores have no atomic rename and no dependable create-if-absent.
Whoever may read a file learns of it only after it is complete, from a handle with its length and checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Protocol, final

from headgate.checkpoint.handles import FileHandle, InlineHandle, StateHandle
from headgate.errors import DamagedFileError, StorageError

Chunk = bytes | bytearray | memoryview


class CheckpointStore(Protocol):
    """The folder of one job in checkpoint storage. Paths are relative to it, with `/` between their parts.

    All calls block, and may be made from several threads at once. All raise StorageError, naming the full path, when
    the storage fails; what a failed write left behind is then unknown.
    """

    def locate(self, path: str) -> str:
        """Return the full path, for messages."""
        ...

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        """Write a new file. When this returns, the file is complete and can be read by everybody.

        Raises StorageError when there is a file of this name: files are never overwritten.
        """
        ...

    def read(self, path: str) -> bytes | None:
        """Return the contents of the file, unchecked, or None when there is no such file."""
        ...

    def list_files(self, folder: str) -> list[str]:
        """Return the paths of all files in the folder and below, sorted; none when there is no such folder.

        The folder of the job itself is "".
        """
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Delete the files, in this order. One that is not there is no error."""
        ...

    def delete_folder(self, folder: str) -> None:
        """Delete the folder and all that is in it. One that is not there is no error."""
        ...


def read_state(store: CheckpointStore, handle: StateHandle) -> bytes:
    """Return the state behind the handle. Blocks. Raises DamagedFileError when it is not what was written."""
    if isinstance(handle, InlineHandle):
        return handle.data
    data = store.read(handle.path)
    where = store.locate(handle.path)
    if data is None:
        raise DamagedFileError(f"{where} is missing, but a checkpoint needs it: was it deleted from outside the job?")
    if len(data) != handle.size_bytes:
        raise DamagedFileError(f"{where} has {len(data)} bytes instead of {handle.size_bytes}: it is damaged")
    if zlib.crc32(data) != handle.crc32:
        raise DamagedFileError(f"{where} has a wrong checksum: it is damaged")
    return data


@final
class MemoryStore:
    """A job's folder in memory, for tests and the simulator; the same contract as any other store."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def locate(self, path: str) -> str:
        return f"memory:{path}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        if path in self.files:
            raise StorageError(f"{self.locate(path)} exists already: checkpoint files are never overwritten")
        data = b"".join(chunks)
        self.files[path] = data
        return FileHandle(path, len(data), zlib.crc32(data))

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def list_files(self, folder: str) -> list[str]:
        return sorted(path for path in self.files if not folder or path.startswith(f"{folder}/"))

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.pop(path, None)

    def delete_folder(self, folder: str) -> None:
        self.delete(self.list_files(folder))
