"""Which values fit a type: those that a state of that type accepts.

A value fits by its Python class, as in PyFlink's coders: an int fits every type of integers, and FLOAT and DOUBLE; a
tuple fits a row. What is in a container is not checked. Types whose values have no class of their own, such as
`Types.PICKLED_BYTE_ARRAY()`, accept anything.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Final

from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.sql_types import DateTypeInfo, DecimalTypeInfo, TimestampTypeInfo, TimeTypeInfo
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    Types,
)

Fits = Callable[[object], bool]
"""Returns whether a value, which is not None, fits a type."""

_BASIC: Final[dict[BasicType, type | tuple[type, ...]]] = {
    **dict.fromkeys((BasicType.STRING, BasicType.CHAR), str),
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT), Integral),
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), Real),
    BasicType.BOOLEAN: bool,
    BasicType.BIG_DEC: Decimal,
    BasicType.INSTANT: Instant,
}
_TIMES: Final[dict[type[TypeInformation], type]] = {
    DateTypeInfo: dt.date,
    TimeTypeInfo: dt.time,
    TimestampTypeInfo: dt.datetime,
    DecimalTypeInfo: Decimal,
}
_BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())


def fits_of(type_info: TypeInformation) -> Fits:
    """Return the check of a type.

    >>> fits = fits_of(Types.LONG())
    >>> fits(7), fits("text"), fits_of(Types.DOUBLE())(7), fits_of(Types.PICKLED_BYTE_ARRAY())("text")
    (True, False, True, True)
    """
    if isinstance(type_info, BasicTypeInfo):
        classes = _BASIC[type_info.basic_type]
        return (lambda value: isinstance(value, bool) or _is_numpy_bool(value)) if classes is bool else _of(classes)
    if type(type_info) in _TIMES:
        return _of(_TIMES[type(type_info)])
    if type_info == _BYTES:
        return lambda value: isinstance(value, bytes | bytearray | memoryview) or _is_sequence(value)
    if isinstance(type_info, ListTypeInfo | ObjectArrayTypeInfo | BasicArrayTypeInfo | PrimitiveArrayTypeInfo):
        return _is_sequence
    if isinstance(type_info, MapTypeInfo):
        return _of(Mapping)
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return _of((Row, tuple, list))
    return lambda value: True


def _of(classes: type | tuple[type, ...]) -> Fits:
    return lambda value: isinstance(value, classes)


def _is_numpy_bool(value: object) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def _is_sequence(value: object) -> bool:
    """Whether this is a list of some kind. NumPy's arrays are, and are recognised without importing NumPy."""
    if isinstance(value, str | bytes | bytearray | memoryview):
        return False
    return isinstance(value, Sequence | array) or (hasattr(value, "__array__") and hasattr(value, "__len__"))
