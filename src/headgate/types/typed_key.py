"""Typed keys: keys that are not what Python's own equality and hash make of them.

Wherever keys are looked up (the route of a record, the cells of a backend, the rows of RocksDB), a key is either the
user's value as it is, or a `TypedKey` around it, found by its identity, which is bytes. `typed` decides, by the type:

==============================================  ========================================================================
int, str, bytes, dates, times, UUID, Enum, ...  as they are
tuple of these, and of single values            as it is: (1, "a") and (True, "a") are one key, as in Python
None, bool, float, Decimal                      typed: 1, True, 1.0 and Decimal("1.0"), Decimal("1.00") are five keys
list, dict, set, frozenset, dataclass, Row      typed: their equality is that of their canonical bytes
tuple with one of these, or a tuple, inside     typed, as well
==============================================  ========================================================================

The hash code, and so the key group, does not tell types apart: 1, True and 1.0 share theirs, as they always did.
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
    """What no key of a user's has in it."""

    __slots__ = ()


_MARK: Final = _Mark()
_KNOWN_MAX: Final = 1 << 16


@final
class TypedKey(tuple[_Mark, bytes]):
    """A key, found by its identity. It keeps a copy of what could be changed.

    A tuple, as those are hashed and compared without any Python code: that is done several times for each record.
    """

    _value: Any

    @staticmethod
    def of(value: Any) -> TypedKey:
        """Return the key that stands for a value. Raises SerializationError for what cannot be a key."""
        made = tuple.__new__(TypedKey, (_MARK, _identity(value)))
        made._value = _kept(value)
        return made

    @property
    def identity(self) -> bytes:
        """The bytes that stand for this key and no other."""
        return self[1]

    @property
    def value(self) -> Any:
        """The user's key: each time another copy, if it could be changed."""
        return _kept(self._value)

    def __reduce__(self) -> tuple[Callable[[Any], TypedKey], tuple[Any]]:
        return TypedKey.of, (self._value,)

    def __repr__(self) -> str:
        return repr(self._value)


_known_floats: Final[dict[float, TypedKey]] = {}
"""Those used lately, except 0.0 and -0.0, which Python calls equal, and NaN, which it calls unequal."""


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
    """Return the key as it is looked up: itself, or a `TypedKey`. Raises SerializationError for what cannot be one.

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
    """Return keys as they are looked up: the same list, if all are as they are. Raises SerializationError."""
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
    """Return the hash code of a key, typed or not: that of the user's value."""
    return hash_code(key._value if type(key) is TypedKey else key)


def key_bytes(key: Any) -> bytes:
    """Return the bytes that stand for a key and no other. Raises SerializationError for what cannot be a key."""
    return key.identity if type(key) is TypedKey else canonical_bytes(key)


def _is_compound(value: Any) -> bool:
    return isinstance(value, _COMPOUND) or is_dataclass(value)


def _kept(value: Any) -> Any:
    """Return a value that no change of this one changes."""
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
