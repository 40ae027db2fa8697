"""Opens the files of a restore, and checks that their keys still belong to the same key groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from headgate.errors import RestoreError
from headgate.state.backend import BackendContext
from headgate.state.files import FetchedKeyed, StateFile
from headgate.state.formats.schema import StateMeta
from headgate.state.formats.snapshot import Entry, decode
from headgate.state.keyed.cells import plain_key
from headgate.state.keygroups import group_of_key


class SavedFile(Protocol):
    """A file of entries: of all states, or of one state if it belongs to a canonical savepoint."""

    @property
    def states(self) -> list[StateMeta]:
        """The states whose values the entries have."""
        ...

    @property
    def is_delta(self) -> bool:
        """Whether the file holds changes of the files before it."""
        ...

    def entries(self, groups: range) -> Iterator[Entry]:
        """Yield the entries of these key groups. Raises `DamagedFileError`, `RestoreError`."""
        ...


def open_file(part: FetchedKeyed, file: StateFile, where: str, moved: Mapping[str, str]) -> SavedFile:
    """Open a file of entries. Raises `DamagedFileError`, `RestoreError`."""
    data = part.files[file]
    place = f"{getattr(file.handle, 'path', '')} ({where})".lstrip()
    if part.state.kind == "canonical":
        from headgate.state.canonical.reader import CanonicalFile  # noqa: PLC0415  # Arrow takes long to load

        return CanonicalFile(data, place, moved)
    assert isinstance(data, bytes)
    return decode(data, place, moved)


def saved_files(parts: Sequence[FetchedKeyed], where: str, context: BackendContext) -> Iterator[SavedFile]:
    """Yield the files of entries in the order in which to apply them: each base, then its log.

    Raises `RestoreError` for database files of RocksDB, and `DamagedFileError` for an incomplete file.
    """
    for part in parts:
        if part.state.kind == "rocksdb":
            raise RestoreError(
                f"{where} was written by the RocksDB backend in its own format, which the hash map cannot read: "
                "restore with state.backend.type: rocksdb, and switch with a canonical savepoint"
            )
        for file in (*part.state.base, *part.state.log):
            yield open_file(part, file, where, context.moved_classes)


def check_group(group: int, key: Any, where: str, max_parallelism: int) -> None:
    """Raise `RestoreError` if the bytes of a key, and so its key group, have changed since the snapshot."""
    now = group_of_key(plain_key(key), max_parallelism)
    if now != group:
        raise RestoreError(
            f"key {key!r} in {where} was saved in key group {group} and now belongs to {now}: the name "
            "or the module of its class has changed, and keys cannot change"
        )


def spread(values: list[Any], columns: list[int], width: int) -> list[Any]:
    """Return a row of `width` columns with each value in its column, and None in the other columns.

    >>> spread(["a", "b"], [2, 0], 3)
    ['b', None, 'a']
    """
    row: list[Any] = [None] * width
    for column, value in zip(columns, values, strict=True):
        row[column] = value
    return row
