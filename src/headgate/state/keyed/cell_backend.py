"""The base class of backends that hold state in cells: declaring states, handles, timers and confirmed checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

from headgate.ids import CheckpointId
from headgate.state.backend import BackendContext
from headgate.state.descriptors import TIMERS
from headgate.state.formats.schema import StateMeta
from headgate.state.keyed.cells import Cell, make_current, namespace_of
from headgate.state.keyed.columns import ExpiryFilter, StateColumns, meta_of, snapshot_filter
from headgate.state.keyed.increments import Increments
from headgate.state.keyed.namespaces import NamespaceView
from headgate.state.keyed.timer_index import TimerIndex
from headgate.state.keyed.ttl_cleanup import IncrementalCleanup
from headgate.state.keyed.walk import Filter
from headgate.state.kinds.binding import bind
from headgate.state.kinds.handle import State
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.owner import HandleOwner, ListLike, MapLike
from headgate.types.typeinfo import Types

Index = TypeVar("Index", bound=TimerIndex)


class CellBackend(ABC, Generic[Index]):
    """The common part of all backends. `KeyedBackend` describes the interface."""

    def __init__(self, context: BackendContext) -> None:
        self.cells: dict[Any, Cell] = {}
        self.emptied: list[Cell] = []
        self.native = context.native
        self.current = make_current(self.native, self.emptied)
        self.generation = 1
        self.prefetch: Callable[[list[Any]], None] | None = None
        self.is_incremental = context.is_incremental
        """Whether snapshots may build on earlier ones."""
        self._context = context
        self._columns = StateColumns()
        self._filters: dict[int, ExpiryFilter] = {}
        self._timers: dict[str, tuple[int, Index]] = {}
        self.namespaces = NamespaceView(self, context.clock)
        self._increments = Increments()

    # --- the current key

    @abstractmethod
    def enter(self, key: Any, cell: Cell | None) -> Cell: ...

    # --- states

    @property
    def has_states(self) -> bool:
        return bool(self._columns.metas)

    def state(self, descriptor: StateDescriptor) -> Any:
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
        return False

    def load_entries(self, wanted: list[tuple[MapLike, Any]]) -> None:
        """Do nothing: all entries are in memory."""

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

    def timers(self, name: str) -> tuple[int, Index]:
        if name not in self._timers:
            meta = StateMeta(name, TIMERS.name, Types.PICKLED_BYTE_ARRAY())
            column = self._declare(meta)
            self._columns.keep(meta, None)
            self._timers[name] = (column, self._timer_index(column))
        return self._timers[name]

    @abstractmethod
    def _timer_index(self, column: int) -> Index:
        """Return the index of the timers in a column."""

    # --- increments

    @property
    def key_groups(self) -> tuple[int, int]:
        """The first and the last key group of the backend."""
        groups = self._context.key_groups
        return groups[0], groups[-1]

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        if self.is_incremental:
            self._increments.completed(checkpoint_id)
        self.base_moved()

    @abstractmethod
    def base_moved(self) -> None:
        """Forget the changes that no future snapshot needs."""


def _filtered(filter_: ExpiryFilter, now_ms: int, value: Any) -> Any:
    return filter_(value, now_ms)
