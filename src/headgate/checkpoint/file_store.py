"""Checkpoint storage on the local file system, or on any that Arrow knows. Arrow is slow to load: import this late."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final, Protocol, final

import pyarrow as pa
from pyarrow import fs

from headgate.checkpoint.arrow_files import ArrowFiles
from headgate.checkpoint.local_files import LocalFiles
from headgate.checkpoint.paths import absolute, below
from headgate.checkpoint.store import Chunk, chunks_of, missing, receive
from headgate.errors import StorageError
from headgate.ids import JobId
from headgate.options import CHECKPOINT_DIR, STORAGE_DIR
from headgate.state.files import FileHandle


def in_plain_words(error: Exception, path: str, verb: str) -> str:
    """Return why `path` could not be read or written, in words of the user; else the text of the error.

    >>> in_plain_words(NotADirectoryError(20, "Not a directory"), "/etc/passwd/checkpoints/_result", "read")
    '/etc/passwd is a file, not a folder'
    """
    number = error.errno if isinstance(error, OSError) else None
    nearest = _nearest(Path(path))
    if number in (errno.ENOTDIR, errno.EEXIST) and nearest.is_file():
        return f"{nearest} is a file, not a folder"
    if number in (errno.EACCES, errno.EPERM):
        return f"this user may not {verb} {'in ' if nearest.is_dir() else ''}{nearest}"
    return str(error)


def _nearest(path: Path) -> Path:
    """Return the path, or its nearest parent that this user can see."""
    return next((each for each in (path, *path.parents) if os.path.lexists(each)), path)


__all__ = ["FileSystemStore", "absolute", "without_secret"]

_SETTING: Final = f"{CHECKPOINT_DIR.key} or {STORAGE_DIR.key}"


def without_secret(location: str) -> str:
    """Return the location without the user and password of a URI, also if the URI is malformed.

    >>> without_secret("s3://key:sec/ret@bucket/checkpoints?endpoint_override=http://minio")
    's3://...@bucket/checkpoints?endpoint_override=http://minio'
    """
    scheme, separator, rest = location.partition("://")
    return f"{scheme}://...@{rest.rpartition('@')[2]}" if separator and "@" in rest else location


class Files(Protocol):
    """The files of a file system, by their full paths. All calls block, and raise OSError and Arrow's errors."""

    def locate(self, path: str) -> str:
        """Return the path for messages."""
        ...

    def write(self, path: str, chunks: Iterable[Chunk]) -> None:
        """Write a new file, and the folders it is in. When this returns it is complete and durable.

        Raises FileExistsError when there is a file of this name.
        """
        ...

    def secure(self, path: str) -> None:
        """Make an existing file durable."""
        ...

    def read(self, path: str) -> bytes:
        """Return the contents. Raises FileNotFoundError."""
        ...

    def chunks(self, path: str) -> Iterator[bytes]:
        """Yield the contents in pieces. Raises FileNotFoundError."""
        ...

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes in bytes of all files in the folder and below. Empty when the folder does not exist."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder. Empty when the folder does not exist."""
        ...

    def make_private(self, folder: str) -> None:
        """Make a folder that only this user can enter, if the file system supports that."""
        ...

    def delete(self, files: Iterable[str]) -> None:
        """Delete the files, in this order. Missing files are no error."""
        ...

    def delete_folder(self, folder: str) -> None:
        """Delete the folder with its contents. A missing folder is no error."""
        ...


@final
class FileSystemStore:
    """A job's folder on a file system: a local one, or S3, GCS, Azure, HDFS."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder

    @classmethod
    def open(cls, location: str, job_id: JobId) -> FileSystemStore:
        """Open the folder of a job below `location`, a URI or a local path. Writes nothing; may block for S3.

        Raises StorageError naming the location.
        """
        return cls._open(location, job_id)

    @classmethod
    def open_folder(cls, location: str) -> FileSystemStore:
        """Open the folder of a job or savepoint at `location`. Blocks and raises as `open` does."""
        return cls._open(location, "")

    @classmethod
    def _open(cls, location: str, folder: str) -> FileSystemStore:
        try:
            file_system, root = fs.FileSystem.from_uri(absolute(location))
        except (OSError, pa.ArrowException, ImportError) as error:
            shown = without_secret(location)
            raise StorageError(
                f"cannot open checkpoint storage {shown!r}: {str(error).replace(location, shown)}. Give a local path "
                "or a file:, s3:, gs:, abfs: or hdfs: URI whose storage this machine can reach"
            ) from None  # Arrow's own error may quote the URI, password and all
        own = below(root, folder).rstrip("/")
        is_local = isinstance(file_system, fs.LocalFileSystem)
        return cls(LocalFiles(own) if is_local else ArrowFiles(file_system), own)

    def locate(self, path: str) -> str:
        return self._files.locate(self._full(path))

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        size_bytes, crc32 = 0, 0

        def measured() -> Iterator[Chunk]:
            nonlocal size_bytes, crc32
            for chunk in chunks:
                size_bytes += len(chunk)
                crc32 = zlib.crc32(chunk, crc32)
                yield chunk

        with self._failing("write", path, f"Check that the folder ({_SETTING}) can be written to and has room"):
            self._files.write(self._full(path), measured())
        return FileHandle(path, size_bytes, crc32)

    def secure(self, path: str) -> None:
        with self._failing("write", path):
            self._files.secure(self._full(path))

    def read(self, path: str) -> bytes | None:
        try:
            with self._failing("read", path):
                return self._files.read(self._full(path))
        except FileNotFoundError:
            return None

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def download(self, handle: FileHandle, target: Path) -> None:
        where = self.locate(handle.path)
        try:
            with self._failing("read", handle.path):
                receive(self._files.chunks(self._full(handle.path)), handle, target, where)
        except FileNotFoundError:
            raise missing(where) from None

    def list_files(self, folder: str) -> list[str]:
        return list(self.list_sizes(folder))

    def list_sizes(self, folder: str) -> dict[str, int]:
        with self._failing("list", folder):
            sizes = self._files.sizes(self._full(folder))
        return {path[len(self._folder) + 1 :]: sizes[path] for path in sorted(sizes)}

    def list_folders(self) -> list[str]:
        """Return the names of the folders directly in this one, sorted; empty when it does not exist. Blocks."""
        with self._failing("list", ""):
            return sorted(self._files.folders(self._folder))

    def make_private(self, folder: str) -> None:
        """Make a folder that only this user can enter, on a local file system; on others, do nothing."""
        with self._failing("write", folder):
            self._files.make_private(self._full(folder))

    def delete(self, paths: Iterable[str]) -> None:
        for folder, those in groupby(paths, lambda path: path.rpartition("/")[0]):
            with self._failing("delete files of", folder):
                self._files.delete(map(self._full, those))

    def delete_folder(self, folder: str) -> None:
        with self._failing("delete", folder):
            self._files.delete_folder(self._full(folder))

    def _full(self, path: str) -> str:
        return f"{self._folder}/{path}" if path else self._folder

    @contextmanager
    def _failing(
        self, verb: str, path: str, advice: str = f"Check that the storage ({_SETTING}) is reachable"
    ) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            if verb == "write":
                raise StorageError(
                    f"cannot write {self.locate(path)}: its folder cannot be made, or is gone. {advice}"
                ) from None
            raise
        except FileExistsError:
            raise StorageError(f"{self.locate(path)} exists already: checkpoint files are never overwritten") from None
        except (OSError, pa.ArrowException) as error:
            why = in_plain_words(error, self._full(path), verb) if isinstance(self._files, LocalFiles) else str(error)
            raise StorageError(f"cannot {verb} {self.locate(path)}: {why}. {advice}") from error
