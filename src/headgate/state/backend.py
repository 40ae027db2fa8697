"""What state backends and those who run them ask of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, final

from headgate import options
from headgate.clock import Clock
from headgate.config import Settings
from headgate.elements import SavepointFormat
from headgate.ids import CheckpointId
from headgate.state.descriptors import StateDescriptor
from headgate.state.files import FetchedKeyed, KeyedState, StateHandle
from headgate.state.keyed.cells import Cell
from headgate.state.keyed.namespaces import NamespaceView
from headgate.state.keyed.panes import Namespace, Pane, Panes
from headgate.state.keyed.timer_index import TimerIndex
from headgate.state.kinds.owner import MapLike

T = TypeVar("T")


class StateWriter(Protocol):
    """Takes the files of one subtask's keyed state, for one checkpoint, into storage. Called on an I/O thread; blocks.

    A name is used once in a checkpoint. A file that is `shared` may be named by later checkpoints, too, and lives for
    as long as one of them is kept. Small state becomes part of the handle, except for local files that are
    shared. All raise `StorageError`.
    """

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        """Store these bytes."""
        ...

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        """Store the contents of a local file."""
        ...


class KeyedSnapshot(Protocol):
    """Keyed state as it was at a barrier, still to be walked and written."""

    @property
    def key_groups(self) -> tuple[int, int]:
        """The first and the last key group that it holds."""
        ...

    def advance(self) -> bool:
        """Do a bounded piece, on the loop; return whether nothing that follows can change the snapshot any more.

        Raises `SerializationError`.
        """
        ...

    def store(self, writer: StateWriter) -> KeyedState:
        """Write the files, once `advance` has returned True. On an I/O thread; blocks. Raises `StorageError`."""
        ...


class BackendServices(Protocol):
    """What a backend may ask of the slot that runs it."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` on an I/O thread and call `done` on the loop with its result or exception."""
        ...

    def state_writer(self) -> StateWriter:
        """Return a writer for files that belong to no checkpoint yet: they live until one that names them is gone."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """Which part of whose state a backend holds, and with what means.

    `scratch` gives a local folder for the operator's files, made at the first call. With `checkpointing` there will be
    snapshots that a job can go on from; without, nothing is written for them.
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
    def moved_classes(self) -> dict[str, str]:
        """The new names of classes that have moved since they were saved."""
        return self.settings.get(options.MOVED_CLASSES)

    @property
    def has_changelog(self) -> bool:
        """Whether what changes is written ahead of the barriers."""
        return self.checkpointing and self.settings.get(options.CHANGELOG)

    @property
    def is_incremental(self) -> bool:
        """Whether snapshots may build on earlier ones."""
        return self.has_changelog or (self.checkpointing and self.settings.get(options.CHECKPOINT_INCREMENTAL))


class KeyedBackend(Protocol):
    """Keyed state of one operator in one subtask. Belongs to the mailbox loop; no method but `restore` blocks.

    The loop that runs a keyed operator does, for each record::

        cell = cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.cell = cell

    and calls `leave` after each batch.
    """

    cells: dict[Any, Cell]
    cell: Cell
    emptied: list[Cell]
    generation: int
    namespaces: NamespaceView
    """The states of keys and namespaces. Its cell belongs to the current key and namespace, until the key changes."""
    prefetch: Callable[[list[Any]], None] | None
    """Makes the cells of a batch's keys ready, where that is cheaper than one at a time."""

    def lacks(self, content: MapLike, key: Any) -> bool:
        """Whether it takes a read to tell what a map that a column holds has for a key."""
        ...

    def load_entries(self, wanted: list[tuple[MapLike, Any]]) -> None:
        """Read what these maps have for these keys, in one go. Raises `StorageError`, `DamagedFileError`."""
        ...

    def enter(self, key: Any, cell: Cell | None) -> Cell:
        """Return the cell of `key` (`cell`, or None when it is not in `cells`), safe to read and change."""
        ...

    def leave(self) -> None:
        """End the use of a current key: after a batch."""
        ...

    def state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of the state with the descriptor's name; the same one each time.

        Raises `ProgramError` when the name is in use for another kind or type, `RestoreError` when the restored state
        of this name has a type that cannot become the declared one.
        """
        ...

    def timers(self, name: str) -> tuple[int, TimerIndex]:
        """Return the column of the timers called `name`, and their index."""
        ...

    def panes(self, states: Sequence[str], timers: str, make: Callable[[Namespace], Pane], *, copies: int = 1) -> Panes:
        """Return the panes of namespaced states that were declared, with what was restored of them; once.

        `make` makes those of what was restored, for which `timers` tells which keys have been evaluated. There are
        those of one operator. From then on handles of the states, and the timers of this name, are not to be used.
        `copies` is how many values the caller holds for each entry, its own among them.
        """
        ...

    def keys(self, state_name: str) -> Iterator[Any]:
        """Yield the keys that have a value of the state without a namespace. State must not change meanwhile."""
        ...

    @property
    def has_states(self) -> bool:
        """Whether any state was declared or restored: without, there is nothing to save."""
        ...

    def snapshot(self, checkpoint_id: CheckpointId) -> KeyedSnapshot:
        """Begin a snapshot of the state as it is now. Cheap: the work is done by `KeyedSnapshot.advance`."""
        ...

    def savepoint(self, checkpoint_id: CheckpointId, form: SavepointFormat) -> KeyedSnapshot:
        """Begin a snapshot of all state as it is now, that builds on nothing, and on which nothing is built.

        It is of kind "entries", except for the `NATIVE` files of a backend that has some of its own. The next
        checkpoint builds on what it would have built on without.
        """
        ...

    def forget(self, pending: KeyedSnapshot) -> None:
        """End the walk of a snapshot, finished or given up."""
        ...

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint is complete: later ones may build on it."""
        ...

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint will never be complete."""
        ...

    def restore(self, parts: Sequence[FetchedKeyed], where: str) -> None:
        """Take the key groups that this subtask owns; once, before any state is asked for. `where` is for messages.

        Snapshots to come may build on parts that are the job's own, on others they never do.
        Raises `DamagedFileError` for a file that is not whole, `RestoreError` for one that cannot be read here.
        """
        ...

    def background(self, now_ms: float) -> float | None:
        """Do a bounded piece of background work; return the monotonic time of the next, None for none."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...
