"""Single values as the text of a field of CSV, and back, in the forms of Flink's CSV format."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from headgate.errors import ProgramError
from headgate.types import text_values
from headgate.types.fold import BITS
from headgate.types.instant import Instant
from headgate.types.sql_types import DECIMAL_DIGITS_MAX
from headgate.types.text import text_of
from headgate.types.typeinfo import BasicTypeInfo, DecimalTypeInfo, TypeInformation, Types

Read = Callable[[str], Any]
"""Makes a value of a field. Raises ValueError for one that does not fit."""
Write = Callable[[Any], str]
"""Makes the text of a value that is not None, without quotes."""

_DATE: Final = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_TIME: Final = r"(\d{1,2}):(\d{1,2}):(\d{1,2})"


def single_value(type_info: TypeInformation, field: str) -> tuple[Read, Write]:
    """Return how values of a type are read and written. Raises ProgramError, naming the field, for any other type."""
    if isinstance(type_info, DecimalTypeInfo):
        return _fixed_reader(type_info), _decimal_text
    found = _SINGLE.get(type_info)
    if found is None:
        raise ProgramError(f"field {field!r} cannot be a {type_info} in CSV; use another type, or map it to text first")
    return found


def is_quoted(type_info: TypeInformation) -> bool:
    """Return whether values of the type may stand in quotes: numbers and booleans do not."""
    return not isinstance(type_info, DecimalTypeInfo) and type_info not in _BARE


def _pattern(pattern: str, form: str) -> Callable[[str], list[int]]:
    match = re.compile(pattern, re.ASCII).fullmatch

    def numbers(text: str) -> list[int]:
        found = match(text)
        if found is None:
            raise ValueError(f"{text!r:.100} is not of the form {form}")
        return [
            int(number.ljust(6, "0")[:6] if place == 6 else number) for place, number in enumerate(found.groups("0"))
        ]

    return numbers


_date: Final = _pattern(_DATE, "2024-02-29")
_time: Final = _pattern(_TIME, "12:00:00")
_timestamp: Final = _pattern(rf"{_DATE} {_TIME}(?:\.(\d{{1,9}}))?", "2024-02-29 12:00:00.5")


def _fixed_reader(type_info: DecimalTypeInfo) -> Read:
    """Return the reader of decimals of a type: digits that its scale does not have are rounded, too large ones None."""
    unit, most = Decimal(1).scaleb(-type_info.scale), Decimal(10) ** (type_info.precision - type_info.scale)
    exact = Context(prec=2 * DECIMAL_DIGITS_MAX, rounding=ROUND_HALF_UP)

    def read(text: str) -> Decimal | None:
        value = text_values.read_decimal(text)
        if value.adjusted() > DECIMAL_DIGITS_MAX:
            return None
        value = value.quantize(unit, context=exact)
        return value if abs(value) < most else None

    return read


def _read_date(text: str) -> datetime.date:
    return datetime.date(*_date(text))


def _read_time(text: str) -> datetime.time:
    hour, minute, second = _time(text)
    return datetime.time(hour, minute, second)


def _read_timestamp(text: str) -> datetime.datetime:
    year, month, day, hour, minute, second, micros = _timestamp(text)
    return datetime.datetime(year, month, day, hour, minute, second, micros)


def _read_instant(text: str) -> Instant:
    return text_values.read_instant(text.replace(" ", "T"))


def _decimal_text(value: Any) -> str:
    return text_values.decimal_text(Decimal(value))


def _at_once(
    convert: Callable[[str], Any], plain: str, bits: int | None = None
) -> Callable[[Sequence[str]], list[Any]]:
    is_plain = re.compile(plain, re.ASCII).fullmatch

    def read(texts: Sequence[str]) -> list[Any]:
        if not is_plain("".join(texts)):
            raise ValueError("there may be a text that Python reads and Java does not, or the other way round")
        values = list(map(convert, texts))
        if bits is not None and values:
            text_values.checked(min(values), bits), text_values.checked(max(values), bits)
        return values

    return read


_INTEGERS: Final[dict[TypeInformation, int | None]] = {BasicTypeInfo(kind): bits for kind, bits in BITS.items()}
_instant_text: Final = text_of(Types.INSTANT())


def _integer_reader(bits: int | None) -> Read:
    return lambda text: text_values.checked(text_values.read_integer(text), bits)


_SINGLE: Final[dict[TypeInformation, tuple[Read, Write]]] = {
    Types.STRING(): (str, str),
    Types.BOOLEAN(): (text_values.read_boolean, text_of(Types.BOOLEAN())),
    **{kind: (_integer_reader(bits), int.__repr__) for kind, bits in _INTEGERS.items()},
    Types.FLOAT(): (lambda text: text_values.to_float(text_values.read_double(text)), text_of(Types.FLOAT())),
    Types.DOUBLE(): (text_values.read_double, text_of(Types.DOUBLE())),
    Types.BIG_DEC(): (text_values.read_decimal, _decimal_text),
    Types.SQL_DATE(): (_read_date, lambda value: value.isoformat()[:10]),
    Types.SQL_TIME(): (_read_time, text_values.whole_seconds),
    Types.SQL_TIMESTAMP(): (_read_timestamp, text_of(Types.SQL_TIMESTAMP())),
    Types.INSTANT(): (_read_instant, lambda value: _instant_text(value).replace("T", " ")),
    Types.PRIMITIVE_ARRAY(Types.BYTE()): (
        lambda text: base64.b64decode(text, validate=True),
        lambda value: base64.b64encode(value).decode(),
    ),
}

_BARE: Final = frozenset([*_INTEGERS, Types.BOOLEAN(), Types.FLOAT(), Types.DOUBLE(), Types.BIG_DEC()])

AT_ONCE: Final[dict[TypeInformation, Callable[[Sequence[str]], list[Any]]]] = {
    Types.STRING(): list,
    **{kind: _at_once(int, "[-+ 0-9]*", bits) for kind, bits in _INTEGERS.items()},
    Types.DOUBLE(): _at_once(float, "[-+ .eE0-9]*"),
}
"""Faster readers of whole columns of ordinary texts. They raise ValueError where fields are to be read one by one."""
