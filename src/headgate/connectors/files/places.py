"""Places of files: local paths, and URIs of file systems that `pyarrow.fs` knows. Lists files, and makes them durable.

A place is text, so that it can be pickled; each process opens the file system when it needs it. Local files are synced
before a checkpoint depends on them. In an object store every file is durable when it is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Final, Protocol, TypeVar, final
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from headgate.checkpoint import durable
from headgate.checkpoint.file_store import without_secret
from headgate.errors import HeadgateError

Item = TypeVar("Item")
Result = TypeVar("Result")
_TOGETHER: Final = 8
_ASCII: Final = "".join(map(chr, range(33, 127)))

FAILURES: Final = (OSError, pa.ArrowException)
"""Errors of `pyarrow` for a file that cannot be read or written."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder.

    `root` is the URI of the file system, "" for the local file system; `path` is the path in it.
    """

    root: str = field(repr=False)
    path: str

    @staticmethod
    def of(path: str | os.PathLike[str], failure: type[HeadgateError]) -> Place:
        """Return the place of a local path, made absolute, or of a URI. Raises `failure` for an unknown URI."""
        text = os.fspath(path)
        if "://" not in text and not text.startswith("file:"):
            return Place("", os.path.abspath(text))
        shown = without_secret(text)
        try:
            # Arrow accepts only ASCII, and decodes percent-escapes.
            text = quote(text, safe=_ASCII)
            system, inner = fs.FileSystem.from_uri(text)
        except (pa.ArrowException, ValueError, OSError) as error:
            # Arrow's error may contain the URI with its password.
            raise failure(f"cannot open the file system of {shown!r}: {str(error).replace(text, shown)}") from None
        return Place("", inner) if isinstance(system, fs.LocalFileSystem) else Place(text, inner)

    @property
    def system(self) -> fs.FileSystem:
        """The file system, opened once in each process."""
        return _open(self.root)

    def child(self, name: str) -> Place:
        """Return the place of the entry `name` in this folder."""
        return Place(self.root, f"{self.path.rstrip('/')}/{name}")

    @property
    def folder(self) -> Place:
        """The folder that contains this place."""
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
    """Return the result of `work` for each item. Blocks. On a remote file system, runs eight at a time.

    Waits for all calls, then raises the first error.
    """
    if not place.root or len(items) < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(_TOGETHER) as pool:
        return list(pool.map(work, items))


@final
@dataclass(frozen=True, slots=True)
class Stamp:
    """Distinguishes a file from other files of its size, even after a move, and names the folder to look for it.

    `inode` is the inode number in a local file system, otherwise 0. `folder` is the path of the monitored folder or
    file.
    """

    mtime_ns: int
    inode: int
    folder: str

    def __str__(self) -> str:
        return f"{self.mtime_ns}.{self.inode}"


@final
@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, its size when it was listed, and its stamp if its folder is monitored."""

    place: Place
    size_bytes: int
    stamp: Stamp | None = None

    @property
    def version(self) -> str:
        """Size and stamp as text."""
        return _version(self)


class PartOfFile(Protocol):
    """The attributes of a split of a file source."""

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
        """The part of the file. It does not change while the split is read."""
        ...


def restore_part(part: Any, state: list[Any]) -> None:
    """Set the fields of an unpickled split. Old pickles lack the last fields, which become None."""
    for known, value in zip_longest(fields(part), state):
        object.__setattr__(part, known.name, value)


def name_of(part: PartOfFile) -> str:
    """Return the id of a split of a file source."""
    return f"{part.place}#{part.part}#{_version(part)}"


def _version(part: Any) -> str:
    # Splits of a user's format and of older snapshots may have no stamp.
    stamp = getattr(part, "stamp", None)
    return str(part.size_bytes) if stamp is None else f"{part.size_bytes}@{stamp}"


def parse_version(version: str) -> tuple[int, Stamp | None]:
    """Return size and stamp from the version in the id of a split. The stamp has no folder.

    >>> parse_version("120@1700.5"), parse_version("120")
    ((120, Stamp(mtime_ns=1700, inode=5, folder='')), (120, None))
    """
    size, _, stamp = version.partition("@")
    if not stamp:
        return int(size), None
    mtime_ns, _, inode = stamp.partition(".")
    return int(size), Stamp(int(mtime_ns), int(inode), "")


def is_told_by_stamp(file: FoundFile) -> bool:
    """Return whether size and stamp identify a moved file: a move must be a rename, not a copy."""
    return file.stamp is not None and (file.stamp.inode != 0 or file.place.system.type_name == "hdfs")


def list_files(place: Place, failure: type[HeadgateError]) -> list[FoundFile]:
    """Return the file at `place`, or the files below the folder, sorted by path; blocks.

    Files and folders whose names start with "." or "_" are ignored, as in Spark and Flink. Raises `failure` if the
    place does not exist.
    """
    return [FoundFile(Place(place.root, info.path), info.size) for info in _list(place, failure)]


def list_stamped_files(place: Place, failure: type[HeadgateError]) -> list[FoundFile]:
    """Return the files of `list_files` with their stamps."""
    found = (_stamped(Place(place.root, info.path), info, place.path) for info in _list(place, failure))
    return [file for file in found if file is not None]


def look_at(place: Place, folder: str) -> FoundFile | None:
    """Return the file at `place` with its stamp, None if it does not exist. Blocks. Raises the errors of `pyarrow`."""
    info = place.system.get_file_info(place.path)
    return _stamped(place, info, folder) if info.is_file else None


def _stamped(place: Place, info: fs.FileInfo, folder: str) -> FoundFile | None:
    if place.root:
        return FoundFile(place, info.size, None if info.mtime_ns is None else Stamp(info.mtime_ns, 0, folder))
    try:
        found = os.stat(place.path)
    except FileNotFoundError:
        return None
    return FoundFile(place, found.st_size, Stamp(found.st_mtime_ns, found.st_ino, folder))


_HINT: Final = "check the path, and that this host sees it"


def _list(place: Place, failure: type[HeadgateError]) -> list[fs.FileInfo]:
    system = place.system
    try:
        info = system.get_file_info(place.path)
        if info.type == fs.FileType.File:
            return [info]
        if info.type == fs.FileType.NotFound:
            hint = "give a folder or each file, as patterns with '*' are not expanded" if "*" in place.path else _HINT
            raise failure(f"there is no file or folder {str(place)!r}; {hint}")
        below = system.get_file_info(fs.FileSelector(place.path, recursive=True))
        return sorted((file for file in below if _is_data(file, place.path)), key=lambda file: file.path)
    except (pa.ArrowException, OSError) as error:
        raise failure(f"cannot list {str(place)!r}: {error}") from error
    except UnicodeError as error:
        raise failure(f"there is a name that is not UTF-8 at {str(place)!r}; rename it: {error}") from error


def _is_data(info: fs.FileInfo, folder: str) -> bool:
    parts = info.path[len(folder) :].strip("/").split("/")
    return bool(info.type == fs.FileType.File and not any(map(is_hidden, parts)))


def is_hidden(name: str) -> bool:
    """Return whether readers of headgate and Spark ignore files and folders of this name."""
    return name.startswith((".", "_"))


def make_folder(folder: Place) -> None:
    """Create a folder and its parents, if they do not exist. Blocks."""
    if folder.root:
        folder.system.create_dir(folder.path, recursive=True)
    else:
        durable.make_folder(folder.path)


def sync_files(files: Iterable[Place]) -> None:
    """Make the contents of the files durable. Blocks. Ignores files that do not exist."""
    durable.sync_files(file.path for file in files if not file.root)


def sync_folders(folders: Iterable[Place]) -> None:
    """Make the entries of the folders durable. Blocks."""
    for folder in folders:
        if not folder.root:
            durable.sync_folder(folder.path)


def folders_to(base: Place, folder: Place) -> Iterator[Place]:
    """Yield the folder and its parents up to `base`."""
    while folder != base:
        yield folder
        folder = folder.folder
    yield base
