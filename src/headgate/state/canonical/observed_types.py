"""Observed types: derives the type of values without a declared type, such as keys, namespaces and pickled state."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind
from headgate.types.typeinfo import RowTypeInfo, TypeInformation, Types

_PICKLED: Final = Types.PICKLED_BYTE_ARRAY()
_PLAIN: Final[dict[type, TypeInformation]] = {
    int: Types.LONG(),
    str: Types.STRING(),
    float: Types.DOUBLE(),
    bool: Types.BOOLEAN(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    dt.date: Types.SQL_DATE(),
    dt.datetime: Types.SQL_TIMESTAMP(),
    dt.time: Types.SQL_TIME(),
    dt.timedelta: Types.SQL_INTERVAL(),
    Instant: Types.INSTANT(),
}


def observed_type(values: Iterable[Any]) -> TypeInformation:
    """Return the type that all the values have, or the pickled type if they differ. None fits any type.

    >>> observed_type([(1, "a"), (2, None)])
    TupleTypeInfo(Long, String)
    >>> observed_type([1, "a"])
    PickledByteArrayTypeInfo
    """
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if len(kinds) != 1:
        return _PICKLED
    kind = kinds.pop()
    known = _PLAIN.get(kind) or _CONTAINERS.get(kind)
    if known is None:
        return _PICKLED
    return known if isinstance(known, TypeInformation) else known(present)


def _of_lists(values: Sequence[list[Any]]) -> TypeInformation:
    return Types.LIST(observed_type(item for value in values for item in value))


def _of_dicts(values: Sequence[dict[Any, Any]]) -> TypeInformation:
    keys = observed_type(key for value in values for key in value)
    return Types.MAP(keys, observed_type(item for value in values for item in value.values()))


def _of_tuples(values: Sequence[tuple[Any, ...]]) -> TypeInformation:
    if not values[0] or any(len(value) != len(values[0]) for value in values):
        return _PICKLED
    return Types.TUPLE([observed_type(place) for place in zip(*values, strict=True)])


def _of_rows(values: Sequence[Row]) -> TypeInformation:
    names, width = values[0]._fields, len(values[0])
    alike = all(row._fields == names and len(row) == width and row.get_row_kind() is RowKind.INSERT for row in values)
    if not alike or not width or (names is not None and (len(names) != width or len(set(names)) != width)):
        return _PICKLED
    return RowTypeInfo([observed_type(place) for place in zip(*values, strict=True)], names)


_CONTAINERS: Final[dict[type, Callable[[Any], TypeInformation]]] = {
    list: _of_lists,
    dict: _of_dicts,
    tuple: _of_tuples,
    Row: _of_rows,
}
