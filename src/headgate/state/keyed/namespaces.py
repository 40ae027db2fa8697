"""Namespaces: state with a value for each key and namespace. A namespace is usually a window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, final

from headgate.clock import Clock
from headgate.errors import InternalError, StateAccessError
from headgate.state.keyed.cells import GENERATION, KEY, NAMESPACED, Cell, make_current, namespace_of
from headgate.state.keyed.columns import meta_of
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.merging import merged
from headgate.state.kinds.owner import ListLike, MapLike

if TYPE_CHECKING:
    from headgate.state.backend import KeyedBackend


@final
class NamespaceView:
    """The states with a value for each key and namespace. `current` has the cell of the current key and namespace."""

    __slots__ = ("_backend", "_clock", "current", "native")

    def __init__(self, backend: KeyedBackend, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self.native = backend.native
        self.current = make_current(backend.native, backend.emptied)

    def set(self, namespace: Any) -> None:
        """Make `namespace` the current namespace of the current key.

        Raises `StateAccessError` without a current key.
        """
        if namespace is None:
            raise StateAccessError("None cannot be a namespace: it stands for state without one")
        self.current.cell = self.at(namespace)

    def at(self, namespace: Any) -> Cell:
        """Return the cell of a namespace of the current key, safe to read and change."""
        backend = self._backend
        key = (NAMESPACED, backend.current.cell[KEY], namespace)
        cell = backend.cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        return cell

    def state(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of a state with namespaces; each call returns the same handle.

        Raises as `KeyedBackend.state` does.
        """
        return self._backend.handle(descriptor, meta_of(descriptor, namespaced=True), self)

    def merge(self, descriptor: StateDescriptor, target: Any, sources: Sequence[Any]) -> None:
        """Merge the content of a state in the namespaces `sources` of the current key into `target`.

        Clear the sources.
        """
        backend = self._backend
        column = backend.column_of(descriptor.name)
        if column is None:
            raise InternalError(f"state {descriptor.name!r} is merged but was never declared")
        form = descriptor.kind.form
        stored = []
        for source in sources:
            cell = self.at(source)
            if cell[column] is not None:
                stored.append(form.plain(cell[column]))
                form.put(backend, cell, column, None)
        if stored:
            cell = self.at(target)
            content = None if cell[column] is None else form.plain(cell[column])
            form.put(backend, cell, column, merged(descriptor, content, stored, self._clock.wall_ms()))

    def having(self, state_name: str) -> Iterator[Any]:
        """Yield the namespace of each value of the state, so a namespace comes once for each key with a value in it.

        State must not change during the iteration.
        """
        found = map(namespace_of, self._backend.cell_keys_with(state_name))
        return (namespace for namespace in found if namespace is not None)

    async def loaded(self) -> None:
        """Return at once: the current cell is in memory."""

    async def entry_loaded(self, column: int, key: Any) -> None:
        """Return at once: a read loads the entry if it is not in memory."""

    def new_list(self, column: int, values: list[Any]) -> ListLike:
        return self._backend.list_of(self.current.cell, column, values)

    def new_map(self, column: int) -> MapLike:
        return self._backend.map_of(self.current.cell, column)

    def drop(self, column: int) -> None:
        self._backend.drop_of(self.current.cell, column)
