"""Parsed JSON as values of a type, by the rules of Flink's JSON format: lenient, as text and numbers become each other.

A batch is made column by column; a column whose values are of the type already stays as it is.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, final

from headgate.connectors.formats import java_text
from headgate.errors import ProgramError
from headgate.types.instant import Instant
from headgate.types.row import make_row, make_rows
from headgate.types.text import text_of
from headgate.types.typeinfo import (
    BasicArrayTypeInfo,
    DecimalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
)

Read = Callable[[Any], Any]
"""Makes a value of a type of one of JSON. None, JSON's null, is None whatever the type."""
ReadColumn = Callable[[list[Any]], list[Any]]

FAILURES: Final = (ValueError, TypeError, ArithmeticError, KeyError)
"""What is raised for a value that does not fit."""

_TIME: Final = re.compile(r"\d\d:\d\d:\d\dZ", re.ASCII)
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", re.ASCII)
_EXPONENT_MAX: Final = 10_000
_double_text: Final = text_of(Types.DOUBLE())
BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JsonReading:
    """How types are read. `fail_on_missing`: a field that an object lacks is an error, not None.

    `ignore_errors`: a value that does not fit is None.
    """

    fail_on_missing: bool = False
    ignore_errors: bool = False

    def one(self, type_info: TypeInformation) -> Read:
        """Return the reader of single values. Raises ProgramError for a type that Flink's JSON does not have."""
        read = self._reader(type_info)
        if not self.ignore_errors:
            return lambda value: None if value is None else read(value)

        def lenient(value: Any) -> Any:
            try:
                return None if value is None else read(value)
            except FAILURES:
                return None

        return lenient

    def column(self, type_info: TypeInformation) -> ReadColumn:
        """Return the reader of many values at once, which raises anything for one that does not fit."""
        if isinstance(type_info, RowTypeInfo):
            return self._rows(type_info)
        each = self.one(type_info)
        at_once = _AT_ONCE.get(type_info)
        if at_once is None:
            return lambda values: list(map(each, values))
        kinds, fast = at_once

        def read(values: list[Any]) -> list[Any]:
            found = fast(values) if kinds.issuperset(map(type, values)) else None
            return list(map(each, values)) if found is None else found

        return read

    def _reader(self, type_info: TypeInformation) -> Read:
        match type_info:
            case RowTypeInfo():
                return self._row(type_info)
            case PrimitiveArrayTypeInfo() if type_info == BYTES:
                return _bytes
            case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
                return _list(self.column(type_info.element_type))
            case MapTypeInfo():
                return _map(self.one(type_info.key_type_info), self.one(type_info.value_type_info))
            case DecimalTypeInfo():
                return _decimal
        found = _SIMPLE.get(type_info)
        if found is None:
            raise ProgramError(f"a {type_info} has no form in JSON: use rows, arrays, maps, and types of single values")
        return found

    def _row(self, type_info: RowTypeInfo) -> Read:
        names = type_info.field_names
        fields = list(zip(names, map(self.one, type_info.field_types), strict=True))

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise ValueError(f"{value!r:.100} is not a JSON object")
            return make_row([self._field(value, name, field) for name, field in fields], names)

        return read

    def _field(self, value: dict[str, Any], name: str, read: Read) -> Any:
        if self.fail_on_missing and name not in value:
            raise ValueError(f"there is no field {name!r}")
        try:
            return read(value.get(name))
        except FAILURES as error:
            raise ValueError(f"field {name!r}: {error}") from error

    def _rows(self, type_info: RowTypeInfo) -> ReadColumn:
        names = type_info.field_names
        columns = list(zip(names, map(self.column, type_info.field_types), strict=True))
        each = self.one(type_info)

        def read(values: list[Any]) -> list[Any]:
            if not names or set(map(type, values)) != {dict}:
                return list(map(each, values))
            if self.fail_on_missing:
                made = [column([value[name] for value in values]) for name, column in columns]
            else:
                made = [column([value.get(name) for value in values]) for name, column in columns]
            return make_rows(zip(*made, strict=True), names)

        return read


def _list(elements: ReadColumn) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise ValueError(f"{value!r:.100} is not a JSON array")
        return elements(value)

    return read


def _map(key: Read, item: Read) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise ValueError(f"{value!r:.100} is not a JSON object")
        return {key(name): item(each) for name, each in value.items()}

    return read


def as_text(value: Any) -> str:
    """Return a value of JSON as text."""
    match value:
        case str():
            return value
        case bool() | None:
            return json.dumps(value)
        case float():
            return _double_text(value)
        case Decimal():
            return java_text.decimal_text(value)
        case int():
            return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=java_text.decimal_text)


def _scalar(value: Any) -> str:
    """Return what is to be read as a number, a boolean or a time as text; objects and arrays are no text."""
    return "" if isinstance(value, dict | list) else as_text(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is not text in Base64")
    return base64.b64decode(value, validate=True)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else java_text.read_boolean(_scalar(value))


def _integer(bits: int | None, *, cuts: bool) -> Read:
    """Return the reader of integers. `cuts`: the fraction of a number is left out, else it is an error."""
    of_text = java_text.integer_reader(bits)

    def read(value: Any) -> int:
        if type(value) is int or (cuts and isinstance(value, float | Decimal)):
            return java_text.checked(int(value), bits)
        return of_text(_scalar(value))

    return read


def _double(value: Any) -> float:
    return float(value) if type(value) in _NUMBERS else java_text.read_double(_scalar(value))


def _float(value: Any) -> float:
    return java_text.to_float(_double(value))


def _decimal(value: Any) -> Decimal:
    if type(value) not in _NUMBERS:
        return java_text.read_decimal(_scalar(value))
    number = Decimal(str(value))
    if not number.is_finite() or abs(number.adjusted()) > _EXPONENT_MAX:
        raise ValueError(f"{value} is too large, or too small, for a decimal")
    text = format(number, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _time(value: Any) -> datetime.time:
    text = _scalar(value)
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a time such as 12:00:00Z, without a fraction")
    return datetime.time.fromisoformat(text[:-1])


def _timestamp(value: Any) -> datetime.datetime:
    text = _scalar(value)
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a time such as 2024-02-29T12:00:00.5Z")
    return datetime.datetime.fromisoformat(text[:-1])


def _instant(value: Any) -> Instant:
    if type(value) is int:
        return Instant(value, 0)
    return java_text.read_instant(_scalar(value))


def _char(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError(f"{value!r:.100} is not one character")
    return value


def _as_they_are(values: list[Any]) -> list[Any]:
    return values


def _in_range(bits: int) -> Callable[[list[int]], list[int] | None]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return lambda values: values if not values or (min(values) >= low and max(values) <= high) else None


_NUMBERS: Final = frozenset([int, float, Decimal])
_NULL: Final = type(None)

_SIMPLE: Final[dict[TypeInformation, Read]] = {
    Types.STRING(): as_text,
    Types.BOOLEAN(): _boolean,
    Types.BYTE(): _integer(8, cuts=False),
    Types.SHORT(): _integer(16, cuts=False),
    Types.INT(): _integer(32, cuts=True),
    Types.LONG(): _integer(64, cuts=True),
    Types.BIG_INT(): _integer(None, cuts=False),
    Types.FLOAT(): _float,
    Types.DOUBLE(): _double,
    Types.BIG_DEC(): _decimal,
    Types.CHAR(): _char,
    Types.SQL_DATE(): lambda value: java_text.read_date(_scalar(value)),
    Types.SQL_TIME(): _time,
    Types.SQL_TIMESTAMP(): _timestamp,
    Types.INSTANT(): _instant,
    Types.SQL_NULL(): lambda value: None,
}

_AT_ONCE: Final[dict[TypeInformation, tuple[frozenset[type], Callable[[list[Any]], list[Any] | None]]]] = {
    Types.STRING(): (frozenset([str, _NULL]), _as_they_are),
    Types.BOOLEAN(): (frozenset([bool, _NULL]), _as_they_are),
    Types.BIG_INT(): (frozenset([int, _NULL]), _as_they_are),
    Types.DOUBLE(): (frozenset([float, _NULL]), _as_they_are),
    Types.FLOAT(): (frozenset([float]), lambda values: array("f", values).tolist()),
    **{kind: (frozenset([int]), _in_range(bits)) for kind, bits in java_text.BITS.items()},
}
"""Of which Python types the JSON of a column may be to be read at once, and how; None: it has to be read one by one."""
