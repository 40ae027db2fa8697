"""Drafts: the state of a key as one invocation sees it, with its own writes, which other invocations do not see yet.

State handles use a draft in place of a cell, so the handles of all kinds of state work on it. Reads go to the state;
writes stay in the draft until `apply`. A key has one invocation at a time, so values that the invocation has read do
not change until it ends; only expired entries may be removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

from headgate.state.backend import KeyedBackend
from headgate.state.keyed.cells import GENERATION, KEY, Cell
from headgate.state.kinds.forms import LIST, MAP, StoredForm
from headgate.types.record_copies import copied


@final
class DraftList:
    """A column's list, which `base` returns, and the elements that were added. `base` None: the list is new.

    `base()` returns None once all elements have expired and were removed.
    """

    def __init__(self, base: Callable[[], Any] | None, added: list[Any]) -> None:
        self._base = base
        self.added = added

    def append(self, element: Any) -> None:
        """Add an element at the end."""
        self.added.append(copied(element))

    def extend(self, elements: list[Any]) -> None:
        """Add elements at the end."""
        self.added += map(copied, elements)

    def __iter__(self) -> Iterator[Any]:
        return iter([copied(element) for part in (self._there(), self.added) for element in part])

    def __len__(self) -> int:
        return len(self._there()) + len(self.added)

    def _there(self) -> Any:
        content = None if self._base is None else self._base()
        return () if content is None else content

    def apply(self, content: Any) -> None:
        """Write the added elements to the column's list."""
        if self.added:
            content.extend(self.added)


@final
class DraftMap:
    """A column's map, with the entries that were set or removed. `base` is as in `DraftList`."""

    def __init__(self, base: Callable[[], Any] | None) -> None:
        self._base = base
        self.written: dict[Any, Any] = {}
        self.removed: dict[Any, None] = {}

    def get(self, key: Any) -> Any:
        """Return the value of the key, None if the map lacks the key."""
        if key in self.written:
            return copied(self.written[key])
        stored = self.stored(key)
        return None if stored is None else copied(stored.get(key))

    def stored(self, key: Any) -> Any:
        """Return the state's map, which has the key's value; None if the draft has written or removed the key."""
        return None if self._base is None or key in self.written or key in self.removed else self._base()

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return keys with their values."""
        return [(key, copied(value)) for key, value in self._merged().items()]

    def keys(self) -> Iterable[Any]:
        """Return the keys of the state's map, then the new keys."""
        return list(self._merged())

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return [copied(value) for value in self._merged().values()]

    def _merged(self) -> dict[Any, Any]:
        there = {key: value for key, value in self._there().items() if key not in self.removed}
        return {**there, **self.written}

    def _there(self) -> Any:
        content = None if self._base is None else self._base()
        return {} if content is None else content

    def __setitem__(self, key: Any, value: Any) -> None:
        self.written[key] = copied(value)

    def __delitem__(self, key: Any) -> None:
        self.written.pop(key, None)
        self.removed[key] = None

    def __contains__(self, key: Any) -> bool:
        stored = self.stored(key)
        return key in self.written or (stored is not None and key in stored)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._merged())

    def __len__(self) -> int:
        return len(self._merged())

    def __bool__(self) -> bool:
        return bool(self.written) or any(key not in self.removed for key in self._there())

    def apply(self, content: Any) -> None:
        """Write the changes to the column's map."""
        for key in self.removed:
            if key in content:
                del content[key]
        for key, value in self.written.items():
            content[key] = value


@final
class Draft(dict[int, Any]):
    """The key of a cell, and the columns that an invocation has read or written."""

    def __init__(self, backend: KeyedBackend, key: Any, forms: dict[int, StoredForm]) -> None:
        super().__init__({KEY: key})
        self._backend = backend
        self._forms = forms
        self._written: set[int] = set()

    def __missing__(self, column: int) -> Any:
        content, form = self._content(column), self._forms[column]
        if content is not None and form is LIST:
            content = DraftList(lambda: self._content(column), [])
        elif content is not None and form is MAP:
            content = DraftMap(lambda: self._content(column))
        else:
            content = copied(content)
        super().__setitem__(column, content)
        return content

    def __setitem__(self, column: int, content: Any) -> None:
        self._written.add(column)
        super().__setitem__(column, content if isinstance(content, DraftList | DraftMap) else copied(content))

    def _content(self, column: int) -> Any:
        return cell_of(self._backend, self[KEY])[column]

    def apply(self) -> None:
        """Write the changes of the draft to the state."""
        cell = cell_of(self._backend, self[KEY])
        for column, content in self.items():
            is_change = isinstance(content, DraftList | DraftMap) and column not in self._written
            if is_change and cell[column] is not None:
                content.apply(cell[column])
            elif is_change or column in self._written:
                form = self._forms[column]
                stored = form.plain(content) if content is not None else None
                form.put(self._backend, cell, column, stored)


def cell_of(backend: KeyedBackend, key: Any) -> Cell:
    """Return the cell of a key, loaded and safe to read and change."""
    cell = backend.cells.get(key)
    if cell is None or cell[GENERATION] != backend.generation:
        cell = backend.enter(key, cell)
    return cell
