"""Backends of keyed state: their interface and common part, what the runtime gives them, and the choice of one."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar, final

from headgate import options
from headgate.clock import Clock
from headgate.config import Settings
from headgate.elements import SavepointFormat
from headgate.ids import CheckpointId
from headgate.native import chosen
from headgate.state.descriptors import TIMERS, StateDescriptor
from headgate.state.files import FetchedKeyed, KeyedState, StateHandle
from headgate.state.formats.schema import StateMeta
from headgate.state.keyed.cells import Cell, make_current, namespace_of
from headgate.state.keyed.columns import ExpiryFilter, StateColumns, meta_of, snapshot_filter
from headgate.state.keyed.increments import Increments
from headgate.state.keyed.namespaces import NamespaceView
from headgate.state.keyed.panes import Namespace, Pane, Panes
from headgate.state.keyed.timer_index import TimerIndex
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.keyed.walk import Filter
from headgate.state.kinds.binding import bind
from headgate.state.kinds.handle import State
from headgate.state.kinds.owner import HandleOwner, ListLike, MapLike
from headgate.types.typeinfo import Types

T = TypeVar("T")


class StateWriter(Protocol):
    """Writes the files of one subtask's keyed state for one checkpoint to storage. Called on an I/O thread; blocks.

    A checkpoint uses each name once. Later checkpoints may also name a `shared` file; storage keeps it as long as a
    retained checkpoint names it. Small state becomes part of the handle, except for local files that are shared. All
    methods raise `StorageError`.
    """

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        """Store these bytes."""
        ...

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        """Store the contents of a local file."""
        ...


class KeyedSnapshot(Protocol):
    """Keyed state as it was at a barrier. It still has to be walked and written."""

    @property
    def key_groups(self) -> tuple[int, int]:
        """The first and the last key group in the snapshot."""
        ...

    def advance(self) -> bool:
        """Do a bounded piece of the walk, on the loop. Return True once later changes no longer affect the snapshot.

        Raises `SerializationError`.
        """
        ...

    def store(self, writer: StateWriter) -> KeyedState:
        """Write the files after `advance` has returned True. Blocks: call it on an I/O thread.

        Raises `StorageError`.
        """
        ...


class BackendServices(Protocol):
    """What the slot offers to its backends."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread and call `done` on the loop with its result or exception."""
        ...

    def state_writer(self) -> StateWriter:
        """Return a writer for files that no checkpoint names yet.

        Storage keeps such a file until the last checkpoint that names it is deleted.
        """
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """The operator, the subtask and the key groups whose state a backend holds, and the services that it uses.

    `scratch` returns a local folder for the operator's files and creates the folder at the first call. `checkpointing`
    is False if the job takes no snapshots from which it could restart; the backend then writes nothing for them.
    """

    uid: str
    name: str
    subtask: int
    key_groups: range
    max_parallelism: int
    clock: Clock
    settings: Settings
    services: BackendServices
    scratch: Callable[[], Path]
    checkpointing: bool = True

    @property
    def native(self) -> ModuleType | None:
        """The compiled module, None if the job runs in Python."""
        return chosen(self.settings.get(options.NATIVE))

    @property
    def moved_classes(self) -> dict[str, str]:
        """The new names of classes that were moved after state of them was saved."""
        return self.settings.get(options.MOVED_CLASSES)

    @property
    def has_changelog(self) -> bool:
        """Whether the backend writes changes ahead of the barriers."""
        return self.checkpointing and self.settings.get(options.CHANGELOG)

    @property
    def is_incremental(self) -> bool:
        """Whether snapshots may build on earlier ones."""
        return self.has_changelog or (self.checkpointing and self.settings.get(options.CHECKPOINT_INCREMENTAL))


class KeyedBackend(ABC):
    """Keyed state of one operator in one subtask. Only the mailbox loop uses it; no method except `restore` blocks.

    For each record, the loop of a keyed operator does this, and it calls `leave` after each batch:

        cell = cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.current.cell = cell
    """

    def __init__(self, context: BackendContext) -> None:
        self.cells: dict[Any, Cell] = {}
        self.emptied: list[Cell] = []
        self.native = context.native
        """The compiled module, None if the job runs in Python."""
        self.current = make_current(self.native, self.emptied)
        self.generation = 1
        self.prefetch: Callable[[list[Any]], None] | None = None
        """Loads the cells of all keys of a batch. None if loading them one at a time costs no more."""
        self.is_incremental = context.is_incremental
        """Whether snapshots may build on earlier ones."""
        self._context = context
        self._columns = StateColumns()
        self._filters: dict[int, ExpiryFilter] = {}
        self._timers: dict[str, tuple[int, TimerIndex]] = {}
        self.namespaces = NamespaceView(self, context.clock)
        """The states by key and namespace. `namespaces.current` has the cell of the current key and namespace."""
        self._increments = Increments()

    # --- the current key

    @abstractmethod
    def enter(self, key: Any, cell: Cell | None) -> Cell:
        """Return the cell of `key`, safe to read and change. `cell` is its cell in `cells`, None if there is none."""

    @abstractmethod
    def leave(self) -> None:
        """End the use of the current key. Called after each batch."""

    # --- states

    @property
    def has_states(self) -> bool:
        """Whether any state was declared or restored. Otherwise there is nothing to save."""
        return bool(self._columns.metas)

    def state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of the state with the descriptor's name. Each call returns the same handle.

        Raises `ProgramError` if the name is in use for another kind or type, and `RestoreError` if the type of the
        restored state of this name cannot be converted to the declared type.
        """
        return self.handle(descriptor, meta_of(descriptor), self)

    def handle(self, descriptor: StateDescriptor, meta: StateMeta, owner: HandleOwner) -> State:
        """Return the handle of a state, which works on the current cell of `owner`. Declare the state if it is new."""
        known = self._columns.handle(meta)
        if known is not None:
            return known
        column = self._declare(meta)
        cleanup = self._cleanup_of(descriptor, owner, column)
        handle = bind(descriptor, owner, column, self._context.clock, cleanup)
        self._columns.keep(meta, handle)
        filter_ = snapshot_filter(descriptor)
        if filter_ is not None:
            self._filters[column] = filter_
        return handle

    @abstractmethod
    def _declare(self, meta: StateMeta) -> int:
        """Return the column of a state that is declared for the first time, after converting its restored values."""

    @abstractmethod
    def _cleanup_of(self, descriptor: StateDescriptor, owner: HandleOwner, column: int) -> IncrementalCleanup | None:
        """Register the clean-up of a new state, if it has a time to live.

        Return the clean-up that each access advances, None if there is none.
        """

    def _filters_at(self, now_ms: int) -> dict[int, Filter]:
        """Return, by column, the functions that remove expired values from a whole snapshot."""
        return {column: partial(_filtered, filter_, now_ms) for column, filter_ in self._filters.items()}

    # --- keys

    def keys(self, state_name: str) -> Iterator[Any]:
        """Yield the keys that have a value of a state without a namespace.

        State must not change during the iteration.
        """
        return (key for key in self.cell_keys_with(state_name) if namespace_of(key) is None)

    def column_of(self, state_name: str) -> int | None:
        """Return the column of a declared state, None if the state is unknown."""
        return self._columns.index(state_name)

    def cell_keys_with(self, state_name: str) -> Iterator[Any]:
        """Yield the keys of the cells that have a value of the state."""
        column = self._columns.index(state_name)
        return iter(()) if column is None else self._cells_with(column)

    @abstractmethod
    def _cells_with(self, column: int) -> Iterator[Any]:
        """Yield the keys of the cells whose column is not empty."""

    # --- loading

    async def loaded(self) -> None:
        """Return at once: the cell of the current key is in memory."""

    async def entry_loaded(self, column: int, key: Any) -> None:
        """Return at once: a read loads the entry if it is not in memory."""

    def lacks(self, content: MapLike, key: Any) -> bool:
        """Return whether the backend must read the disk to know the value of `key` in `content`, a map in a column."""
        return False

    def load_entries(self, wanted: list[tuple[MapLike, Any]]) -> None:
        """Read these keys of these maps with one request. Raises `StorageError`, `DamagedFileError`.

        Does nothing where all entries are in memory.
        """

    # --- lists and maps in columns

    @abstractmethod
    def new_list(self, column: int, values: list[Any]) -> ListLike: ...

    @abstractmethod
    def new_map(self, column: int) -> MapLike: ...

    @abstractmethod
    def list_of(self, cell: Cell, column: int, values: list[Any]) -> ListLike: ...

    @abstractmethod
    def map_of(self, cell: Cell, column: int) -> MapLike: ...

    @abstractmethod
    def drop_of(self, cell: Cell, column: int) -> None: ...

    def drop(self, column: int) -> None:
        self.drop_of(self.current.cell, column)

    # --- timers

    def timers(self, name: str) -> tuple[int, TimerIndex]:
        """Return the column of the timers called `name`, and the index of these timers."""
        if name not in self._timers:
            meta = StateMeta(name, TIMERS.name, Types.PICKLED_BYTE_ARRAY())
            column = self._declare(meta)
            self._columns.keep(meta, None)
            self._timers[name] = (column, self._timer_index(column))
        return self._timers[name]

    @abstractmethod
    def _timer_index(self, column: int) -> TimerIndex:
        """Return the index of the timers in a column."""

    @abstractmethod
    def panes(self, states: Sequence[str], timers: str, make: Callable[[Namespace], Pane], *, copies: int = 1) -> Panes:
        """Return the panes of declared states with namespaces, with their restored contents. Called once.

        `make` makes the pane of a restored namespace; the timers called `timers` tell which of its keys have been
        evaluated. A backend has the panes of one operator. After this call, the handles of the states and these timers
        must not be used. `copies` is the number of values that the caller holds for each entry, including the value in
        the pane.
        """

    # --- snapshots

    @abstractmethod
    def snapshot(self, checkpoint_id: CheckpointId) -> KeyedSnapshot:
        """Begin a snapshot of the current state. Cheap: `KeyedSnapshot.advance` does the work."""

    @abstractmethod
    def savepoint(self, checkpoint_id: CheckpointId, form: SavepointFormat) -> KeyedSnapshot:
        """Begin a snapshot of all current state that is independent of every other snapshot.

        Its kind is "entries", except that a backend with its own file format writes that format for `NATIVE`. A
        savepoint does not change the base of the next checkpoint.
        """

    @abstractmethod
    def forget(self, pending: KeyedSnapshot) -> None:
        """End the walk of a snapshot, whether the snapshot was finished or aborted."""

    # --- increments

    @property
    def key_groups(self) -> tuple[int, int]:
        """The first and the last key group of the backend."""
        groups = self._context.key_groups
        return groups[0], groups[-1]

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Note that the checkpoint is complete. Later checkpoints may build on it."""
        if self.is_incremental:
            self._increments.completed(checkpoint_id)
        self.base_moved()

    @abstractmethod
    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        """Note that the checkpoint was aborted and will never be complete."""

    @abstractmethod
    def base_moved(self) -> None:
        """Forget the changes that no future snapshot needs."""

    # --- start and end

    @abstractmethod
    def restore(self, parts: Sequence[FetchedKeyed], where: str) -> None:
        """Restore the key groups that this subtask owns. Called once, before any state is declared. Blocks.

        Later snapshots may build on parts that the job owns, but not on other parts. Error messages begin with `where`.
        Raises `DamagedFileError` for a file that is incomplete or changed, and `RestoreError` for a file that this
        backend cannot read.
        """

    @abstractmethod
    def background(self, now_ms: float) -> float | None:
        """Do a bounded piece of background work.

        Return the monotonic time of the next piece in ms, None if none is due.
        """

    @abstractmethod
    def close(self) -> None:
        """Release all memory, files and folders of the backend."""


def _filtered(filter_: ExpiryFilter, now_ms: int, value: Any) -> Any:
    return filter_(value, now_ms)


def open_backend(context: BackendContext) -> KeyedBackend:
    """Return a new, empty backend of the type that `state.backend.type` names.

    Raises `EnvironmentFault` if a package that the backend needs is not installed.
    """
    if context.settings.get(options.STATE_BACKEND) == "rocksdb":
        from headgate.state.rocksdb.backend import RocksDBBackend  # noqa: PLC0415  # an extra that not everybody has

        return RocksDBBackend(context)
    from headgate.state.keyed.hashmap import HashMapBackend  # noqa: PLC0415  # hashmap imports this module

    return HashMapBackend(context)


def check_backend(settings: Settings) -> None:
    """Raise `EnvironmentFault` in the driver if the backend of the settings needs a package that is not installed."""
    if settings.get(options.STATE_BACKEND) == "rocksdb":
        importlib.import_module("headgate.state.rocksdb.database")
