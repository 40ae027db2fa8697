"""Checks whether a value fits a type: a state accepts the values that fit its type.

A value fits by its Python class, as in PyFlink's coders: an int fits every type of integers, and FLOAT and DOUBLE; a
tuple fits a row. The contents of containers are not checked. Types whose values have no class of their own, such as
`Types.PICKLED_BYTE_ARRAY()`, accept anything.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Final

from headgate.types.fold import TypeFold, always
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.type_information import TypeInformation

Fits = Callable[[object], bool]
"""Returns whether a value, which is not None, fits a type."""


def fits_of(type_info: TypeInformation) -> Fits:
    """Return the check of a type.

    >>> from headgate.types.typeinfo import Types
    >>> fits = fits_of(Types.LONG())
    >>> fits(7), fits("text"), fits_of(Types.DOUBLE())(7), fits_of(Types.PICKLED_BYTE_ARRAY())("text")
    (True, False, True, True)
    """
    return _FITS.of(type_info)


def _of(classes: type | tuple[type, ...]) -> Fits:
    return lambda value: isinstance(value, classes)


def _is_numpy_bool(value: object) -> bool:
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def _is_sequence(value: object) -> bool:
    """Return whether a value is a list of some kind. NumPy arrays are, and are recognised without importing NumPy."""
    if isinstance(value, str | bytes | bytearray | memoryview):
        return False
    return isinstance(value, Sequence | array) or (hasattr(value, "__array__") and hasattr(value, "__len__"))


def _anything(value: object) -> bool:
    return True


_ROWS: Final = _of((Row, tuple, list))


class _Fits(TypeFold[Fits]):
    """The checks of all types."""

    string = always(_of(str))
    boolean = always(lambda value: isinstance(value, bool) or _is_numpy_bool(value))
    integer = always(_of(Integral))
    floating = always(_of(Real))
    decimal = always(_of(Decimal))
    instant = always(_of(Instant))
    date = always(_of(dt.date))
    time = always(_of(dt.time))
    timestamp = always(_of(dt.datetime))
    interval = always(_of(dt.timedelta))
    null = always(lambda value: False)
    binary = always(lambda value: isinstance(value, bytes | bytearray | memoryview) or _is_sequence(value))
    pickled = always(_anything)
    sequence = always(_is_sequence)
    mapping = always(_of(Mapping))
    tuple = always(_ROWS)
    row = always(_ROWS)


_FITS: Final = _Fits()
