"""Handles on state files: what a subtask tells the job master about the state it has written.

A handle is small and immutable. Paths are relative to the job's folder in checkpoint storage.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

KEY_FORMAT: Final = 2
"""How keys are told apart: 1, by Python's equality, where 1, True and 1.0 are one key; 2, as `types.typed_key` says."""

SHARED: Final = "shared"
"""Folder of the files that several checkpoints may name."""


@final
@dataclass(frozen=True, slots=True)
class FileHandle:
    """State in a file of its own: `crc32` and `size_bytes` are of the whole file."""

    path: str
    size_bytes: int
    crc32: int

    @property
    def is_shared(self) -> bool:
        """Whether checkpoints after the one that it was written for may name it."""
        return self.path.startswith(f"{SHARED}/")


@final
@dataclass(frozen=True, slots=True)
class InlineHandle:
    """State small enough to travel in the acknowledgement and to live in `_metadata`."""

    data: bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of state."""
        return len(self.data)


StateHandle = FileHandle | InlineHandle


@final
@dataclass(frozen=True, slots=True)
class StateFile:
    """A file of keyed state under the name that its backend knows it by."""

    name: str
    handle: StateHandle


KeyedKind = Literal["entries", "rocksdb", "canonical"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedState:
    """The keyed state of one operator of one subtask, which holds `key_groups` (first and last, both included).

    `kind` says what `base` is: "entries", one file of entries; "rocksdb", the files of a RocksDB checkpoint;
    "canonical", a Parquet file for each state. `log` holds files of changed entries, oldest first, to be applied over
    the base. `key_format` is that of the keys, `KEY_FORMAT` of what is written today.
    """

    key_groups: tuple[int, int]
    kind: KeyedKind
    base: tuple[StateFile, ...]
    log: tuple[StateFile, ...] = ()
    key_format: int = KEY_FORMAT

    def handles(self) -> list[StateHandle]:
        """Return the handles on all of its files."""
        return [file.handle for file in (*self.base, *self.log)]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedKeyed:
    """Keyed state whose files are at hand, for an operator to restore.

    `files` has their contents; of those of a base that is not of entries, paths of local copies. The name of a file is
    not enough to find it by: parts of a log that attempts before this one wrote may have the same. Files that are not
    `owned` are those of a savepoint or of another job: nothing that this job writes may name them.
    """

    state: KeyedState
    files: Mapping[StateFile, bytes | Path]
    owned: bool = True


@final
class LocalFile:
    """A `StateWriter` of one local file; its handles are of no use."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        with self._target.open("wb") as file:
            file.writelines(pieces)
        return InlineHandle(b"")

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        shutil.move(source, self._target)
        return InlineHandle(b"")
