"""The schema of a DataFrame: names and logical types of its columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import final

import pyarrow as pa

from headgate.columns.logical_types import LogicalType, of_arrow
from headgate.errors import InvalidExpressionError


def nearest(name: str, among: Iterable[str]) -> str:
    """Return a hint at the name that the user may have meant: `; did you mean 'price'?`, or the names there are.

    >>> nearest("pirce", ["price", "id"])
    "; did you mean 'price'?"
    """
    there = list(among)
    close = difflib.get_close_matches(name, there, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(map(repr, there)) or 'none'}"


def unlike(names: Iterable[str], prefix: str) -> str:
    """Return the prefix with as many underscores before it as no name begins with it.

    >>> unlike(["m0", "_m1"], "m")
    '__m'
    """
    there = tuple(names)
    while any(name.startswith(prefix) for name in there):
        prefix = f"_{prefix}"
    return prefix


@final
class Schema:
    """Names and types of columns, in order. Equal if names and types are.

    >>> from headgate.columns.logical_types import BIGINT, STRING
    >>> print(Schema([("id", BIGINT.nulls(False)), ("name", STRING)]))
    shape: 2 columns
      id    BIGINT NOT NULL
      name  STRING
    """

    __slots__ = ("_indexes", "columns")

    def __init__(self, columns: Iterable[tuple[str, LogicalType]]) -> None:
        """Raises `InvalidExpressionError` if two columns have the same name."""
        self.columns = tuple(columns)
        self._indexes = {name: index for index, (name, _) in enumerate(self.columns)}
        if len(self._indexes) < len(self.columns):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidExpressionError(f"there are two columns {twice!r}: give one another name with alias()")

    @staticmethod
    def of_arrow(columns: pa.Schema) -> Schema:
        """Return the types of Arrow columns, which may all have NULL. Raises TypeError for a type that SQL lacks."""
        return Schema((field.name, of_arrow(field.type, field.name)) for field in columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns, in a new list."""
        return [name for name, _ in self.columns]

    @property
    def types(self) -> list[LogicalType]:
        """The types of the columns, in a new list."""
        return [own for _, own in self.columns]

    @property
    def arrow(self) -> pa.Schema:
        """The schema of the Arrow batches."""
        return pa.schema([pa.field(name, own.arrow, nullable=own.nullable) for name, own in self.columns])

    def __contains__(self, name: object) -> bool:
        return name in self._indexes

    def __iter__(self) -> Iterator[tuple[str, LogicalType]]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(self.columns)

    def index(self, name: str) -> int:
        """Return the position of a column. Raises `InvalidExpressionError` with the nearest name for an unknown one."""
        found = self._indexes.get(name)
        if found is None:
            raise InvalidExpressionError(f"there is no column {name!r}{nearest(name, self.names)}")
        return found

    def type_of(self, name: str) -> LogicalType:
        """Return the type of a column. Raises `InvalidExpressionError` as `index` does."""
        return self.columns[self.index(name)][1]

    def only(self, names: Iterable[str]) -> Schema:
        """Return the columns with these names, in this order. Raises `InvalidExpressionError` as `index` does."""
        return Schema((name, self.type_of(name)) for name in names)

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        lines = [f"  {name:{width}}  {own}" for name, own in self.columns]
        return "\n".join([f"shape: {len(self)} column{'s' * (len(self) != 1)}", *lines])

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{name}: {own}' for name, own in self.columns)})"
