"""Checkpoint files on a local file system, durable when they are written.

A file is written under a temporary name, synced and renamed, then its folder is synced. So a file under its final name
is whole, also after a loss of power. A killed process leaves the temporary file behind. Clean-up recognises it by its
name (`paths.target_of`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Final, final

from headgate.checkpoint import durable, paths
from headgate.checkpoint.store import CHUNK_BYTES, Chunk

_FOLDERS_KNOWN_MAX: Final = 256


@final
class LocalFiles:
    """The files in and below the folder `root`, by their full paths. May be used from several threads."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._durable_folders: set[str] = set()

    def locate(self, path: str) -> str:
        return path

    def write(self, path: str, chunks: Iterable[Chunk]) -> None:
        if os.path.lexists(path):
            raise FileExistsError(path)
        folder = os.path.dirname(path)
        self._make_folder(folder)
        own = temporary = paths.temporary(path, secrets.token_hex(4))
        try:
            with open(temporary, "xb") as file:
                file.writelines(chunks)
                file.flush()
                if file.tell():  # an empty file has only its name, which is synced below
                    os.fsync(file.fileno())
            durable.give_name(temporary, path)
            own = path
            durable.sync_folder(folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(own)  # a file that exists must be durable
            raise

    def secure(self, path: str) -> None:
        folder = os.path.dirname(path)
        self._make_folder(folder)
        durable.sync_file(path)
        durable.sync_folder(folder)

    def _make_folder(self, folder: str) -> None:
        """Make sure that the folder and its parents up to the root exist and are durable, whoever made them."""
        if folder in self._durable_folders and os.path.isdir(folder):
            return
        if folder != self._root:
            self._make_folder(os.path.dirname(folder))
        if os.path.isdir(folder):
            durable.sync_folder(os.path.dirname(folder))
        else:
            durable.make_folder(folder)
        if len(self._durable_folders) >= _FOLDERS_KNOWN_MAX:
            self._durable_folders.clear()
        self._durable_folders.add(folder)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def chunks(self, path: str) -> Iterator[bytes]:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def sizes(self, folder: str) -> dict[str, int]:
        return dict(_sizes(folder))

    def folders(self, folder: str) -> list[str]:
        with _entries(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def make_private(self, folder: str) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)

    def delete(self, files: Iterable[str]) -> None:
        for folder, those in groupby(files, os.path.dirname):
            if [path for path in those if _deleted(path)]:
                with contextlib.suppress(FileNotFoundError):
                    durable.sync_folder(folder)

    def delete_folder(self, folder: str) -> None:
        while os.path.isdir(folder):
            with contextlib.suppress(FileNotFoundError):  # other processes delete its files, too
                shutil.rmtree(folder)


def _deleted(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _sizes(folder: str) -> Iterator[tuple[str, int]]:
    with _entries(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _sizes(entry.path)
                continue
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                yield entry.path, entry.stat().st_size


def _entries(folder: str) -> AbstractContextManager[Iterable[os.DirEntry[str]]]:
    try:
        return os.scandir(folder)
    except FileNotFoundError:
        return contextlib.nullcontext(())
