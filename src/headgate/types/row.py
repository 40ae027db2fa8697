"""Row: a record of named or positional fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, final


class RowKind(Enum):
    """The meaning of a row in a changelog."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SIGNS[self.value]


_SIGNS: Final = ("+I", "-U", "+U", "-D")
_INSERT: Final = RowKind.INSERT
_OWN_NAMES: Final = frozenset({"_fields", "_values", "_row_kind"})


class Row:
    """A record whose fields are read by position, by name, or as attributes.

    Positional values make a row without names. Keyword arguments make a row with their names, in their order. A row of
    names can be called to make rows with these names. `in` looks for a name, or for a value in a row without names.

    >>> row = Row(name="Alice", age=11)
    >>> row
    Row(name='Alice', age=11)
    >>> row["name"], row.age, row[1], "age" in row
    ('Alice', 11, 11, True)
    >>> Person = Row("name", "age")
    >>> Person("Bob", 12)
    Row(name='Bob', age=12)

    Rows with names are equal when their kinds are equal and each name has the same value, in any order. Rows without
    names are equal when their kinds are, and their values in order. They can be keys as long as they are not changed.
    Reading a field that a row does not have raises ValueError by name, IndexError by position, AttributeError as an
    attribute.
    """

    # Rows are built by the million from columns: no __dict__, and `make_row` copies neither values nor names. Rows with
    # names are of a subclass that has the names as properties, as a failed look-up before `__getattr__` is slow.
    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: tuple[str, ...] | None
    _row_kind: RowKind
    _values: list[Any] | tuple[Any, ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("a Row takes either positional values or keyword arguments, not both")
        if kwargs:
            names = _keyword_names(tuple(kwargs))
            self._fields = names
            self._values = list(kwargs.values())
            self.__class__ = class_of(names)
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = _INSERT

    def __init_subclass__(cls) -> None:
        """Let rows of a program's own subclass keep their class and attributes when they are pickled."""
        if cls.__module__ != __name__:
            cls.__reduce__ = object.__reduce__  # type: ignore[assignment]

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Return a row of the given kind; the other arguments are the constructor's."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        """Return the meaning of the row in a changelog."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the meaning of the row in a changelog."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Name the fields, in their order."""
        self._fields = tuple(field_names)
        self.__class__ = class_of(self._fields)

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """Return the values of the fields `names`; of a row without names, all values.

        Raises ValueError for a name that the row does not have.
        """
        if self._fields is None:
            return list(self._values)
        return [self._values[self._index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return the fields as a dict; with `recursive`, rows inside lists, dicts and rows become dicts as well.

        Raises TypeError when the fields have no names.
        """
        if self._fields is None:
            raise TypeError("a Row without field names cannot be a dict; make it with keyword arguments")
        values = [_plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def _index(self, name: object) -> int:
        if self._fields is None:
            raise ValueError(f"the row has no field names, so it has no field {name!r}")
        try:
            return self._fields.index(name)
        except ValueError:
            raise ValueError(f"the row has no field {name!r}; its fields are {', '.join(self._fields)}") from None

    def __getitem__(self, item: int | slice | str) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._index(item)]

    def __setitem__(self, item: int | slice | str, value: Any) -> None:
        values = self._values if isinstance(self._values, list) else list(self._values)
        self._values = values
        if isinstance(item, (int, slice)):
            values[item] = value
        else:
            values[self._index(item)] = value

    def __getattr__(self, name: str) -> Any:
        # Python comes here only when there is no such property or method: a field named like a method is read by [].
        if name in _OWN_NAMES:
            raise AttributeError(name)
        if self._fields is None or name not in self._fields:
            known = "its fields have no names" if self._fields is None else f"it has {', '.join(self._fields)}"
            raise AttributeError(f"the Row has no field {name!r}: {known}")
        return self._values[self._fields.index(name)]

    def __call__(self, *args: Any) -> Row:
        if len(args) > len(self._values):
            raise ValueError(f"{self!r} names {len(self._values)} fields, but {len(args)} values were given")
        return make_row(list(args), tuple(self._values), self._row_kind)

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return False
        if self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return tuple(self._values) == tuple(other._values)
        if self._fields is None or other._fields is None:
            return False
        return sorted(self._fields) == sorted(other._fields) and self.by_name() == other.by_name()

    def __hash__(self) -> int:
        return hash(self.by_name()[1])

    def by_name(self) -> tuple[tuple[str, ...] | None, tuple[Any, ...]]:
        """Return the sorted names, and the values in the same order; without names, None and the values in order."""
        names, values = self._fields, self._values
        order = None if names is None or len(names) != len(values) else _name_order(names)
        if names is None or order is None:
            return names, tuple(values)
        return tuple(names[at] for at in order), tuple(values[at] for at in order)

    def __reduce__(self) -> tuple[object, ...]:
        if self._row_kind is _INSERT:
            return make_row, (self._values, self._fields)
        return make_row, (self._values, self._fields, self._row_kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"


@final
class KeywordNames(tuple[str, ...]):
    """Names of a row in the order of keyword arguments, where that is not the sorted order.

    As a key, every row made by keyword arguments counts with its names sorted: see `types.keys`. So these names are not
    equal to names in the same order that come from elsewhere.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is KeywordNames and tuple.__eq__(self, other)

    def __hash__(self) -> int:
        return tuple.__hash__(self) ^ 1


_new: Final = object.__new__
_classes: Final[dict[tuple[str, ...] | None, type[Row]]] = {None: Row}
_CLASSES_MAX: Final = 4096
"""Maximum number of sets of names that get a class. Rows with further names are plain `Row`s, slower to read."""


def make_row(values: list[Any] | tuple[Any, ...], fields: tuple[str, ...] | None, kind: RowKind = _INSERT) -> Row:
    """Return a row that holds `values` and `fields` as they are: the fast path, nothing is copied or checked."""
    row = _new(_classes.get(fields) or class_of(fields))
    row._values = values
    row._fields = fields
    row._row_kind = kind
    return row


def make_rows(values: Iterable[tuple[Any, ...]], fields: tuple[str, ...]) -> list[Row]:
    """Return a row for each of the values, as `make_row` does, faster for many."""
    rows: list[Row] = []
    add, kind, new, insert = rows.append, class_of(fields), _new, _INSERT
    for own in values:
        row = new(kind)
        row._values = own
        row._fields = fields
        row._row_kind = insert
        add(row)
    return rows


def _keyword_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of keyword arguments as the names of a row."""
    return names if _name_order(names) is None else KeywordNames(names)


@lru_cache(_CLASSES_MAX)
def _name_order(names: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the positions of the names in sorted order, None if they are sorted already."""
    order = sorted(range(len(names)), key=names.__getitem__)
    return None if order == list(range(len(names))) else tuple(order)


def class_of(names: tuple[str, ...] | None) -> type[Row]:
    """Return the class of rows with these names."""
    found = _classes.get(names)
    if found is not None:
        return found
    if names is None or len(_classes) >= _CLASSES_MAX or not all(isinstance(name, str) for name in names):
        return Row
    properties = {name: _property(place) for place, name in reversed(list(enumerate(names))) if _may_be_property(name)}
    made = type("Row", (Row,), {"__slots__": (), "__module__": Row.__module__, **properties})
    _classes[names] = made
    return made


def _property(place: int) -> property:
    def get(row: Row) -> Any:
        return row._values[place]

    return property(get)


def _may_be_property(name: str) -> bool:
    return not name.startswith("_") and not hasattr(Row, name)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
