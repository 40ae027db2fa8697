"""Namespaces: state that has a value for each key and namespace, such as a window."""

from __future__ import annotations

from typing import Any, Protocol, final

from headgate.errors import StateAccessError
from headgate.state.keyed.cells import GENERATION, KEY, NAMESPACED, NO_CELL, Cell
from headgate.state.kinds.owner import CellOwner, HandleOwner, ListLike, MapLike


class NamespaceOwner(HandleOwner, CellOwner, Protocol):
    """A backend, as a view of one of its namespaces sees it."""

    cells: dict[Any, Cell]
    generation: int

    def enter(self, key: Any, cell: Cell | None) -> Cell:
        """Return the cell of `key`, safe to read and change."""
        ...


@final
class NamespaceView:
    """The owner of namespaced states: its current cell is that of the current key and namespace."""

    __slots__ = ("_backend", "cell", "emptied")

    def __init__(self, backend: NamespaceOwner) -> None:
        self._backend = backend
        self.cell: Cell = NO_CELL
        self.emptied = backend.emptied

    def set(self, namespace: Any) -> None:
        """Make `namespace` the current one of the current key. Raises `StateAccessError` without a current key."""
        if namespace is None:
            raise StateAccessError("None cannot be a namespace: it stands for state without one")
        self.cell = self.at(namespace)

    def at(self, namespace: Any) -> Cell:
        """Return the cell of a namespace of the current key, safe to read and change."""
        backend = self._backend
        key = (NAMESPACED, backend.cell[KEY], namespace)
        cell = backend.cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        return cell

    async def loaded(self) -> None:
        """Return at once: the current cell is in memory."""

    async def entry_loaded(self, column: int, key: Any) -> None:
        """Return at once: what is not in memory is read by whoever asks for it."""

    def new_list(self, column: int, values: list[Any]) -> ListLike:
        return self._backend.list_of(self.cell, column, values)

    def new_map(self, column: int) -> MapLike:
        return self._backend.map_of(self.cell, column)

    def drop(self, column: int) -> None:
        self._backend.drop_of(self.cell, column)
