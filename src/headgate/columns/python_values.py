"""Between columns and the Python values that users see.

Points in time are datetimes in the session's zone, decimals `Decimal`, rows `Row`, maps dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.logical_types import Kind, LogicalType
from headgate.types.arrow_values import values_of
from headgate.types.row import Row, make_rows


def rows_of(batch: pa.RecordBatch, zone: str) -> list[Row]:
    """Return the rows of a batch. Points in time are datetimes in a time zone, which they keep.

    >>> rows_of(pa.RecordBatch.from_pydict({"n": [1, None]}), "UTC")
    [Row(n=1), Row(n=None)]
    """
    columns = [python_values(column, zone) for column in batch.columns]
    values = zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
    return make_rows(values, tuple(batch.schema.names))


def python_values(column: pa.Array, zone: str) -> list[Any]:
    """Return the values of a column; NULL is None."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        unit = "us" if kind.unit == "ns" else kind.unit
        local: list[Any] = pc.cast(column, pa.timestamp(unit, zone), safe=False).to_pylist()
        return local
    exact: list[Any] = column.to_pylist() if pa.types.is_decimal(kind) else values_of(column)
    return exact


def column_of_values(values: Iterable[Any], kind: LogicalType) -> pa.Array:
    """Return the column of values that a function of the user returned.

    A ROW is made of a mapping, a `Row` or named tuple by names, a sequence by position, or any object by its
    attributes; an ARRAY of an iterable; a MAP of a mapping or of pairs. Raises ValueError for a row with other fields,
    and ArrowInvalid or ArrowTypeError for a value of another type.

    >>> from headgate.columns.logical_types import BIGINT, array
    >>> column_of_values([(1, 2), None], array(BIGINT)).to_pylist()
    [[1, 2], None]
    """
    given = list(values)
    if kind.fields:
        given = [stored(value, kind) for value in given]
    return pa.array(given, kind.arrow)


MISFITS: Final = (pa.ArrowException, ValueError, TypeError, OverflowError)
"""What `column_of_values` raises for values that are not of its type."""


def misfit(call: str, value: Any, kind: LogicalType, error: BaseException) -> str:
    """Return the text of the error for a value of another type that a call of a function of the user returned."""
    return f"{call} returned {value!r:.100}, which is no {kind}: {error}"


def stored(value: Any, kind: LogicalType) -> Any:
    """Return a value as Arrow takes it: rows as dicts, maps as pairs. Raises ValueError for a row with other fields."""
    if value is None or not kind.fields:
        return value
    if kind.kind is Kind.ARRAY:
        return [stored(own, kind.element) for own in value]
    if kind.kind is Kind.MAP:
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(stored(key, kind.key), stored(own, kind.value)) for key, own in pairs]
    return {name: stored(own, inner) for (name, inner), own in zip(kind.fields, _fields(value, kind), strict=True)}


def _fields(value: Any, kind: LogicalType) -> list[Any]:
    names = [name for name, _ in kind.fields]
    if isinstance(value, Mapping):
        return [value.get(name) for name in names]
    if isinstance(value, Row):
        own, values = value.by_name()
        if own is not None:
            fields = dict(zip(own, values, strict=True))
            missing = [name for name in names if name not in fields]
            if missing:
                raise ValueError(f"the row {value!r} has no field {missing[0]!r}")
            return [fields[name] for name in names]
    if isinstance(value, tuple | list | Row):
        if len(value) != len(names):
            raise ValueError(f"{value!r} has {len(value)} values, but {kind} has {len(names)} fields")
        return list(value)
    return [_attribute(value, name) for name in names]


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute, None if the object has none. An AttributeError within a property is raised."""
    return getattr(value, name) if name in dir(value) else None
