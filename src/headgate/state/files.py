"""Handles of state files: a subtask reports to the job master by handles which state it has written.

A handle is small and immutable. Paths are relative to the job's folder in checkpoint storage.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, final

KEY_FORMAT: Final = 2
"""The version of the rule by which keys are equal.

1: as in Python, so 1, True and 1.0 are one key. 2: as described in `types.typed_key`.
"""

SHARED: Final = "shared"
"""Folder of the files that several checkpoints may name."""


@final
@dataclass(frozen=True, slots=True)
class FileHandle:
    """State in its own file. `crc32` and `size_bytes` cover the whole file."""

    path: str
    size_bytes: int
    crc32: int

    @property
    def is_shared(self) -> bool:
        """Whether checkpoints after the first one that has the file may name it, too."""
        return self.path.startswith(f"{SHARED}/")


@final
@dataclass(frozen=True, slots=True)
class InlineHandle:
    """State that is small enough for the acknowledgement and for `_metadata`."""

    data: bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of the state."""
        return len(self.data)


StateHandle = FileHandle | InlineHandle


@final
@dataclass(frozen=True, slots=True)
class StateFile:
    """A file of keyed state, with the name that its backend gave it."""

    name: str
    handle: StateHandle


KeyedKind = Literal["entries", "rocksdb", "canonical"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedState:
    """The keyed state of one operator in one subtask. `key_groups` are the first and the last key group that it holds.

    `kind` describes the files in `base`:

    - "entries": one file of entries
    - "rocksdb": the files of a RocksDB checkpoint
    - "canonical": a Parquet file for each state

    `log` holds files of changed entries, oldest first; a restore applies them after the base. `key_format` is the
    version of the keys; new state has `KEY_FORMAT`.
    """

    key_groups: tuple[int, int]
    kind: KeyedKind
    base: tuple[StateFile, ...]
    log: tuple[StateFile, ...] = ()
    key_format: int = KEY_FORMAT

    def handles(self) -> list[StateHandle]:
        """Return the handles of all its files."""
        return [file.handle for file in (*self.base, *self.log)]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedKeyed:
    """Keyed state whose files have been fetched, so that an operator can restore it.

    `files` maps each file to its contents; the files of a "rocksdb" or "canonical" base to the paths of local copies.
    The key is the whole `StateFile`, because files in the logs of earlier attempts may have the same name. With `owned`
    False the files belong to a savepoint or to another job, so no snapshot of this job may name them.
    """

    state: KeyedState
    files: Mapping[StateFile, bytes | Path]
    owned: bool = True


@final
class LocalFile:
    """A `StateWriter` that writes one local file. Its handles are placeholders."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        with self._target.open("wb") as file:
            file.writelines(pieces)
        return InlineHandle(b"")

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        shutil.move(source, self._target)
        return InlineHandle(b"")
