"""The interfaces between a state backend and the code that runs it, and the choice of a backend by a job's settings."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar, final

from headgate import options
from headgate.clock import Clock
from headgate.config import Settings
from headgate.elements import SavepointFormat
from headgate.ids import CheckpointId
from headgate.native import chosen
from headgate.state.descriptors import StateDescriptor
from headgate.state.files import FetchedKeyed, KeyedState, StateHandle
from headgate.state.keyed.cells import Cell, Current
from headgate.state.keyed.namespaces import NamespaceView
from headgate.state.keyed.panes import Namespace, Pane, Panes
from headgate.state.keyed.timer_index import TimerIndex
from headgate.state.kinds.owner import MapLike

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


class KeyedBackend(Protocol):
    """Keyed state of one operator in one subtask. Only the mailbox loop uses it; no method except `restore` blocks.

    For each record, the loop of a keyed operator does this, and it calls `leave` after each batch:

        cell = cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.current.cell = cell
    """

    cells: dict[Any, Cell]
    current: Current
    emptied: list[Cell]
    generation: int
    native: ModuleType | None
    """The compiled module, None if the job runs in Python."""
    namespaces: NamespaceView
    """The states by key and namespace. `namespaces.current` has the cell of the current key and namespace."""
    prefetch: Callable[[list[Any]], None] | None
    """Loads the cells of all keys of a batch. None if loading them one at a time costs no more."""

    def lacks(self, content: MapLike, key: Any) -> bool:
        """Return whether the backend must read the disk to know the value of `key` in `content`, a map in a column."""
        ...

    def load_entries(self, wanted: list[tuple[MapLike, Any]]) -> None:
        """Read these keys of these maps with one request. Raises `StorageError`, `DamagedFileError`."""
        ...

    def enter(self, key: Any, cell: Cell | None) -> Cell:
        """Return the cell of `key`, safe to read and change. `cell` is its cell in `cells`, None if there is none."""
        ...

    def leave(self) -> None:
        """End the use of the current key. Called after each batch."""
        ...

    def state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of the state with the descriptor's name. Each call returns the same handle.

        Raises `ProgramError` if the name is in use for another kind or type, and `RestoreError` if the type of the
        restored state of this name cannot be converted to the declared type.
        """
        ...

    def timers(self, name: str) -> tuple[int, TimerIndex]:
        """Return the column of the timers called `name`, and the index of these timers."""
        ...

    def panes(self, states: Sequence[str], timers: str, make: Callable[[Namespace], Pane], *, copies: int = 1) -> Panes:
        """Return the panes of declared states with namespaces, with their restored contents. Called once.

        `make` makes the pane of a restored namespace; the timers called `timers` tell which of its keys have been
        evaluated. A backend has the panes of one operator. After this call, the handles of the states and these timers
        must not be used. `copies` is the number of values that the caller holds for each entry, including the value in
        the pane.
        """
        ...

    def keys(self, state_name: str) -> Iterator[Any]:
        """Yield the keys that have a value of a state without a namespace.

        State must not change during the iteration.
        """
        ...

    @property
    def has_states(self) -> bool:
        """Whether any state was declared or restored. Otherwise there is nothing to save."""
        ...

    def snapshot(self, checkpoint_id: CheckpointId) -> KeyedSnapshot:
        """Begin a snapshot of the current state. Cheap: `KeyedSnapshot.advance` does the work."""
        ...

    def savepoint(self, checkpoint_id: CheckpointId, form: SavepointFormat) -> KeyedSnapshot:
        """Begin a snapshot of all current state that is independent of every other snapshot.

        Its kind is "entries", except that a backend with its own file format writes that format for `NATIVE`. A
        savepoint does not change the base of the next checkpoint.
        """
        ...

    def forget(self, pending: KeyedSnapshot) -> None:
        """End the walk of a snapshot, whether the snapshot was finished or aborted."""
        ...

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Note that the checkpoint is complete. Later checkpoints may build on it."""
        ...

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        """Note that the checkpoint was aborted and will never be complete."""
        ...

    def restore(self, parts: Sequence[FetchedKeyed], where: str) -> None:
        """Restore the key groups that this subtask owns. Called once, before any state is declared. Blocks.

        Later snapshots may build on parts that the job owns, but not on other parts. Error messages begin with `where`.
        Raises `DamagedFileError` for a file that is incomplete or changed, and `RestoreError` for a file that this
        backend cannot read.
        """
        ...

    def background(self, now_ms: float) -> float | None:
        """Do a bounded piece of background work.

        Return the monotonic time of the next piece in ms, None if none is due.
        """
        ...

    def close(self) -> None:
        """Release all memory, files and folders of the backend."""
        ...


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
