"""Names and types of the columns of records and dicts that a program gives."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headgate.columns import logical_types as types
from headgate.columns.logical_types import LogicalType
from headgate.types.row import Row


def check_names(schema: Any) -> list[str] | None:
    """Return the names of columns that a program gave; None for None.

    Raises TypeError unless they are a list of strings, and ValueError if a name is empty or occurs twice.
    """
    if schema is None:
        return None
    if not isinstance(schema, list) or not all(isinstance(name, str) for name in schema):
        raise TypeError(f"schema is a list of names, not {schema!r}")
    if not schema:
        raise ValueError("schema has no names")
    if not all(schema):
        raise ValueError("a name in schema is empty")
    twice = next((name for name in schema if schema.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"schema has the name {twice!r} twice")
    return schema


def columns_of_records(data: Any, names: list[str] | None) -> tuple[list[str], list[list[Any]]]:
    """Return names and values of the columns of records. Raises TypeError and ValueError as `from_records` does."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes | bytearray | memoryview):
        raise TypeError(f"from_records() takes a sequence of records, not a {type(data).__name__}")
    if not data:
        raise ValueError("from_records() takes at least one record: types follow from the values")
    first = _fields(data[0])
    if first is not None:
        rows = _by_name(data, list(first) if names is None else names, exactly=names is None, is_dict=_is_dict(data[0]))
        return (list(first) if names is None else names), [list(column) for column in zip(*rows, strict=True)]
    if names is None:
        raise ValueError("records without names need schema, the list of the columns' names")
    rows = [_values(record, index, len(names)) for index, record in enumerate(data)]
    return names, [list(column) for column in zip(*rows, strict=True)]


def _is_dict(record: Any) -> bool:
    return isinstance(record, Mapping)


def _fields(record: Any) -> Mapping[str, Any] | None:
    """Return a record's fields by name; None for a record without names."""
    if isinstance(record, Mapping):
        return record
    if isinstance(record, Row):
        return dict(zip(record._fields, record._values, strict=True)) if record._fields else None
    names = getattr(record, "_fields", None) if isinstance(record, tuple) else None
    return None if names is None else dict(zip(names, record, strict=True))


def _by_name(data: Sequence[Any], names: list[str], *, exactly: bool, is_dict: bool) -> list[list[Any]]:
    rows = []
    for index, record in enumerate(data):
        fields = _fields(record)
        if fields is None or _is_dict(record) != is_dict:
            kind = "dict" if is_dict else "named tuple or row"
            raise TypeError(f"record {index} is a {type(record).__name__}, but record 0 is a {kind}")
        missing = [name for name in names if name not in fields]
        extra = [name for name in fields if name not in names] if exactly else []
        if missing or extra:
            raise ValueError(f"record {index} has other fields than record 0: missing {missing}, unexpected {extra}")
        rows.append([fields[name] for name in names])
    return rows


def _values(record: Any, index: int, width: int) -> list[Any]:
    if isinstance(record, Mapping | str | bytes) or not isinstance(record, Sequence | Row):
        raise TypeError(f"record {index} is a {type(record).__name__}, but record 0 is a sequence of values")
    values = list(record)
    if len(values) != width:
        raise ValueError(f"record {index} has {len(values)} values, but schema has {width} names")
    return values


def columns_of_dict(data: Any, names: list[str] | None) -> tuple[list[str], list[list[Any]]]:
    """Return names and values of the columns of a dict. Raises TypeError and ValueError as `from_dict` does."""
    if not isinstance(data, Mapping):
        raise TypeError(f"from_dict() takes a dict of columns, not a {type(data).__name__}")
    chosen = list(data) if names is None else names
    unknown = [name for name in chosen if name not in data]
    if unknown:
        raise ValueError(f"there is no column {unknown[0]!r}; there are {', '.join(map(repr, data))}")
    for name in chosen:
        if not isinstance(name, str):
            raise TypeError(f"the name of a column is a str, not {name!r}")
        if not isinstance(data[name], Sequence) or isinstance(data[name], str | bytes | bytearray):
            raise TypeError(f"column {name!r} is a {type(data[name]).__name__}, not a sequence of values")
    lengths = {name: len(data[name]) for name in chosen}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"the columns have different lengths: {lengths}" if lengths else "there is no column")
    if not next(iter(lengths.values())):
        raise ValueError("the columns have no values: types follow from the values")
    return chosen, [list(data[name]) for name in chosen]


def inferred(values: list[Any], name: str) -> tuple[LogicalType, pa.Array]:
    """Return the type of a column of Python values, and the column.

    Raises TypeError naming the column, if a value has no type in SQL, or values have no common type.

    >>> inferred([1, None], "n")[0], inferred([1, 2.5], "n")[1].to_pylist()
    (LogicalType(kind=<Kind.BIGINT: 'BIGINT'>, nullable=True, precision=0, scale=0, fields=()), [1.0, 2.5])
    """
    own = _merged([_type_of(value, name) for value in values], name)
    try:
        return own, pa.array([_plain(value) for value in values], own.arrow)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise TypeError(f"column {name!r} does not fit its type {own}: {error}") from error


def _merged(given: list[LogicalType], name: str) -> LogicalType:
    kinds = list(dict.fromkeys(given))
    found = types.widest(kinds)
    if found is None:
        shown = ", ".join(str(own.nulls()) for own in kinds[:3])
        raise TypeError(f"the values of column {name!r} have no common type: {shown}; convert them")
    return found


def _type_of(value: Any, name: str) -> LogicalType:
    return types.NULL if value is None else _type_of_value(value, name).nulls(nullable=False)


def _type_of_value(value: Any, name: str) -> LogicalType:
    match value:
        case bool():
            return types.BOOLEAN
        case int():
            return types.BIGINT
        case float():
            return types.DOUBLE
        case str():
            return types.STRING
        case bytes() | bytearray():
            return types.BINARY_STRING
        case Decimal():
            return types.decimal(38, 18)
        case datetime.datetime():
            return types.timestamp_ltz(6)
        case datetime.date():
            return types.DATE
        case datetime.time():
            return types.time(6)
        case datetime.timedelta():
            return types.day_interval(6)
        case Mapping():
            keys = _merged([_type_of(key, name) for key in value], name)
            return types.map_of(keys, _merged([_type_of(own, name) for own in value.values()], name))
    fields = _fields(value)
    if fields is not None:
        return types.row((own, _type_of(inner, f"{name}.{own}")) for own, inner in fields.items())
    if isinstance(value, list | tuple):
        return types.array(_merged([_type_of(own, name) for own in value], name))
    raise TypeError(f"column {name!r} has a {type(value).__name__}, which has no type in SQL: {value!r:.100}")


def _plain(value: Any) -> Any:
    """Return a value as Arrow takes it: rows are dicts, and maps lists of pairs."""
    if isinstance(value, Mapping):
        return [(key, _plain(own)) for key, own in value.items()]
    fields = _fields(value)
    if fields is not None:
        return {name: _plain(own) for name, own in fields.items()}
    return [_plain(own) for own in value] if isinstance(value, list | tuple) else value
