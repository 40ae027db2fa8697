"""The hash-map backend: keyed state as live Python objects in one dictionary of cells.

The loop that runs a keyed operator does, for each record::

    cell = cells.get(key)
    if cell is None or cell[EPOCH] != backend.epoch:
        cell = backend.enter(key, cell)
    backend.cell = cell

`enter` is the slow path: a new key, or the first touch of a key since a barrier. In the latter case a snapshot that is
under way gets the cell first, as it was at the barrier. Thus a snapshot costs the loop nothing but the keys it touches,
and shows the values of the barrier even when user code changes lists in place.

A backend belongs to the mailbox loop of its subtask; no method blocks.
"""

from __future__ import annotations

from typing import Any, final

from headgate.errors import InternalError, ProgramError, RestoreError, SerializationError
from headgate.state import backend, snapshot
from headgate.state.cells import CHUNK_CELLS, DEAD, EPOCH, FIRST, GROUP, KEY, NO_CELL, Cell, Chunk, Roster
from headgate.state.descriptors import StateDescriptor, ValueStateDescriptor
from headgate.state.files import KeyedState, StateFile
from headgate.state.handles import ValueState
from headgate.state.keygroups import key_group
from headgate.types.keys import hash_code


@final
class HashMapBackend:
    """Keyed state of one operator in one subtask, which owns the key groups `key_groups`.

    `cells` and `cell` (the current one) are for the loop of the operator and for handles, `emptied` is for handles.
    """

    __slots__ = (
        "_columns",
        "_fresh",
        "_handles",
        "_key_groups",
        "_max_parallelism",
        "_roster",
        "_snapshots",
        "_states",
        "cell",
        "cells",
        "emptied",
        "epoch",
    )

    def __init__(self, key_groups: range, max_parallelism: int) -> None:
        self.cells: dict[Any, Cell] = {}
        self.cell: Cell = NO_CELL
        self.emptied: list[Cell] = []
        self.epoch = 0
        self._fresh: list[Cell] = []
        self._key_groups = key_groups
        self._max_parallelism = max_parallelism
        self._roster = Roster()
        self._snapshots: list[KeyedSnapshot] = []
        self._columns: dict[str, int] = {}
        self._states: list[snapshot.StateMeta] = []
        self._handles: dict[str, tuple[StateDescriptor, ValueState[Any]]] = {}

    def value_state(self, descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return the handle of the state with the descriptor's name; the same one each time.

        Raises `ProgramError` when the name is in use for another kind or type, `RestoreError` when the restored state
        of this name has another.
        """
        meta = snapshot.StateMeta(descriptor.name, descriptor.kind, str(descriptor.type_info))
        if descriptor.name in self._handles:
            return self._registered(meta)
        handle: ValueState[Any] = ValueState(self, self._column(meta))
        self._handles[descriptor.name] = (descriptor, handle)
        return handle

    def _registered(self, meta: snapshot.StateMeta) -> ValueState[Any]:
        known = self._states[self._columns[meta.name] - FIRST]
        if known != meta:
            raise ProgramError(f"state {meta.name!r} is declared twice, as {known.describe()} and as {meta.describe()}")
        return self._handles[meta.name][1]

    def _column(self, meta: snapshot.StateMeta) -> int:
        column = self._columns.get(meta.name)
        if column is None:
            return self._add_column(meta)
        restored = self._states[column - FIRST]
        if restored != meta:
            raise RestoreError(
                f"state {meta.name!r} was saved as {restored.describe()} and is now declared as {meta.describe()}; "
                "declare it as it was saved, or give the new state another name"
            )
        return column

    def _add_column(self, meta: snapshot.StateMeta) -> int:
        column = FIRST + len(self._states)
        self._columns[meta.name] = column
        self._states.append(meta)
        for cell in self.cells.values():
            cell.append(None)
        return column

    # --- the current key

    def enter(self, key: Any, cell: Cell | None) -> Cell:
        """Return the cell of `key` (`cell`, or a new one when that is None), safe to read and change."""
        if cell is None:
            cell = self._new_cell(self.epoch, key, [None] * len(self._states))
            self._fresh.append(cell)
            return cell
        for pending in self._snapshots:
            if cell[EPOCH] < pending.epoch:
                pending.save(cell)
        cell[EPOCH] = self.epoch
        return cell

    def _new_cell(self, epoch: int, key: Any, values: list[Any]) -> Cell:
        group = key_group(hash_code(key), self._max_parallelism)
        if group not in self._key_groups:
            raise InternalError(f"key {key!r} of key group {group} reached a subtask that owns {self._key_groups}")
        cell = [epoch, key, group, *values]
        self.cells[key] = cell
        self._roster.add(cell)
        return cell

    def leave(self) -> None:
        """End the use of a current key: after a batch. Cells without any value are dropped."""
        self.cell = NO_CELL
        if self._fresh or self.emptied:
            for cell in (*self._fresh, *self.emptied):
                if cell[EPOCH] != DEAD and all(value is None for value in cell[FIRST:]):
                    del self.cells[cell[KEY]]
                    self._roster.bury(cell)
            self._fresh.clear()
            self.emptied.clear()
        self._roster.tidy()

    # --- snapshots

    def snapshot(self) -> KeyedSnapshot:
        """Begin a snapshot of the state as it is now. Cheap: the copying is done by `KeyedSnapshot.advance`."""
        self.epoch += 1
        pending = KeyedSnapshot(self.epoch, self._key_groups, self._roster.chunks(), tuple(self._states))
        self._snapshots.append(pending)
        return pending

    def forget(self, pending: backend.KeyedSnapshot) -> None:
        """End a snapshot, finished or given up."""
        self._snapshots = [each for each in self._snapshots if each is not pending]

    def restore(self, data: bytes, where: str) -> None:
        """Add the key groups that this subtask owns from a snapshot file. `where` names the file in errors.

        Raises `DamagedFileError` for a file that is not whole, `RestoreError` for one that cannot be read here.
        """
        saved = snapshot.decode(data, where)
        for meta in saved.states:
            if meta.name not in self._columns:
                self._add_column(meta)
        columns = [self._columns[meta.name] - FIRST for meta in saved.states]
        for group in saved.groups():
            if group in self._key_groups:
                for key, *values in saved.entries(group):
                    row: list[Any] = [None] * len(self._states)
                    for column, value in zip(columns, values, strict=True):
                        row[column] = value
                    self._new_cell(self.epoch, key, row)

    def __len__(self) -> int:
        """Number of keys that have state."""
        return len(self.cells)


@final
class KeyedSnapshot:
    """A snapshot under way: takes cells as they were at its barrier, in pieces, and by `save` just before a change."""

    __slots__ = ("_chunks", "_failure", "_states", "_writer", "epoch", "key_groups")

    def __init__(
        self, epoch: int, groups: range, chunks: list[tuple[int, Chunk]], states: tuple[snapshot.StateMeta, ...]
    ) -> None:
        self.epoch = epoch
        self.key_groups = (groups[0], groups[-1])
        self._chunks = chunks[::-1]
        self._states = states
        self._writer = snapshot.SnapshotWriter(states)
        self._failure: SerializationError | None = None

    def save(self, cell: Cell) -> None:
        """Take one cell, which is about to change. What cannot be pickled is for `advance` to raise."""
        try:
            self._writer.add_one(cell[GROUP], (cell[KEY], *cell[FIRST : FIRST + len(self._states)]))
        except SerializationError as error:
            self._failure = self._failure or error

    def advance(self) -> bool:
        """Take about a thousand more cells; return whether all are taken. Raises `SerializationError`.

        Of several snapshots under way, the oldest is to be taken wholly before the next one is begun.
        """
        if self._failure is not None:
            raise self._failure
        if not self._chunks:
            return self._writer.settle(CHUNK_CELLS)
        room = CHUNK_CELLS
        while self._chunks and room > 0:
            group, chunk = self._chunks.pop()
            room -= max(len(chunk), 32)
            self._take(group, chunk)
        return False

    def _take(self, group: int, chunk: Chunk) -> None:
        epoch, end = self.epoch, FIRST + len(self._states)
        due = [cell for cell in chunk if cell[EPOCH] < epoch]
        if due:
            self._writer.add(group, [(cell[KEY], *cell[FIRST:end]) for cell in due])
            for cell in due:
                cell[EPOCH] = epoch

    def store(self, writer: backend.StateWriter) -> KeyedState:
        """Write the snapshot file, once `advance` has returned True."""
        file = StateFile("keyed", writer.write("keyed", self.finish(), shared=False))
        return KeyedState(key_groups=self.key_groups, kind="entries", base=(file,))

    def finish(self) -> list[bytes]:
        """Return the snapshot file as pieces of bytes, once `advance` has returned True. May be called elsewhere."""
        return self._writer.finish()
