"""Keys: canonical bytes and a stable 32-bit hash code.

Values that are equal in Python have the same canonical bytes; values that differ have different bytes. Bytes and hash
code are the same in every process and release, whatever `PYTHONHASHSEED` is. `typed_key` decides which keys are the
same key: it distinguishes some equal values, such as 1 and True.

==============================  ==================================================================================
None                            nothing; equal to itself only
bool, int, other integral       the integer: True is 1
a scalar of NumPy's             the value of its `item()`
float, Decimal                  the integer if integral (-0.0 is 0), else the exact value; NaN only as a float, alone
str, bytes                      the text in UTF-8, the bytes
tuple, list                     its items, each by this rule
set, frozenset                  its items, sorted by their bytes
dict                            its keys and values, sorted by the bytes of the keys
Row                             its kind, field names and values; never equal to a tuple
dataclass                       its class, and the fields that are compared
date, time, datetime            the calendar values; an aware time or datetime is its value in UTC
timedelta, Instant              the length in microseconds; the nanoseconds since 1970 UTC
UUID                            its 16 bytes
Enum                            class and member name; an IntEnum or StrEnum member is its value
==============================  ==================================================================================

A subclass counts as its base unless it defines `__eq__`. Every other type is refused: its equality is not known to be
stable, so the user keys on a tuple of its fields, or makes it a dataclass.

Two aware datetimes in a repeated hour that Python never calls equal (PEP 495) count as equal when they are the same
instant.

The hash code of an integer within 32 bits is the integer, as Java's `Integer.hashCode`; of every other key it is the
CRC-32 of the canonical bytes, read as a signed number.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import numbers
import struct
import zlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from headgate.errors import SerializationError
from headgate.types.instant import Instant
from headgate.types.row import KeywordNames, Row

_DECIMAL_DIGITS_MAX: Final = 10_000
_LENGTH: Final = struct.Struct(">I").pack
_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_UTC: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_INT32_MIN: Final = -(2**31)
_INT32_MAX: Final = 2**31 - 1
_NAN: Final = b"fNaN"


def hash_code(key: Any) -> int:
    """Return the key's stable hash code, a signed 32-bit number. Raises SerializationError for a key with none.

    >>> hash_code(42), hash_code(42.0), hash_code(True), hash_code("hello")
    (42, 42, 1, -867791017)
    """
    kind = type(key)
    if kind is not int:
        if kind in _EXACT:
            return _crc32(_EXACT[kind](key))
        key = _python_value(key)
        number = _integer(key)
        if number is None:
            return _crc32(_NAN if type(key) is float and key != key else canonical_bytes(key))
        key = number
    if _INT32_MIN <= key <= _INT32_MAX:
        return int(key)
    return _crc32(_integer_bytes(key))


def canonical_bytes(key: Any) -> bytes:
    """Return the canonical bytes of the key. Raises SerializationError for a key that has none.

    >>> canonical_bytes("a"), canonical_bytes(1.0) == canonical_bytes(1)
    (b'sa', True)
    """
    return _bytes(key)


def _crc32(data: bytes) -> int:
    code = zlib.crc32(data)
    return code - 2**32 if code > _INT32_MAX else code


def _integer(key: Any) -> int | None:
    if isinstance(key, float):
        return int(key) if _inherits(key, float) and key.is_integer() else None
    if isinstance(key, Decimal):
        return _integral_decimal(key) if _inherits(key, Decimal) else None
    if isinstance(key, int):
        return int(key) if _inherits(key, int) else None
    return int(key) if isinstance(key, numbers.Integral) else None


def _python_value(key: Any) -> Any:
    """Return a NumPy scalar as a Python value, and any other value as it is."""
    return key.item() if type(key).__module__ == "numpy" and getattr(key, "ndim", 1) == 0 else key


def _inherits(key: Any, base: type) -> bool:
    """Return whether the key has the `__eq__` of the base type."""
    return type(key).__eq__ is base.__eq__


def _integral_decimal(key: Decimal) -> int | None:
    if not key.is_finite():
        return None
    if key.adjusted() > _DECIMAL_DIGITS_MAX:
        raise SerializationError(f"the key is a Decimal of more than {_DECIMAL_DIGITS_MAX} digits; key on its text")
    return int(key) if key == key.to_integral_value() else None


def _bytes(key: Any) -> bytes:
    kind = type(key)
    if kind is int:
        return _integer_bytes(key)
    exact = _EXACT.get(kind)
    if exact is not None:
        return exact(key)
    key = _python_value(key)
    number = _integer(key)
    if number is not None:
        return _integer_bytes(number)
    for base, encode in _ENCODERS:
        if isinstance(key, base) and _inherits(key, base):
            return encode(key)
    if dataclasses.is_dataclass(key):
        return _dataclass_bytes(key)
    raise _refusal(key)


def _integer_bytes(number: int) -> bytes:
    return b"i" + number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _float_bytes(number: float) -> bytes:
    if number != number:
        raise SerializationError("the key has NaN in it, which is not equal to itself; replace it before key_by")
    return b"f" + struct.pack(">d", number)


def _decimal_bytes(number: Decimal) -> bytes:
    if number.is_nan():
        return _float_bytes(float("nan"))
    as_float = float(number)
    if Decimal(as_float) == number:
        return _float_bytes(as_float)
    # Not Decimal.normalize(): it rounds to the precision of the thread's context.
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    return f"d{'-' if sign else ''}{kept.lstrip('0')}e{int(exponent) + len(text) - len(kept)}".encode()


def _str_bytes(text: str) -> bytes:
    return b"s" + text.encode("utf-8", "surrogatepass")


def _bytes_bytes(data: bytes) -> bytes:
    return b"b" + data


def _tuple_bytes(items: tuple[Any, ...]) -> bytes:
    return b"t" + _sequence_bytes(items)


def _sequence_bytes(items: Iterable[object]) -> bytes:
    return _sequence_of_bytes(map(_bytes, items))


def _sequence_of_bytes(items: Iterable[bytes]) -> bytes:
    return b"".join([part for item in items for part in (_LENGTH(len(item)), item)])


def _list_bytes(items: list[Any]) -> bytes:
    return b"L" + _sequence_bytes(items)


def _set_bytes(items: Iterable[Any]) -> bytes:
    return b"S" + _sequence_of_bytes(sorted(map(_bytes, items)))


def _dict_bytes(items: dict[Any, Any]) -> bytes:
    pairs = sorted((_bytes(key), _bytes(value)) for key, value in items.items())
    return b"M" + _sequence_of_bytes(part for pair in pairs for part in pair)


def _dataclass_bytes(value: Any) -> bytes:
    kind = type(value)
    fields = [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
    return b"K" + _sequence_bytes([f"{kind.__module__}.{kind.__qualname__}", *fields])


def _row_bytes(row: Row) -> bytes:
    names, values = row.by_name() if isinstance(row._fields, KeywordNames) else (row._fields, tuple(row._values))
    return b"r" + _sequence_bytes((row._row_kind.name, names, values))


def _datetime_bytes(moment: dt.datetime) -> bytes:
    if moment.utcoffset() is None:
        return b"l" + _integer_bytes((moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND)
    return b"u" + _integer_bytes((moment - _EPOCH_UTC) // _MICROSECOND)


def _date_bytes(day: dt.date) -> bytes:
    return b"D" + _integer_bytes(day.toordinal())


def _time_bytes(clock: dt.time) -> bytes:
    micros = ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000_000 + clock.microsecond
    offset = clock.utcoffset()
    if offset is None:
        return b"c" + _integer_bytes(micros)
    return b"C" + _integer_bytes(micros - offset // _MICROSECOND)


def _instant_bytes(instant: Instant) -> bytes:
    return b"I" + _integer_bytes(instant.seconds * 1_000_000_000 + instant.nanos)


def _length_bytes(length: dt.timedelta) -> bytes:
    return b"T" + _integer_bytes(length // _MICROSECOND)


def _uuid_bytes(identifier: UUID) -> bytes:
    return b"U" + identifier.bytes


def _enum_bytes(member: Enum) -> bytes:
    kind = type(member)
    return b"E" + f"{kind.__module__}.{kind.__qualname__}:{member.name or member.value}".encode()


# The order matters: an Enum member that is a str counts as its text, and isinstance takes a datetime for a date.
_ENCODERS: Final[tuple[tuple[type, Callable[[Any], bytes]], ...]] = (
    (str, _str_bytes),
    (bytes, _bytes_bytes),
    (tuple, _tuple_bytes),
    (float, _float_bytes),
    (Decimal, _decimal_bytes),
    (dt.datetime, _datetime_bytes),
    (dt.date, _date_bytes),
    (dt.time, _time_bytes),
    (Instant, _instant_bytes),
    (dt.timedelta, _length_bytes),
    (UUID, _uuid_bytes),
    (Row, _row_bytes),
    (Enum, _enum_bytes),
    (list, _list_bytes),
    (dict, _dict_bytes),
    (set, _set_bytes),
    (frozenset, _set_bytes),
)

# The fast path for the usual types, which are never numbers.
_EXACT: Final[dict[type, Callable[[Any], bytes]]] = {
    str: _str_bytes,
    bytes: _bytes_bytes,
    tuple: _tuple_bytes,
    type(None): lambda _: b"n",
}


def _refusal(key: Any) -> SerializationError:
    kind = type(key)
    if isinstance(key, bytearray):
        advice = "key on bytes(the bytearray)"
    else:
        advice = "make it a dataclass, key on a tuple of its fields, or convert it to a plain Python value"
    return SerializationError(
        f"a {kind.__module__}.{kind.__qualname__} cannot be a key, as it has no stable canonical form; {advice}"
    )
