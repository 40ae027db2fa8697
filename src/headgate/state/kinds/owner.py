"""The interface of a backend for handles and stored forms, and the interfaces of lists and maps in its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, Protocol

from headgate.state.keyed.cells import Cell, Current


class ListLike(Protocol):
    """The content of a column of a list state. On the hash map it is a list."""

    def append(self, element: Any, /) -> None:
        """Add an element at the end."""
        ...

    def extend(self, elements: list[Any], /) -> None:
        """Add elements at the end."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


class MapLike(Protocol):
    """The content of a column of a map state. On the hash map it is a dict."""

    def get(self, key: Any, /) -> Any:
        """Return the value of the key, None if it has none."""
        ...

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return the keys with their values."""
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
    """The interface of a backend for its handles."""

    native: ModuleType | None
    """The compiled module, if `current` is of its class."""
    current: Current
    """The cell of the current key, and where a handle notes that it has emptied a column of it."""

    async def loaded(self) -> None:
        """Wait until the current key's cell is in memory."""
        ...

    async def entry_loaded(self, column: int, key: Any) -> None:
        """Wait until the value of `key` in a map of the current cell is in memory, or known to be absent."""
        ...

    def new_list(self, column: int, values: list[Any]) -> ListLike:
        """Return a container of these values, to replace the content of the column in the current cell."""
        ...

    def new_map(self, column: int) -> MapLike:
        """Return an empty container, to replace the content of the column in the current cell."""
        ...

    def drop(self, column: int) -> None:
        """Remove the list or map, if any, from the column of the current cell."""
        ...


class CellOwner(Protocol):
    """The interface of a backend for changing any cell that is safe to change."""

    @property
    def emptied(self) -> list[Cell]:
        """The list to which a cell is added after one of its columns was set to None."""
        ...

    def list_of(self, cell: Cell, column: int, values: list[Any]) -> ListLike:
        """Return a container of these values, to replace the content of the cell's column."""
        ...

    def map_of(self, cell: Cell, column: int) -> MapLike:
        """Return an empty container, to replace the content of the cell's column."""
        ...

    def drop_of(self, cell: Cell, column: int) -> None:
        """Remove the list or map, if any, from the cell's column."""
        ...
