"""Checkpoint storage: the operations that checkpoints need, and a store in memory.

Files are never overwritten, and need no rename: object stores have no atomic rename and no dependable create-if-absent.
A reader learns of a file only when it is complete, from a handle with its length and checksum. Writes and deletions
outlive a loss of power.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol, final

from headgate.errors import DamagedFileError, StorageError
from headgate.state.files import FileHandle, InlineHandle, StateHandle

Chunk = bytes | bytearray | memoryview

CHUNK_BYTES: Final = 2**20
"""Bytes of a file that are in memory at a time while it is copied."""

_MEND: Final = "Bring the file back as it was written, or start from another snapshot"


class CheckpointStore(Protocol):
    """The folder of one job in checkpoint storage. Paths are relative to this folder, with `/` between their parts.

    All methods block, and may be called from several threads at once. All raise StorageError, naming the full path,
    when storage fails. A failed write may have left a file behind.
    """

    def locate(self, path: str) -> str:
        """Return the full path, for messages."""
        ...

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        """Write a new file. When this returns, the file is complete and durable, and every process can read it.

        Raises StorageError when the file exists: files are never overwritten.
        """
        ...

    def upload(self, path: str, source: Path) -> FileHandle:
        """Write a new file with the contents of a local one, as `write` does."""
        ...

    def secure(self, path: str) -> None:
        """Make an existing file durable: its writer may have been killed before."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return the contents of the file, unchecked, or None when the file does not exist."""
        ...

    def download(self, handle: FileHandle, target: Path) -> None:
        """Write the contents of the file to the new local file `target`, checked. Do not change it: it may be a link.

        Raises DamagedFileError when the file is missing or has changed; `target` is of no use then.
        """
        ...

    def list_files(self, folder: str) -> list[str]:
        """Return the paths of all files in the folder and below, sorted; empty when the folder does not exist.

        The folder of the job itself is "". A file that is being written, or whose writer was killed, may appear under
        a temporary name: `paths.target_of` returns its final name.
        """
        ...

    def list_sizes(self, folder: str) -> dict[str, int]:
        """Return the size in bytes of each file that `list_files` returns."""
        ...

    def delete(self, paths: Iterable[str]) -> None:
        """Delete the files, in this order. Missing files are no error. Deletions outlive a loss of power."""
        ...

    def delete_folder(self, folder: str) -> None:
        """Delete the folder with its contents. A missing folder is no error."""
        ...


def read_state(store: CheckpointStore, handle: StateHandle) -> bytes:
    """Return the state that the handle leads to. Blocks. Raises DamagedFileError when the file has changed."""
    if isinstance(handle, InlineHandle):
        return handle.data
    data = store.read(handle.path)
    where = store.locate(handle.path)
    if data is None:
        raise missing(where)
    check_whole(handle, len(data), zlib.crc32(data), where)
    return data


def missing(where: str) -> DamagedFileError:
    """Return the error for a missing state file. `where` is its full path."""
    return DamagedFileError(
        f"{where} is missing, but a checkpoint needs it: was it deleted from outside the job? {_MEND}"
    )


def check_whole(handle: FileHandle, size_bytes: int, crc32: int, where: str) -> None:
    """Check the size and checksum of a file against its handle. Raises DamagedFileError, naming `where`."""
    if size_bytes != handle.size_bytes:
        raise DamagedFileError(f"{where} has {size_bytes} bytes instead of {handle.size_bytes}: it is damaged. {_MEND}")
    if crc32 != handle.crc32:
        raise DamagedFileError(f"{where} has a wrong checksum: it is damaged. {_MEND}")


def chunks_of(source: Path) -> Iterator[bytes]:
    """Yield the contents of a local file in pieces. Raises StorageError naming it."""
    try:
        with source.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise StorageError(f"cannot read the local file {source}: {error}") from error


def receive(chunks: Iterable[Chunk], handle: FileHandle, target: Path, where: str) -> None:
    """Write chunks read from `where` to the new local file `target`, and check them against the handle."""
    size_bytes, crc32 = 0, 0
    with target.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)
            size_bytes += len(chunk)
            crc32 = zlib.crc32(chunk, crc32)
    check_whole(handle, size_bytes, crc32, where)


@final
class MemoryStore:
    """A job's folder in memory, for checkpoints that the driver keeps, and for tests."""

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

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def secure(self, path: str) -> None:
        """Do nothing: memory is never more durable."""

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def download(self, handle: FileHandle, target: Path) -> None:
        where = self.locate(handle.path)
        data = self.files.get(handle.path)
        if data is None:
            raise missing(where)
        receive([data], handle, target, where)

    def list_files(self, folder: str) -> list[str]:
        return sorted(path for path in list(self.files) if not folder or path.startswith(f"{folder}/"))

    def list_sizes(self, folder: str) -> dict[str, int]:
        return {path: len(self.files[path]) for path in self.list_files(folder)}

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.files.pop(path, None)

    def delete_folder(self, folder: str) -> None:
        self.delete(self.list_files(folder))
