"""Savepoint writers: each savepoint has a folder of its own, which contains all its state.

Canonical savepoints are written twice, on an I/O thread: first as a local file of entries, the only form that backends
need to know, then from this file as tables. Only the entries of one key group are in memory at a time.
"""

from __future__ import annotations

import mmap
import pickle
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast, final

from headgate.checkpoint import paths
from headgate.checkpoint.store import CheckpointStore
from headgate.elements import Barrier, SavepointFormat, SavepointOrder
from headgate.errors import StorageError
from headgate.ids import CheckpointId
from headgate.runtime.slot_storage.state_writers import CheckpointWriter, StateWriters
from headgate.state.backend import KeyedSnapshot, StateWriter
from headgate.state.files import InlineHandle, KeyedState, LocalFile, StateFile, StateHandle
from headgate.state.formats.snapshot import decode

_ENTRIES: Final = "entries"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SavepointTerms:
    """How savepoints are written. `open_store` opens a savepoint's folder, `scratch` makes a temporary local folder.

    State of less than `inline_bytes` gets no file, except for tables. `moved_classes` maps old names of classes to new
    ones.
    """

    open_store: Callable[[str], CheckpointStore]
    scratch: Callable[[], Path]
    inline_bytes: int
    moved_classes: dict[str, str]


@final
class SlotWriters:
    """The writers of one attempt: for its checkpoints, and for each savepoint in the savepoint's folder."""

    def __init__(self, checkpoints: StateWriters, savepoints: SavepointTerms) -> None:
        self._checkpoints = checkpoints
        self._savepoints = savepoints
        self._lock = threading.Lock()
        self._opened: tuple[str, CheckpointStore] | None = None

    def of(self, own: paths.Writer, barrier: Barrier) -> CheckpointWriter:
        if barrier.savepoint is None:
            return self._checkpoints.of(own, barrier)
        return self._of_savepoint(own, barrier.savepoint)

    def _of_savepoint(self, own: paths.Writer, order: SavepointOrder) -> CheckpointWriter:
        writer = SavepointStateWriter(self._store_at(order.location), own, self._savepoints.inline_bytes)
        if order.format is SavepointFormat.NATIVE:
            return writer
        return CanonicalWriter(writer, self._savepoints)

    def ahead(self, own: paths.Writer) -> StateWriter:
        return self._checkpoints.ahead(own)

    def write_in_flight(
        self, own: paths.Writer, checkpoint_id: CheckpointId, name: str, payloads: list[bytes]
    ) -> StateHandle:
        return self._checkpoints.write_in_flight(own, checkpoint_id, name, payloads)

    def _store_at(self, location: str) -> CheckpointStore:
        with self._lock:
            if self._opened is None or self._opened[0] != location:
                self._opened = location, self._savepoints.open_store(location)
            return self._opened[1]


@final
class SavepointStateWriter:
    """A `CheckpointWriter` of files in a savepoint's folder. Only the savepoint uses these files."""

    def __init__(self, store: CheckpointStore, own: paths.Writer, inline_bytes: int) -> None:
        self._store = store
        self._own = own
        self._inline_bytes = inline_bytes

    def write_keyed(self, snapshot: KeyedSnapshot) -> KeyedState:
        return snapshot.store(self)

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        return self._write(paths.savepoint_state(self._own, name), pieces)

    def write_list(self, name: str, elements: list[bytes]) -> StateHandle:
        return self._write(paths.savepoint_list(self._own, name), [pickle.dumps(elements, 5)])

    def _write(self, path: str, pieces: list[bytes]) -> StateHandle:
        if sum(map(len, pieces)) < self._inline_bytes:
            return InlineHandle(b"".join(pieces))
        return self._store.write(path, pieces)

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        if source.stat().st_size < self._inline_bytes:
            return InlineHandle(source.read_bytes())
        return self.upload_table(name, source)

    def upload_table(self, name: str, source: Path) -> StateHandle:
        """Store a local file as a file, however small, so that other programs than jobs can read it."""
        return self._store.upload(paths.savepoint_state(self._own, name), source)


@final
class CanonicalWriter:
    """A `CheckpointWriter` that converts the snapshots of all backends into tables that every backend reads."""

    def __init__(self, files: SavepointStateWriter, terms: SavepointTerms) -> None:
        self._files = files
        self._terms = terms

    def write_keyed(self, snapshot: KeyedSnapshot) -> KeyedState:
        try:
            with tempfile.TemporaryDirectory(dir=self._terms.scratch()) as folder:
                snapshot.store(LocalFile(Path(folder, _ENTRIES)))
                base = self._converted(snapshot.key_groups, Path(folder))
        except OSError as error:
            raise StorageError(f"a savepoint could not be written to local files: {error}") from error
        return KeyedState(key_groups=snapshot.key_groups, kind="canonical", base=base)

    def _converted(self, key_groups: tuple[int, int], folder: Path) -> tuple[StateFile, ...]:
        from headgate.state.canonical.writer import write_canonical  # noqa: PLC0415  # Arrow takes long to load

        first, last = key_groups
        with (folder / _ENTRIES).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            saved = decode(cast("bytes", data), str(folder), self._terms.moved_classes)  # it is sliced, and no more
            tables = write_canonical(saved.states, saved.entries(range(first, last + 1)), folder)
            del saved
        return tuple(StateFile(path.name, self._files.upload_table(path.name, path)) for path in tables)

    def write_list(self, name: str, elements: list[bytes]) -> StateHandle:
        return self._files.write_list(name, elements)

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        return self._files.write(name, pieces, shared=shared)

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        return self._files.upload(name, source, shared=shared)
