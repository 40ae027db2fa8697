"""Stored forms: how a column holds the content of a state, for each kind of state.

Backends, snapshots and tables use a kind of state only through its form:

- `SINGLE`: one object, in the row of its cell
- `LIST`: a list of elements; on RocksDB, each element has its own row, named by its number
- `MAP`: a dict; on RocksDB, each entry has its own row, named by its key
- `TIMES`: the times of timers, a dict with None as values, in the row of its cell

A state with a time to live stores the time of the last access (wall clock, ms) with each value that can expire alone:

- `SINGLE`: `(last_access_ms, value)`
- `LIST`: a list of `(last_access_ms, element)`
- `MAP`: a dict of `key: (last_access_ms, value)`

A value has expired when `last_access_ms + ttl_ms <= now_ms`. Callers pass `dead_ms = now_ms - ttl_ms`. Python's
integers do not overflow, so any time to live is exact.

*Stored* content is plain: a list, a dict, an object. In a column, a list or a map may instead be a container of the
backend with the same content.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, final

from headgate.state.keyed.cells import Cell
from headgate.state.kinds.owner import CellOwner
from headgate.types.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation, Types

Stamped: TypeAlias = tuple[int, Any]
"""The time of the last access, and the value."""

TableParts: TypeAlias = tuple[Any, Any]
"""The parts of a table row: the time or times of the last access, None without a time to live; and the value."""

_INT64: Final = range(-(2**63), 2**63)


class StoredForm:
    """One object: the form of values, and the base class of all forms."""

    plain_class: type | None = None
    """The class of all stored content, None if the content may be of any class."""

    has_items: bool = False
    """Whether the content has elements or entries, each with its own type, row and time."""

    has_item_keys: bool = False
    """Whether items have keys."""

    def item_type(self, declared: TypeInformation) -> TypeInformation:
        """Return the type of an item, or of the value if the form has no items, of a state of the declared type."""
        return declared

    def shown_type(self, declared: TypeInformation) -> TypeInformation:
        """Return the type that tables show for a state of the declared type."""
        return declared

    def of_items(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        """Return the content with these items, each a key and a value. Forms without item keys ignore the keys."""
        ((_, value),) = pairs
        return value

    def items(self, stored: Any) -> Iterable[Any]:
        """Return the items, without keys."""
        return (stored,)

    def converted(self, stored: Any, convert: Callable[[Any], Any]) -> Any:
        """Return a copy with each item converted. Content of another form is returned unchanged."""
        return convert(stored)

    # --- in the columns of cells

    def plain(self, content: Any) -> Any:
        """Return the stored content for the content of a column, which is not None."""
        return content

    def put(self, owner: CellOwner, cell: Cell, column: int, stored: Any | None) -> None:
        """Set the content of a column to stored content. None clears the column."""
        cell[column] = stored
        if stored is None:
            owner.emptied.append(cell)

    # --- time to live

    def is_expired(self, stored: Any, dead_ms: int) -> bool:
        """Return whether all content has expired.

        >>> SINGLE.is_expired((100, "x"), 99), SINGLE.is_expired((100, "x"), 100)
        (False, True)
        """
        return bool(stored[0] <= dead_ms)

    def living(self, stored: Any, dead_ms: int) -> Any | None:
        """Return the content that has not expired, without changing `stored`.

        If nothing has expired, the result is `stored` itself; if everything has expired, it is None.

        >>> LIST.living([(1, "a"), (9, "b")], 5)
        [(9, 'b')]
        """
        return stored if stored[0] > dead_ms else None

    def put_living(self, owner: CellOwner, cell: Cell, column: int, dead_ms: int) -> None:
        """Remove the expired part of the content of a column, which is not None."""
        stored = self.plain(cell[column])
        living = self.living(stored, dead_ms)
        if living is not stored:
            self.put(owner, cell, column, living)

    def oldest_ms(self, stored: Any) -> int:
        """Return the time of the oldest access. The content must have at least one item.

        >>> MAP.oldest_ms({"a": (7, 1), "b": (3, 1)})
        3
        """
        stamps: Iterable[int] = (stamp for stamp, _ in self.items(stored))
        return min(stamps)

    def with_ttl(self, stored: Any, now_ms: int) -> Any:
        """Return content without a time to live as content with one, accessed at `now_ms`.

        >>> MAP.with_ttl({"a": 1}, 7)
        {'a': (7, 1)}
        """
        return self.converted(stored, lambda value: (now_ms, value))

    def without_ttl(self, stored: Any) -> Any:
        """Return content with a time to live as content without one. Expired values become valid again.

        >>> LIST.without_ttl([(7, "a")])
        ['a']
        """
        return self.converted(stored, lambda stamped: stamped[1])

    # --- in tables

    def split(self, stored: Any, *, ttl: bool) -> TableParts | None:
        """Return the parts that a table shows, None if the content does not have the form of the state.

        >>> MAP.split({"a": (7, 1), "b": (9, 2)}, ttl=True)
        ([7, 9], {'a': 1, 'b': 2})
        """
        if not ttl:
            return None, stored
        return stored if _is_stamped(stored) else None

    def join(self, times: Any, value: Any) -> Any:
        """Return the stored content for the parts of a table. `times` is None without a time to live.

        >>> MAP.join([7], {"a": 1})
        {'a': (7, 1)}
        """
        return value if times is None else (times, value)


class _Items(StoredForm):
    """The base class of forms with items. Items expire one by one, and tables show a list of their times."""

    has_items = True

    def is_expired(self, stored: Any, dead_ms: int) -> bool:
        return all(stamped[0] <= dead_ms for stamped in self.items(stored))

    def split(self, stored: Any, *, ttl: bool) -> TableParts | None:
        if not ttl:
            return None, stored
        if type(stored) is not self.plain_class or not all(map(_is_stamped, self.items(stored))):
            return None
        return [time for time, _ in self.items(stored)], self.without_ttl(stored)


@final
class _List(_Items):
    plain_class = list

    def item_type(self, declared: TypeInformation) -> TypeInformation:
        return declared.element_type if isinstance(declared, ListTypeInfo) else declared

    def of_items(self, pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
        return [value for _, value in pairs]

    def items(self, stored: list[Any]) -> Iterable[Any]:
        return stored

    def converted(self, stored: Any, convert: Callable[[Any], Any]) -> Any:
        if not isinstance(stored, list):
            return stored
        fresh = copy.copy(stored)
        fresh[:] = map(convert, stored)
        return fresh

    def plain(self, content: Iterable[Any]) -> list[Any]:
        return list(content)

    def put(self, owner: CellOwner, cell: Cell, column: int, stored: list[Any] | None) -> None:
        if stored:
            cell[column] = owner.list_of(cell, column, stored)
        else:
            owner.drop_of(cell, column)

    def living(self, stored: list[Stamped], dead_ms: int) -> list[Stamped] | None:
        living = [stamped for stamped in stored if stamped[0] > dead_ms]
        return stored if len(living) == len(stored) else living or None

    def join(self, times: list[int] | None, value: list[Any]) -> list[Any]:
        return value if times is None else list(zip(times, value, strict=True))


@final
class _Map(_Items):
    plain_class = dict
    has_item_keys = True

    def item_type(self, declared: TypeInformation) -> TypeInformation:
        return declared.value_type_info if isinstance(declared, MapTypeInfo) else declared

    def of_items(self, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
        return dict(pairs)

    def items(self, stored: dict[Any, Any]) -> Iterable[Any]:
        return stored.values()

    def converted(self, stored: Any, convert: Callable[[Any], Any]) -> Any:
        if not isinstance(stored, dict):
            return stored
        fresh = copy.copy(stored)
        for key, value in stored.items():
            fresh[key] = convert(value)
        return fresh

    def plain(self, content: Any) -> dict[Any, Any]:
        return dict(content.items())

    def put(self, owner: CellOwner, cell: Cell, column: int, stored: dict[Any, Any] | None) -> None:
        if not stored:
            owner.drop_of(cell, column)
            return
        content = owner.map_of(cell, column)
        for key, value in stored.items():
            content[key] = value
        cell[column] = content

    def living(self, stored: dict[Any, Stamped], dead_ms: int) -> dict[Any, Stamped] | None:
        living = {key: stamped for key, stamped in stored.items() if stamped[0] > dead_ms}
        return stored if len(living) == len(stored) else living or None

    def put_living(self, owner: CellOwner, cell: Cell, column: int, dead_ms: int) -> None:
        content = cell[column]
        stored = self.plain(content)
        expired = [key for key, stamped in stored.items() if stamped[0] <= dead_ms]
        if len(expired) == len(stored):
            owner.drop_of(cell, column)
        else:
            for key in expired:
                del content[key]

    def join(self, times: list[int] | None, value: dict[Any, Any]) -> dict[Any, Any]:
        if times is None:
            return value
        return {key: (time, item) for time, (key, item) in zip(times, value.items(), strict=True)}


@final
class _Times(StoredForm):
    def shown_type(self, declared: TypeInformation) -> TypeInformation:
        return Types.LIST(Types.LONG())

    def split(self, stored: Any, *, ttl: bool) -> TableParts | None:
        if type(stored) is dict and all(value is None for value in stored.values()):
            return None, list(stored)
        return None

    def join(self, times: None, value: list[int]) -> dict[int, None]:
        return dict.fromkeys(value)


def _is_stamped(stored: Any) -> bool:
    return type(stored) is tuple and len(stored) == 2 and type(stored[0]) is int and stored[0] in _INT64


SINGLE: Final = StoredForm()
LIST: Final = _List()
MAP: Final = _Map()
TIMES: Final = _Times()
