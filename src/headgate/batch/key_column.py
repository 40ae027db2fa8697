"""Whether a key selector does no more than take a column, so that Spark can sort a DataFrame by that column itself.

The selector is called twice with a stand-in for a row, whose fields are marks: objects that can be handed on, and fail
at everything else that is done with them. If it returns the mark of a column, and None when that column is None, it
takes that column. What else it might do, such as look at the type of a value, is checked when it runs: see `taken`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, final

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
    """A value that nobody may look at."""


for _name in _OPERATIONS.split():
    setattr(_Mark, f"__{_name}__", _fail)


def key_column(select: Callable[[Any], Any], names: Sequence[str]) -> str | None:
    """Return the column that `select` takes out of rows with these names, None if it does anything else.

    >>> key_column(lambda row: row.city, ["name", "city"]), key_column(lambda row: row[0], ["name", "city"])
    ('city', 'name')
    >>> key_column(lambda row: row.city.lower(), ["name", "city"]) is None
    True
    """
    marks: list[Any] = [_Mark() for _ in names]
    taken = _called(select, names, marks)
    place = next((place for place, mark in enumerate(marks) if mark is taken), None)
    if place is None:
        return None
    without = [None if at == place else mark for at, mark in enumerate(marks)]
    return names[place] if _called(select, names, without) is None else None


def _called(select: Callable[[Any], Any], names: Sequence[str], values: list[Any]) -> Any:
    try:
        return select(make_row(values, tuple(names)))
    except Exception:  # noqa: BLE001  # whatever a selector does with what is no value
        return names  # which is no mark, and not None


def taken(select: Callable[[Any], Any], records: Sequence[Any], column: str) -> list[Any]:
    """Return the keys of rows that have the same value in `column`, which is what `select` takes.

    Raises ProgramError if it does not for the first or the last of them.
    """
    key = select(records[0])
    for record in (records[0], records[-1]):
        if select(record) != record[column]:
            raise ProgramError(
                f"the key selector took column {column!r} as it is when it was tried, but gives "
                f"{select(record)!r} for {record!r}: write it so that what it does does not depend on a value's type, "
                "or have a map() before key_by() that computes the key"
            )
    return [key] * len(records)
