"""Types as programs give them: of PyFlink's `DataTypes`, as Python classes, or as SQL text."""

from __future__ import annotations

import datetime
import types as python_types
import typing
from decimal import Decimal
from typing import Any, Final, Protocol, runtime_checkable

from headgate.columns import logical_types as types
from headgate.columns.logical_types import LogicalType
from headgate.errors import ProgramError
from headgate.types.arrow_types import arrow_type
from headgate.types.type_information import TypeInformation

_CLASSES: Final[dict[Any, LogicalType]] = {
    bool: types.BOOLEAN,
    int: types.BIGINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BINARY_STRING,
    bytearray: types.BINARY_STRING,
    Decimal: types.decimal(38, 18),
    datetime.date: types.DATE,
    datetime.time: types.time(0),
    datetime.datetime: types.timestamp(6),
    Any: types.STRING,
}


@runtime_checkable
class HasLogicalType(Protocol):
    """A value that stands for a type, such as a `DataType`."""

    @property
    def logical_type(self) -> LogicalType: ...


def logical_type(given: Any) -> LogicalType:
    """Return the logical type that a program gave.

    Raises TypeError for a value that stands for no type, and ValueError for SQL text that is no type.

    >>> print(logical_type(list[int]), logical_type(int | None))
    ARRAY<BIGINT> BIGINT
    """
    if isinstance(given, LogicalType):
        return given
    if isinstance(given, TypeInformation):
        return _of_type_information(given)
    if not isinstance(given, type) and isinstance(given, HasLogicalType):
        return given.logical_type
    if isinstance(given, str):
        from headgate.columns.sql_text import type_of_text  # noqa: PLC0415  # its parser takes long to load

        return type_of_text(given)
    return _of_hint(given)


def _of_type_information(given: TypeInformation) -> LogicalType:
    try:
        return types.of_arrow(arrow_type(given, "value"), "value")
    except ProgramError as error:
        raise TypeError(f"{given} has no type in SQL: {error}") from None


def _of_hint(hint: Any) -> LogicalType:
    found = _CLASSES.get(hint) if isinstance(hint, type) or hint is Any else None
    if found is not None:
        return found
    if typing.is_typeddict(hint):
        return types.row((name, logical_type(own)) for name, own in typing.get_type_hints(hint).items())
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is list and inner:
        return types.array(logical_type(inner[0]))
    if origin is dict and inner:
        return types.map_of(logical_type(inner[0]).nulls(nullable=False), logical_type(inner[1]))
    if origin in (typing.Union, python_types.UnionType):
        given = [own for own in inner if own is not type(None)]
        if len(given) == 1:
            return logical_type(given[0]).nulls()
    raise TypeError(f"{hint!r} stands for no type: use a DataType, such as DataType.int64(), or a class such as int")
