"""Values as columns: Python objects as Arrow arrays, column by column, also within structs, lists and maps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

from headgate.errors import SerializationError
from headgate.types.arrow_scalars import scalars
from headgate.types.row import Row

WRONG: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""The errors that a value raises when it does not fit its column."""


class WrongValueError(ValueError):
    """A value does not fit its column: the text names both."""


def column_of(values: Sequence[Any], field: pa.Field, path: str) -> pa.Array:
    """Return values as a column; None is null. `path` is the name of the column, for errors.

    Raises `WrongValueError`.

    >>> column_of([{"a": 1}, None], pa.field("s", pa.struct([("a", pa.int8())])), "s").to_pylist()
    [{'a': 1}, None]
    """
    make = _MADE_BY.get(field.type.id)
    array = _scalars(values, field.type, path) if make is None else make(values, field.type, path)
    if array.null_count and not field.nullable:
        raise WrongValueError(f"column {path!r} must not be null, but a record holds None there")
    return array


def _scalars(values: Sequence[Any], data_type: pa.DataType, path: str) -> pa.Array:
    try:
        return scalars(values, data_type)
    except WRONG as error:
        raise _wrong(values, data_type, path, error) from error


def _wrong(values: Sequence[Any], data_type: pa.DataType, path: str, error: Exception) -> WrongValueError:
    culprit = next((value for value in values if not _fits(value, data_type)), None)
    return WrongValueError(
        f"column {path!r} has the type {data_type}, but a record holds {culprit!r} ({type(culprit).__name__}) there: "
        f"{error}"
    )


def _fits(value: object, data_type: pa.DataType) -> bool:
    try:
        scalars([value], data_type)
    except WRONG:
        return False
    return True


def _struct(values: Sequence[Any], data_type: pa.DataType, path: str) -> pa.Array:
    fields = list(data_type.fields)
    names = tuple(field.name for field in fields)
    nothing = (None,) * len(fields)
    rows = [nothing if value is None else _row(value, names, path) for value in values]
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    children = [
        column_of(column, field.with_nullable(True), f"{path}.{field.name}")
        for column, field in zip(columns, fields, strict=True)
    ]
    mask = pa.array([value is None for value in values], type=pa.bool_())
    if not fields:
        return pa.array([None if value is None else {} for value in values], type=data_type)
    array = pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    _check_nulls(array, fields, path)
    return array


def _check_nulls(array: pa.StructArray, fields: list[pa.Field], path: str) -> None:
    for place, field in enumerate(fields):
        if not field.nullable and array.drop_null().field(place).null_count:
            raise WrongValueError(f"column '{path}.{field.name}' must not be null, but a record holds None there")


def _row(value: Any, names: tuple[str, ...], path: str) -> Sequence[Any]:
    try:
        row = fields_of_record(value, names)
    except SerializationError as error:
        raise WrongValueError(f"column {path!r}: {error}") from error
    if isinstance(row, str | bytes) or len(row) != len(names):
        raise WrongValueError(
            f"column {path!r} has the fields {', '.join(map(repr, names))}, but a record holds {value!r} there"
        )
    return row


def fields_of_record(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of a record, by name where it has names, else by position; a plain value is the only value.

    Raises SerializationError when the record has other names.
    """
    if isinstance(record, Row):
        if record._fields is None or record._fields == names:
            return record._values
        return _by_name(record.as_dict(), names, record)
    if isinstance(record, dict):
        return _by_name(record, names, record)
    if isinstance(record, tuple | list):
        return record
    return (record,)


def _by_name(values: dict[str, Any], names: tuple[str, ...], record: object) -> list[Any]:
    if values.keys() != set(names):
        raise SerializationError(
            f"the record {record!r} has the fields {sorted(values)}, but the schema has {sorted(names)}; "
            "give every record exactly the fields of the schema"
        )
    return [values[name] for name in names]


def _list(values: Sequence[Any], data_type: pa.DataType, path: str) -> pa.Array:
    lengths = [0 if value is None else _length(value, path) for value in values]
    inner = list(itertools.chain.from_iterable(value for value in values if value is not None))
    items = column_of(inner, data_type.value_field, f"{path}[]")
    return _OF_LISTS[data_type.id].from_arrays(_offsets(values, lengths, data_type), items, type=data_type)


def _fixed_list(values: Sequence[Any], data_type: pa.DataType, path: str) -> pa.Array:
    wrong = next((value for value in values if value is not None and _length(value, path) != data_type.list_size), None)
    if wrong is not None:
        raise WrongValueError(
            f"column {path!r} holds lists of {data_type.list_size} values, but a record holds {wrong!r} there"
        )
    return _list(values, pa.list_(data_type.value_field), path).cast(data_type)


def _dictionary(values: Sequence[Any], data_type: pa.DataType, path: str) -> pa.Array:
    return column_of(values, pa.field(path, data_type.value_type), path).cast(data_type)


def _length(value: Any, path: str) -> int:
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        raise WrongValueError(f"column {path!r} holds lists, but a record holds {value!r} there")
    return len(value)


def _map(values: Sequence[Any], data_type: pa.DataType, path: str) -> pa.Array:
    wrong = next((value for value in values if not (value is None or isinstance(value, dict))), None)
    if wrong is not None:
        raise WrongValueError(f"column {path!r} holds maps, but a record holds {wrong!r} there")
    maps = [value for value in values if value is not None]
    keys = column_of([key for own in maps for key in own], data_type.key_field, f"{path}[key]")
    inner = [item for own in maps for item in own.values()]
    items = column_of(inner, data_type.item_field, f"{path}[value]")
    lengths = [0 if value is None else len(value) for value in values]
    return pa.MapArray.from_arrays(_offsets(values, lengths, data_type), keys, items, type=data_type)


def _offsets(values: Sequence[Any], lengths: list[int], data_type: pa.DataType) -> pa.Array:
    """Return the offset at which each list begins, null for None."""
    offsets: list[int | None] = list(itertools.accumulate(lengths, initial=0))
    for place, value in enumerate(values):
        if value is None:
            offsets[place] = None
    return pa.array(offsets, type=pa.int64() if pa.types.is_large_list(data_type) else pa.int32())


_OF_LISTS: Final[dict[int, type[pa.Array]]] = {
    pa.list_(pa.null()).id: pa.ListArray,
    pa.large_list(pa.null()).id: pa.LargeListArray,
}
_MADE_BY: Final[dict[int, Callable[[Sequence[Any], pa.DataType, str], pa.Array]]] = {
    pa.struct([]).id: _struct,
    pa.list_(pa.null()).id: _list,
    pa.large_list(pa.null()).id: _list,
    pa.list_(pa.null(), 1).id: _fixed_list,
    pa.dictionary(pa.int8(), pa.string()).id: _dictionary,
    pa.map_(pa.int8(), pa.null()).id: _map,
}
"""The functions that make columns, by the id of the type. All other types are types of single values."""
