"""Checkpoint storage on any file system that Arrow knows. A part of its own, as Arrow takes long to load."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

import pyarrow as pa
from pyarrow import fs

from headgate.checkpoint.paths import absolute, below
from headgate.checkpoint.store import CHUNK_BYTES, Chunk, chunks_of, missing, receive
from headgate.errors import StorageError
from headgate.ids import JobId
from headgate.options import CHECKPOINT_DIR, STORAGE_DIR
from headgate.state.files import FileHandle

__all__ = ["FileSystemStore", "absolute", "without_secret"]

_WITHOUT_FOLDERS: Final = frozenset({"s3", "gcs", "abfs"})
_SETTING: Final = f"{CHECKPOINT_DIR.key} or {STORAGE_DIR.key}"


def without_secret(location: str) -> str:
    """Return the location without the user and password that a URI may have, also where they are not well-formed.

    >>> without_secret("s3://key:sec/ret@bucket/checkpoints?endpoint_override=http://minio")
    's3://...@bucket/checkpoints?endpoint_override=http://minio'
    """
    scheme, separator, rest = location.partition("://")
    return f"{scheme}://...@{rest.rpartition('@')[2]}" if separator and "@" in rest else location


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
        return cls._open(location, job_id)

    @classmethod
    def open_folder(cls, location: str) -> FileSystemStore:
        """Open the folder at `location`: of a job, or of a savepoint. Otherwise as `open`."""
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
        return cls(file_system, below(root, folder))

    def locate(self, path: str) -> str:
        scheme = self._fs.type_name
        full = self._full(path)
        return full if scheme == "local" else f"{scheme}://{full}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        full = self._full(path)
        size_bytes, crc32 = 0, 0
        with self._failing("write", path, f"Check that the folder ({_SETTING}) can be written to and has room"):
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

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def download(self, handle: FileHandle, target: Path) -> None:
        where = self.locate(handle.path)
        try:
            with self._failing("read", handle.path), self._fs.open_input_file(self._full(handle.path)) as file:
                receive(iter(lambda: bytes(file.read(CHUNK_BYTES)), b""), handle, target, where)
        except FileNotFoundError:
            raise missing(where) from None

    def list_files(self, folder: str) -> list[str]:
        return list(self.list_sizes(folder))

    def list_sizes(self, folder: str) -> dict[str, int]:
        with self._failing("list", folder):
            selector = fs.FileSelector(self._full(folder), recursive=True, allow_not_found=True)
            infos = self._fs.get_file_info(selector)
        files = [info for info in infos if info.type == fs.FileType.File]
        return {info.path[len(self._folder) + 1 :]: info.size for info in sorted(files, key=lambda info: info.path)}

    def list_folders(self) -> list[str]:
        """Return the names of the folders right below this one, sorted; none when it is not there. Blocks."""
        with self._failing("list", ""):
            infos = self._fs.get_file_info(fs.FileSelector(self._folder, allow_not_found=True))
        return sorted(info.base_name for info in infos if info.type == fs.FileType.Directory)

    def make_private(self, folder: str) -> None:
        """Make a folder that nobody but this user can enter, on a local file system; on others, do nothing."""
        if self._fs.type_name == "local":
            with self._failing("write", folder):
                os.makedirs(self._full(folder), mode=0o700, exist_ok=True)

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
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"cannot {verb} {self.locate(path)}: {error}. {advice}") from error
