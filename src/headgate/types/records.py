"""The values of records in the order of a schema's fields, with or without names in the records, and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from headgate.types.row import Row

UNWRITABLE: Final = (TypeError, ValueError, ArithmeticError, AttributeError)
"""The errors for a value that does not have its type."""


def values_in_order(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of a row, dict, tuple or list, in the order of `names`.

    A dict is read by name, and a missing key is None. A row is read by name if it has these names, else by position.
    Raises ValueError for a dict with other keys, and for a record with another number of fields.

    >>> values_in_order(Row(name="Ada", id=1), ("id", "name"))
    [1, 'Ada']
    """
    values: Sequence[Any]
    if isinstance(record, Row):
        fields = record._fields
        by_name = fields is not None and fields != names and set(fields) == set(names)
        values = record.get_fields_by_names(names) if by_name else record._values
    elif isinstance(record, dict):
        unknown = record.keys() - set(names)
        if unknown:
            raise ValueError(f"{record!r:.100} has a key {min(unknown, key=str)!r}; the fields are {', '.join(names)}")
        values = [record.get(name) for name in names]
    elif isinstance(record, tuple | list):
        values = record
    else:
        raise ValueError(f"{record!r:.100} is not a row")
    if len(values) != len(names):
        raise ValueError(f"{record!r:.100} has {len(values)} fields instead of {len(names)}: {', '.join(names)}")
    return values


def columns_of(records: Iterable[Any], names: tuple[str, ...]) -> list[list[Any]]:
    """Return the values of records by field. Raises ValueError as `values_in_order` does."""
    rows = [values_in_order(record, names) for record in records]
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]


def as_dict(record: Any) -> Any:
    """Return a row with names, and the rows within it, as dicts; anything else as it is."""
    return record.as_dict(recursive=True) if isinstance(record, Row) else record


def write_columns(
    records: Iterable[Any], names: tuple[str, ...], writers: Sequence[Callable[[list[Any]], list[str]]]
) -> list[list[str]]:
    """Return the texts of the values of records, by field. Raises ValueError naming a field that cannot be written."""
    written = []
    for name, write, values in zip(names, writers, columns_of(records, names), strict=True):
        try:
            written.append(write(values))
        except UNWRITABLE as error:
            raise _wrong_value(name, write, values) from error
    return written


def _wrong_value(name: str, write: Callable[[list[Any]], list[str]], values: list[Any]) -> ValueError:
    for value in values:
        try:
            write([value])
        except UNWRITABLE as error:
            return ValueError(f"field {name!r} cannot be {value!r:.100}: {error}")
    raise AssertionError("each value can be written alone")
