"""Where files are: local paths and URIs of any file system that `pyarrow.fs` knows.

A place is text, so that it can be pickled; the file system is opened where it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Protocol, TypeVar, final

import pyarrow as pa
from pyarrow import fs

from headgate.checkpoint.file_store import without_secret
from headgate.errors import HeadgateError

Item = TypeVar("Item")
Result = TypeVar("Result")
_TOGETHER: Final = 8

FAILURES: Final = (OSError, pa.ArrowException)
"""What `pyarrow` raises when a file cannot be read or written."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder: `root` is the URI that tells the file system, or "" for the local one; `path` is within it."""

    root: str = field(repr=False)
    path: str

    @staticmethod
    def of(path: str | os.PathLike[str], failure: type[HeadgateError]) -> Place:
        """Return the place of a local path, made absolute, or of a URI. Raises `failure` for an unknown URI."""
        text = os.fspath(path)
        if "://" not in text and not text.startswith("file:"):
            return Place("", os.path.abspath(text))
        try:
            system, inner = fs.FileSystem.from_uri(text)
        except (pa.ArrowException, ValueError, OSError) as error:
            shown = without_secret(text)
            # Arrow's own error may quote the URI, password and all.
            raise failure(f"cannot open the file system of {shown!r}: {str(error).replace(text, shown)}") from None
        return Place("", inner) if isinstance(system, fs.LocalFileSystem) else Place(text, inner)

    @property
    def system(self) -> fs.FileSystem:
        """The file system, opened once for each process."""
        return _open(self.root)

    def child(self, name: str) -> Place:
        """Return the place of this name in this folder."""
        return Place(self.root, f"{self.path.rstrip('/')}/{name}")

    @property
    def folder(self) -> Place:
        """The folder that this is in."""
        return Place(self.root, self.path.rstrip("/").rpartition("/")[0])

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    def __str__(self) -> str:
        scheme = self.root.partition("://")[0]
        return f"{scheme}://{self.path}" if scheme else self.path


@lru_cache(maxsize=16)
def _open(root: str) -> fs.FileSystem:
    return fs.FileSystem.from_uri(root)[0] if root else fs.LocalFileSystem()


def together(work: Callable[[Item], Result], items: list[Item], place: Place) -> list[Result]:
    """Return what `work` makes of each item; blocks. Where each waits for the network, several wait together.

    Raises what the first one raised, when all have ended.
    """
    if not place.root or len(items) < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(_TOGETHER) as pool:
        return list(pool.map(work, items))


@final
@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file and its size when it was listed."""

    place: Place
    size_bytes: int


class PartOfFile(Protocol):
    """What a split of a file source tells of itself."""

    @property
    def place(self) -> Place:
        """The file."""
        ...

    @property
    def size_bytes(self) -> int:
        """The size of the whole file when it was found."""
        ...

    @property
    def part(self) -> str:
        """Which part of the file this is, the same whatever has been read of it."""
        ...


def name_of(part: PartOfFile) -> str:
    """Return the id of a split of a file source."""
    return f"{part.place}#{part.part}#{part.size_bytes}"


def list_files(place: Place, failure: type[HeadgateError]) -> list[FoundFile]:
    """Return the file at `place`, or the files below the folder, sorted by path; blocks.

    Files and folders whose name starts with "." or "_" are left out, as Spark and Flink do. Raises `failure` when there
    is nothing at the place.
    """
    system = place.system
    try:
        info = system.get_file_info(place.path)
        if info.type == fs.FileType.File:
            return [FoundFile(place, info.size)]
        if info.type == fs.FileType.NotFound:
            raise failure(f"there is no file or folder {str(place)!r}; check the path, and that this host sees it")
        below = system.get_file_info(fs.FileSelector(place.path, recursive=True))
    except (pa.ArrowException, OSError) as error:
        raise failure(f"cannot list {str(place)!r}: {error}") from error
    found = [FoundFile(Place(place.root, file.path), file.size) for file in below if _is_data(file, place.path)]
    return sorted(found, key=lambda file: file.place.path)


def _is_data(info: fs.FileInfo, folder: str) -> bool:
    parts = info.path[len(folder) :].strip("/").split("/")
    return bool(info.type == fs.FileType.File and not any(map(is_hidden, parts)))


def is_hidden(name: str) -> bool:
    """Return whether readers, ours and Spark's, leave out files and folders of this name."""
    return name.startswith((".", "_"))
