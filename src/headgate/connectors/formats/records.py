"""The values of a record in the order of a schema's fields, whichever way the record names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headgate.types.row import Row


def values_in_order(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of a row, dict, tuple or list.

    Those of a dict go by name, and None stands for a key that it lacks; those of a row go by name where it has these
    names, else by position. Raises ValueError for a dict with other keys, and for a record without as many fields.

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
    """Return a row with names as a dict, and the rows within it; anything else as it is."""
    return record.as_dict(recursive=True) if isinstance(record, Row) else record
