"""Typed keys: keys whose equality and hash differ from Python's own.

Wherever keys are looked up (the route of a record, the cells of a backend, the rows of RocksDB), a key is either the
user's value itself, or a `TypedKey` that wraps the value and is compared by its identity, which is bytes. `typed`
decides by type:

==============================================  ========================================================================
int, str, bytes, dates, times, UUID, Enum, ...  unchanged
tuple of these, and of single values            unchanged: (1, "a") and (True, "a") are one key, as in Python
None, bool, float, Decimal                      typed: 1, True, 1.0 and Decimal("1.0"), Decimal("1.00") are five keys
list, dict, set, frozenset, dataclass, Row      typed: equal if their canonical bytes are equal
tuple with one of these, or a tuple, inside     typed, as well
==============================================  ========================================================================

The hash code, and so the key group, does not distinguish types: 1, True and 1.0 have the same hash code.
"""

from __future__ import annotations

import copy
import datetime as dt
import math
import struct
from collections.abc import Callable
from dataclasses import is_dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, Final, final
from uuid import UUID

from headgate.types.instant import Instant
from headgate.types.keys import canonical_bytes, hash_code
from headgate.types.row import Row, make_row

_PLAIN: Final = frozenset({int, str, bytes, dt.datetime, dt.date, dt.time, dt.timedelta, UUID, Instant})
_PLAIN_ITEMS: Final = _PLAIN | {bool, float, Decimal, type(None)}
_COMPOUND: Final = (tuple, list, dict, set, frozenset, Row)
_DOUBLE: Final = struct.Struct(">d").pack


class _Mark:
    """A value that no key of a user contains."""

    __slots__ = ()


_MARK: Final = _Mark()
_KNOWN_MAX: Final = 1 << 16


@final
class TypedKey(tuple[_Mark, bytes]):
    """A key that is compared by its identity. It keeps a copy of a value that could be changed.

    It is a tuple because tuples are hashed and compared without Python code, which happens several times per record.
    """

    _value: Any

    @staticmethod
    def of(value: Any) -> TypedKey:
        """Return the typed key of a value. Raises SerializationError for a value that cannot be a key."""
        made = tuple.__new__(TypedKey, (_MARK, _identity(value)))
        made._value = _kept(value)
        return made

    @property
    def identity(self) -> bytes:
        """The bytes that only this key has."""
        return self[1]

    @property
    def value(self) -> Any:
        """The user's key: a new copy each time, if it could be changed."""
        return _kept(self._value)

    def __reduce__(self) -> tuple[Callable[[Any], TypedKey], tuple[Any]]:
        return TypedKey.of, (self._value,)

    def __repr__(self) -> str:
        return repr(self._value)


_known_floats: Final[dict[float, TypedKey]] = {}
"""The typed keys of recent floats, except 0.0 and -0.0, which are equal in Python, and NaN, which equals nothing."""


def _typed_float(key: float) -> TypedKey:
    found = _known_floats.get(key) if key else None
    if found is None:
        found = TypedKey.of(key)
        if len(_known_floats) >= _KNOWN_MAX:
            _known_floats.clear()
        if key and key == key:
            _known_floats[key] = found
    return found


def typed(key: Any) -> Any:
    """Return the key for look-ups: itself, or a `TypedKey`. Raises SerializationError for a value that cannot be a key.

    >>> typed(1), typed(True) == typed(1), typed(1.0) == typed(1.0), typed([1, 2])
    (1, False, True, [1, 2])
    """
    kind = type(key)
    if kind in _PLAIN or kind is TypedKey:
        return key
    if kind is float:
        return _typed_float(key)
    if isinstance(key, tuple):
        return key if _PLAIN_ITEMS.issuperset(map(type, key)) or not any(map(_is_compound, key)) else TypedKey.of(key)
    if kind.__module__ == "numpy" and not isinstance(key, int) and getattr(key, "ndim", 1) == 0:
        return typed(key.item())
    if key is None or isinstance(key, float | Decimal | bool) or _is_compound(key):
        return TypedKey.of(key)
    return key


def all_typed(keys: list[Any]) -> list[Any]:
    """Return the keys for look-ups, as `typed` does; the same list if no key is typed. Raises SerializationError."""
    kinds = set(map(type, keys))
    if _PLAIN.issuperset(kinds):
        return keys
    if kinds == {tuple} and _PLAIN_ITEMS.issuperset(map(type, chain.from_iterable(keys))):
        return keys
    return list(map(typed, keys))


def untyped(key: Any) -> Any:
    """Return the user's value of a key."""
    return key.value if type(key) is TypedKey else key


def key_hash_code(key: Any) -> int:
    """Return the hash code of the user's value of a key, typed or not."""
    return hash_code(key._value if type(key) is TypedKey else key)


def key_bytes(key: Any) -> bytes:
    """Return the bytes that only this key has. Raises SerializationError for a value that cannot be a key."""
    return key.identity if type(key) is TypedKey else canonical_bytes(key)


def _is_compound(value: Any) -> bool:
    return isinstance(value, _COMPOUND) or is_dataclass(value)


def _kept(value: Any) -> Any:
    """Return a value that later changes to this value do not affect."""
    if isinstance(value, Row):
        return make_row(tuple(map(_kept, value._values)), value._fields, value._row_kind)
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(map(_kept, value))
    if kind is dict:
        return {key: _kept(item) for key, item in value.items()}
    return copy.deepcopy(value) if isinstance(value, tuple | list | dict | set) or is_dataclass(value) else value


def _identity(value: Any) -> bytes:
    for kind, identity in _SINGLE:
        if isinstance(value, kind):
            return identity(value)
    return canonical_bytes(value)


def _of_float(number: float) -> bytes:
    return (b"F" if number.is_integer() else b"f") + _DOUBLE(number if number == number else math.nan)


_SINGLE: Final[tuple[tuple[type, Callable[[Any], bytes]], ...]] = (
    (bool, lambda value: b"B1" if value else b"B0"),
    (float, _of_float),
    (Decimal, lambda value: b"m" + str(value).encode()),
)
