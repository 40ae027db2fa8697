"""Handles: what user code holds to read and write the state of the current key.

A handle is bound to a column of its backend's cells; the backend sets the current cell before each record. So an access
is one attribute and one index, whatever the number of keys.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar, cast, final

from headgate.state.cells import Cell

T = TypeVar("T")


class CurrentCell(Protocol):
    """What a backend shows its handles: the cell of the current key, and where to note that a cell was cleared."""

    cell: Cell
    emptied: list[Cell]


@final
class ValueState(Generic[T]):
    """One value for each key. The value is the live object: after changing it in place, call `update`."""

    __slots__ = ("_backend", "_column")

    def __init__(self, backend: CurrentCell, column: int) -> None:
        self._backend = backend
        self._column = column

    def value(self) -> T | None:
        """Return the value of the current key, None when it has none.

        Raises `StateAccessError` where there is no current key (in `open`, in `close`).
        """
        return cast("T | None", self._backend.cell[self._column])

    def update(self, value: T | None) -> None:
        """Set the value of the current key; None clears it. Raises `StateAccessError` as `value` does."""
        if value is None:
            self.clear()
        else:
            self._backend.cell[self._column] = value

    def clear(self) -> None:
        """Remove the value of the current key. Raises `StateAccessError` as `value` does."""
        self._backend.cell[self._column] = None
        self._backend.emptied.append(self._backend.cell)
