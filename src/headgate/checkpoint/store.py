"""Checkpoint storage: the few operations that checkpoints need, on any file system that Arrow knows.

Nothing is renamed and nothing overwritten: object stores have no atomic rename and no dependable create-if-absent.
Whoever may read a file learns of it only after it is complete, from a handle with its length and checksum.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, final

import pyarrow as pa
from pyarrow import fs

from headgate.checkpoint.handles import FileHandle, InlineHandle, StateHandle
from headgate.checkpoint.paths import job_folder
from headgate.errors import DamagedFileError, StorageError
from headgate.ids import JobId

_WITHOUT_FOLDERS: Final = frozenset({"s3", "gcs", "abfs"})

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


def absolute(location: str) -> str:
    """Return a URI as it is, a local path absolute: what it means to a process with another working folder.

    >>> absolute("file:/data/checkpoints"), absolute("/data/checkpoints")
    ('file:/data/checkpoints', '/data/checkpoints')
    """
    return location if "://" in location or location.startswith("file:") else os.path.abspath(location)


@final
class FileSystemStore:
    """A job's folder on a file system of `pyarrow.fs`: local, S3, GCS, Azure, HDFS."""

    def __init__(self, file_system: fs.FileSystem, folder: str) -> None:
        self._fs = file_system
        self._folder = folder.rstrip("/")

    @classmethod
    def open(cls, location: str, job_id: JobId) -> FileSystemStore:
        """Open the folder of a job below `location`, a URI or a local path. Writes nothing; may block for S3.

        Raises StorageError naming the location.
        """
        try:
            file_system, root = fs.FileSystem.from_uri(absolute(location))
        except (OSError, pa.ArrowException, ImportError) as error:
            raise StorageError(
                f"cannot open checkpoint storage {location!r}: {error}. Give a local path or a file:, s3:, gs:, abfs: "
                "or hdfs: URI whose storage this machine can reach"
            ) from error
        return cls(file_system, job_folder(root, job_id))

    def locate(self, path: str) -> str:
        scheme = self._fs.type_name
        full = self._full(path)
        return full if scheme == "local" else f"{scheme}://{full}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        full = self._full(path)
        size_bytes, crc32 = 0, 0
        with self._failing("write", path, "Check that the folder can be written to and has room"):
            if self._fs.get_file_info(full).type != fs.FileType.NotFound:
                raise StorageError(f"{self.locate(path)} exists already: checkpoint files are never overwritten")
            if self._fs.type_name not in _WITHOUT_FOLDERS:
                self._fs.create_dir(full.rpartition("/")[0], recursive=True)
            with self._fs.open_output_stream(full) as stream:
                for chunk in chunks:
                    stream.write(chunk)
                    size_bytes += len(chunk)
                    crc32 = zlib.crc32(chunk, crc32)
        return FileHandle(path, size_bytes, crc32)

    def read(self, path: str) -> bytes | None:
        try:
            with self._failing("read", path), self._fs.open_input_file(self._full(path)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    def list_files(self, folder: str) -> list[str]:
        with self._failing("list", folder):
            selector = fs.FileSelector(self._full(folder), recursive=True, allow_not_found=True)
            infos = self._fs.get_file_info(selector)
        return sorted(info.path[len(self._folder) + 1 :] for info in infos if info.type == fs.FileType.File)

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                with self._failing("delete", path):
                    self._fs.delete_file(self._full(path))
            except FileNotFoundError:
                continue

    def delete_folder(self, folder: str) -> None:
        try:
            with self._failing("delete", folder):
                self._fs.delete_dir(self._full(folder))
        except FileNotFoundError:
            return

    def _full(self, path: str) -> str:
        return f"{self._folder}/{path}" if path else self._folder

    @contextmanager
    def _failing(self, verb: str, path: str, advice: str = "Check that the storage is reachable") -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            if verb == "write":
                raise StorageError(f"cannot write {self.locate(path)}: its folder is gone. {advice}") from None
            raise
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"cannot {verb} {self.locate(path)}: {error}. {advice}") from error


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
