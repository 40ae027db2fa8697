"""Finds out whether a key selector or timestamp assigner only returns a column: Spark can then sort by the column.

The function is called twice with a substitute for a row, whose fields are marks: objects that can be returned, and that
raise an error for any other use. The function takes a column if it reads only that column, returns the column's mark,
and returns None if the column is None. Other behaviour, such as a check of the value's type, is found when the function
runs: see `taken`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, final

from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.types.row import make_row


class _Looked(Exception):
    """A function used a mark in another way than returning it."""


def _fail(*_: object, **__: object) -> NoReturn:
    raise _Looked


_OPERATIONS = (
    "bool int float index len iter next contains getitem call hash str repr format bytes eq ne lt le gt ge add radd "
    "sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor neg pos abs "
    "invert round getattr reduce_ex"
)


@final
class _Mark:
    """A value that a function may only return. Any other use raises an error."""


for _name in _OPERATIONS.split():
    setattr(_Mark, f"__{_name}__", _fail)


@final
class _Fields(list[Any]):
    """The values of a row. Records the places that are read: a result may depend on any column that is read."""

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__(values)
        self.read: set[int] = set()

    def __getitem__(self, place: Any) -> Any:
        places = range(len(self))[place]
        self.read.update([places] if isinstance(places, int) else places)
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))


def column_of(take: Callable[[Any], Any], names: Sequence[str]) -> str | None:
    """Return the column that `take` returns of rows with these names, None if `take` does anything else.

    >>> column_of(lambda row: row.city, ["name", "city"]), column_of(lambda row: row[0], ["name", "city"])
    ('city', 'name')
    >>> column_of(lambda row: row.city.lower(), ["name", "city"]) is None
    True
    """
    marks: list[Any] = [_Mark() for _ in names]
    fields = _Fields(marks)
    taken = _called(take, names, fields)
    if len(fields.read) != 1:
        return None
    [place] = fields.read
    if taken is not marks[place]:
        return None
    without = [None if at == place else mark for at, mark in enumerate(marks)]
    return names[place] if _called(take, names, without) is None else None


def _called(take: Callable[[Any], Any], names: Sequence[str], values: list[Any]) -> Any:
    try:
        return take(make_row(values, tuple(names)))
    except Exception:  # noqa: BLE001  # the function may raise anything when it uses a mark
        return names  # neither a mark nor None


def taken(take: Callable[[Any], Any], what: str, batch: Batch, column: str) -> Any:
    """Return the result of `take`, a function that returns a column, for the first record of the batch.

    `what` describes the function in errors. Raises ProgramError if the function does not return the column's value for
    the first and the last record.
    """
    for record in (batch.records[-1], batch.records[0]):
        made = take(record)
        if made != record[column]:
            raise ProgramError(
                f"in a trial the {what} returned column {column!r} as it is, but for {record!r} it returns {made!r}: "
                "write it so that its result does not depend on the type of a value, or make the column with a map() "
                "before it"
            )
    return made
