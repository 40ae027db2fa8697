"""The values of a record in the order of a schema's fields, whichever way the record names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headgate.types.row import Row


def values_in_order(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of a row, dict, tuple or list: by name where it has these names, else by position.

    Raises ValueError for a record that has no such fields, or not as many.

    >>> values_in_order(Row(name="Ada", id=1), ("id", "name"))
    [1, 'Ada']
    """
    values: Sequence[Any]
    if isinstance(record, Row):
        fields = record._fields
        by_name = fields is not None and fields != names and set(fields) == set(names)
        values = record.get_fields_by_names(names) if by_name else record._values
    elif isinstance(record, dict):
        values = [record.get(name) for name in names] if record.keys() <= set(names) else [*record.values()]
    elif isinstance(record, tuple | list):
        values = record
    else:
        raise ValueError(f"{record!r:.100} is no row")
    if len(values) != len(names):
        raise ValueError(f"{record!r:.100} has {len(values)} fields, and not {len(names)}: {', '.join(names)}")
    return values


def columns_of(records: Iterable[Any], names: tuple[str, ...]) -> list[list[Any]]:
    """Return the values of records by field. Raises ValueError as `values_in_order` does."""
    rows = [values_in_order(record, names) for record in records]
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]


def as_dict(record: Any) -> Any:
    """Return a row with names as a dict, and the rows within it; anything else as it is."""
    return record.as_dict(recursive=True) if isinstance(record, Row) else record
