"""Whether a key selector or a timestamp assigner does no more than take a column: Spark can sort by that itself.

It is called twice with a stand-in for a row, whose fields are marks: objects that can be handed on, and fail at
everything else that is done with them. If it reads one column only, and returns its mark, and None when that column is
None, it takes that column. What else it might do, such as look at the type of the value, is checked when it runs: see
`taken`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, final

from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.types.row import make_row


class _Looked(Exception):
    """A selector did something with a mark."""


def _fail(*_: object, **__: object) -> NoReturn:
    raise _Looked


_OPERATIONS = (
    "bool int float index len iter next contains getitem call hash str repr format bytes eq ne lt le gt ge add radd "
    "sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor neg pos abs "
    "invert round getattr reduce_ex"
)


@final
class _Mark:
    """A value that must not be looked at."""


for _name in _OPERATIONS.split():
    setattr(_Mark, f"__{_name}__", _fail)


@final
class _Fields(list[Any]):
    """The values of a row. Notes which of them are read: another column, if only its being None, may decide on all."""

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
    """Return the column that `take` takes out of rows with these names, None if it does anything else.

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
    except Exception:  # noqa: BLE001  # whatever it does with what is no value
        return names  # which is no mark, and not None


def taken(take: Callable[[Any], Any], what: str, batch: Batch, column: str) -> Any:
    """Return what `take`, a function that takes a column, makes of the first of some rows.

    `what` names it for people. Raises ProgramError if it does not take the column of the first and the last row.
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
