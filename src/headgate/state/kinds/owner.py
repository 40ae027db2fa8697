"""What handles and stored forms see of a backend, and what its columns hold of lists and maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from headgate.state.keyed.cells import Cell


class ListLike(Protocol):
    """What a column of a list state holds: on the hash map a list."""

    def append(self, element: Any, /) -> None:
        """Add an element at the end."""
        ...

    def extend(self, elements: list[Any], /) -> None:
        """Add elements at the end."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class MapLike(Protocol):
    """What a column of a map state holds: on the hash map a dict."""

    def get(self, key: Any, /) -> Any:
        """Return the value of the key, None when there is none."""
        ...

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return keys with their values."""
        ...

    def keys(self) -> Iterable[Any]:
        """Return the keys."""
        ...

    def values(self) -> Iterable[Any]:
        """Return the values."""
        ...

    def __setitem__(self, key: Any, value: Any, /) -> None: ...

    def __delitem__(self, key: Any, /) -> None: ...

    def __contains__(self, key: Any, /) -> bool: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class HandleOwner(Protocol):
    """What a backend shows its handles."""

    cell: Cell
    """That of the current key; `NO_CELL` when there is none."""
    emptied: list[Cell]
    """Where a handle notes a cell in which it set a column to None."""

    async def loaded(self) -> None:
        """Wait until the current key's cell is in memory."""
        ...

    async def entry_loaded(self, column: int, key: Any) -> None:
        """Wait until an entry is in memory, or known not to be there, of the map in a column of the current cell."""
        ...

    def new_list(self, column: int, values: list[Any]) -> ListLike:
        """Return a container of these values, which takes the place of what the column of the current cell holds."""
        ...

    def new_map(self, column: int) -> MapLike:
        """Return an empty container, which takes the place of what the column of the current cell holds."""
        ...

    def drop(self, column: int) -> None:
        """Remove the list or map that the column of the current cell holds, if any."""
        ...


class CellOwner(Protocol):
    """What a backend offers to change any cell that is safe to change. Setting a column to None is noted."""

    @property
    def emptied(self) -> list[Cell]:
        """Where a cell is noted in which a column was set to None."""
        ...

    def list_of(self, cell: Cell, column: int, values: list[Any]) -> ListLike:
        """Return a container of these values, which replaces what the cell's column holds."""
        ...

    def map_of(self, cell: Cell, column: int) -> MapLike:
        """Return an empty container, which replaces what the cell's column holds."""
        ...

    def drop_of(self, cell: Cell, column: int) -> None:
        """Remove the list or map that the cell's column holds, if any."""
        ...
