"""Checkpoint files in object stores, on HDFS, and on other file systems of Arrow: complete when they are closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, final

from pyarrow import fs

from headgate.checkpoint.store import CHUNK_BYTES, Chunk

_WITHOUT_FOLDERS: Final = frozenset({"s3", "gcs", "abfs"})


@final
class ArrowFiles:
    """The files of a `pyarrow.fs` file system, by their full paths. May be used from several threads."""

    def __init__(self, file_system: fs.FileSystem) -> None:
        self._fs = file_system

    def locate(self, path: str) -> str:
        return f"{self._fs.type_name}://{path}"

    def write(self, path: str, chunks: Iterable[Chunk]) -> None:
        if self._fs.get_file_info(path).type != fs.FileType.NotFound:
            raise FileExistsError(path)
        if self._fs.type_name not in _WITHOUT_FOLDERS:
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)
        with self._fs.open_output_stream(path) as stream:
            for chunk in chunks:
                stream.write(chunk)

    def secure(self, path: str) -> None:
        """Do nothing: a file that exists was closed, and is durable."""

    def read(self, path: str) -> bytes:
        with self._fs.open_input_file(path) as file:
            return bytes(file.read())

    def chunks(self, path: str) -> Iterator[bytes]:
        with self._fs.open_input_file(path) as file:
            while chunk := bytes(file.read(CHUNK_BYTES)):
                yield chunk

    def sizes(self, folder: str) -> dict[str, int]:
        infos = self._fs.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
        return {info.path: info.size for info in infos if info.type == fs.FileType.File}

    def folders(self, folder: str) -> list[str]:
        infos = self._fs.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return [info.base_name for info in infos if info.type == fs.FileType.Directory]

    def make_private(self, folder: str) -> None:
        """Do nothing: the storage has its own access rules."""

    def delete(self, files: Iterable[str]) -> None:
        for path in files:
            try:
                self._fs.delete_file(path)
            except FileNotFoundError:
                continue

    def delete_folder(self, folder: str) -> None:
        try:
            self._fs.delete_dir(folder)
        except FileNotFoundError:
            return
