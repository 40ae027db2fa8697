"""Snapshots of state in RocksDB: one walk through the cells in memory, and three kinds of files as its result.

The walk writes the changes of the cells as of the barrier. A cell that is about to change is written first. Changes
after the barrier must stay in memory as long as the database may become part of the snapshot (`RowsSnapshot.is_over`).
This ends when the walk has ended and a view of the database exists, or when the files of the database are linked.

The result is one of these: all rows as entries, which either backend reads; the files of the database; or, with a
changelog, the changed entries. Files of the database never change, so files that the increment base has are not
uploaded again.
"""

from __future__ import annotations

import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, final

from headgate.errors import SerializationError, StorageError
from headgate.state.backend import StateWriter
from headgate.state.files import KeyedState, StateFile
from headgate.state.formats.snapshot import ALL_GROUPS, FileLayout
from headgate.state.keyed.cell_snapshot import FileTerms
from headgate.state.keyed.cells import CHUNK_CELLS, DEAD, GENERATION, SAVED, Cell
from headgate.state.keyed.increments import IncrementBase
from headgate.state.rocksdb.layouts import Layouts, metas_of
from headgate.state.rocksdb.store import Frames, Store

_ALL: Final = object()
_SKIPPED: Final = ("LOG", "LOCK", "OPTIONS", "IDENTITY")
"""Files of a RocksDB folder that a restore does not need."""


@final
class BarrierWalk:
    """Writes the cells as of the end of a generation to the store, in pieces."""

    def __init__(self, generation: int, listed: list[Cell], panes: Iterator[None], store: Store) -> None:
        """Create the walk. `listed` are the cells in memory; `panes` writes the panes, piece by piece."""
        self.generation = generation
        self._listed = listed
        self._panes = panes
        self._position = 0
        self._cells = store.cells
        self._rows = store.rows
        self._failure: SerializationError | None = None

    def needs(self, cell: Cell) -> bool:
        """Return whether the cell, which is about to change, must be taken first."""
        return cell[SAVED] != cell[GENERATION] and cell[GENERATION] <= self.generation  # type: ignore[no-any-return]

    def take(self, cell: Cell) -> None:
        """Take a cell that is about to change. `advance` raises the error if a value cannot be pickled."""
        try:
            self._cells.flush([cell])
        except SerializationError as error:
            self._failure = self._failure or error

    def advance(self) -> bool:
        """Take about a thousand more cells; return whether all are taken. Raises `SerializationError`."""
        if self._failure is not None:
            raise self._failure
        try:
            return self._take_piece()
        except SerializationError as error:
            self._failure = error
            raise

    def _take_piece(self) -> bool:
        if self._position < len(self._listed):
            piece = self._listed[self._position : self._position + CHUNK_CELLS]
            self._position += CHUNK_CELLS
            self._cells.flush([cell for cell in piece if cell[GENERATION] != DEAD and self.needs(cell)])
            return False
        self._listed = []
        return next(self._panes, _ALL) is _ALL

    def write_rows(self) -> bool:
        """Write some of the cells' rows to the database. Return whether all are written."""
        return self._rows.write()


class RowsSnapshot(ABC):
    """A snapshot under way. `base` is the base that it builds on, None for a whole snapshot."""

    def __init__(self, walk: BarrierWalk, base: IncrementBase | None, terms: FileTerms) -> None:
        self.base = base
        self.generation = walk.generation
        self.key_groups = terms.key_groups
        self.stored: IncrementBase | None = None
        self.name = terms.name
        self.walk: BarrierWalk | None = walk

    def advance(self) -> bool:
        """Take about a thousand more cells; return whether all are taken. Raises `SerializationError`."""
        if self.walk is not None:
            self._walk_on(self.walk)
        return self.walk is None

    def _walk_on(self, walk: BarrierWalk) -> None:
        if walk.advance() and self._reached(walk):
            self.walk = None
            self._walked()

    def _reached(self, walk: BarrierWalk) -> bool:
        """Return whether the taken cells are in the database, after writing some of their rows."""
        return walk.write_rows()

    @abstractmethod
    def _walked(self) -> None:
        """Continue after the walk: all cells are written."""

    @property
    def is_over(self) -> bool:
        """Whether later writes cannot become part of the snapshot."""
        return self.walk is None

    def settle(self) -> None:
        """Finish the part of the snapshot that later writes could affect. Blocks."""
        while self.walk is not None:
            self._walk_on(self.walk)

    def abort(self) -> None:
        """Abort the snapshot: it will not be stored."""
        self.walk = None

    @abstractmethod
    def store(self, writer: StateWriter) -> KeyedState:
        """Write the files. Blocks. Raises `StorageError`."""


@final
class DeltaSnapshot(RowsSnapshot):
    """The changes since the base, as entries: a part of the changelog."""

    def __init__(
        self, walk: BarrierWalk, base: IncrementBase, terms: FileTerms, frames: Frames, layouts: Layouts
    ) -> None:
        super().__init__(walk, base, terms)
        self._since = base
        self._frames = frames
        self._layouts = layouts
        self._pieces: list[bytes] = []

    def _reached(self, walk: BarrierWalk) -> bool:
        return True

    def _walked(self) -> None:
        self._pieces = self._frames.between(self._since.generation, self.generation)
        self._layout = FileLayout(metas_of(self._layouts), delta=True)

    def store(self, writer: StateWriter) -> KeyedState:
        pieces = [self._layout.begin(), *(self._layout.add(ALL_GROUPS, piece) for piece in self._pieces)]
        pieces.append(self._layout.end())
        name = f"delta-{self.name}"
        self.stored = self._since.then(self.generation, StateFile(name, writer.write(name, pieces, shared=True)))
        return self.stored.state


@final
class FilesSnapshot(RowsSnapshot):
    """The files of the database. Files that `known` has are not written again, because files never change.

    The loop may call `settle` while `store` runs on an I/O thread.
    """

    def __init__(
        self, walk: BarrierWalk, terms: FileTerms, store: Store, known: KeyedState | None, folder: Path
    ) -> None:
        super().__init__(walk, None, terms)
        self._database = store.database
        self._known = {} if known is None or known.kind != "rocksdb" else {file.name: file for file in known.base}
        self._shared = terms.may_be_shared
        self._folder = folder
        self._lock = threading.Lock()
        self._is_linked = False

    def _walked(self) -> None:
        self._database.commit()

    @property
    def is_over(self) -> bool:
        return self._is_linked

    def settle(self) -> None:
        super().settle()
        self._link()

    def _link(self) -> None:
        with self._lock:
            if not self._is_linked:
                try:
                    self._database.checkpoint(self._folder)
                finally:
                    self._is_linked = True

    def abort(self) -> None:
        super().abort()
        with self._lock:
            self._is_linked = True
        shutil.rmtree(self._folder, ignore_errors=True)

    def store(self, writer: StateWriter) -> KeyedState:
        self._link()
        try:
            names = sorted(path.name for path in self._folder.iterdir() if _is_needed(path.name))
            base = tuple(map(partial(self._stored, writer), names))
        except OSError as error:
            raise StorageError(f"files of RocksDB in {self._folder} could not be read: {error}") from error
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        state = KeyedState(key_groups=self.key_groups, kind="rocksdb", base=base)
        self.stored = IncrementBase(self.generation, state)
        return state

    def _stored(self, writer: StateWriter, name: str) -> StateFile:
        source = self._folder / name
        if not name.endswith(".sst"):
            return StateFile(name, writer.write(name, [source.read_bytes()], shared=self._shared))
        known = self._known.get(name)
        if known is not None and known.handle.size_bytes == source.stat().st_size:
            return known
        return StateFile(name, writer.upload(name, source, shared=self._shared))


def _is_needed(name: str) -> bool:
    return not name.startswith(_SKIPPED) and not name.endswith((".log", ".json"))
