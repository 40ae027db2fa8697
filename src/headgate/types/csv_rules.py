"""How single values in CSV are read: the rules of Flink's CSV format, and the rules of files with `CsvOptions`.

In files, dates and times are ISO 8601 text, and a value that would be changed is refused.

===================  ==========================================  =====================================================
type                 `FLINK`                                     `FILES`
===================  ==========================================  =====================================================
BOOLEAN              all but "true" is false                     "true" or "false"
FLOAT, DOUBLE        as in Java; too large is infinite           as in Python; too large is refused
SQL_DECIMAL          rounded; None if it is too large            refused if it has more digits
SQL_DATE             2024-2-29                                   ISO 8601
SQL_TIME             12:00:00                                    ISO 8601 without a zone
SQL_TIMESTAMP        2024-02-29 12:00:00.5                       ISO 8601 without a zone
INSTANT              2024-02-29 12:00:00Z                        ISO 8601 with a zone
===================  ==========================================  =====================================================
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final, final

from headgate.types import text_values
from headgate.types.instant import Instant
from headgate.types.sql_types import DECIMAL_DIGITS_MAX, DecimalTypeInfo
from headgate.types.typeinfo import BasicTypeInfo

Read = Callable[[str], Any]
"""Returns the value of a field. Raises ValueError or ArithmeticError for a field that does not fit."""
ReadColumn = Callable[[Sequence[str]], Sequence[Any]]
"""Returns the values of many fields. Raises the errors of `Read` where the fields must be read one by one."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRules:
    """How single values are read; `dates` and `timestamps` read many at once.

    `has_infinity`: numbers that are too large are infinite. `has_nested`: a field may hold an array or a row.
    """

    boolean: Read
    number: Read
    decimal: Callable[[BasicTypeInfo | DecimalTypeInfo], Read]
    date: Read
    time: Read
    timestamp: Read
    instant: Read
    dates: ReadColumn | None = None
    timestamps: ReadColumn | None = None
    has_infinity: bool
    has_nested: bool


# --- Flink's CSV format

_DATE: Final = r"(\d{4})-(\d{1,2})-(\d{1,2})"
_TIME: Final = r"(\d{1,2}):(\d{1,2}):(\d{1,2})"
_ROUNDING: Final = Context(prec=2 * DECIMAL_DIGITS_MAX, rounding=ROUND_HALF_UP)


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


def _rounded_decimal(type_info: BasicTypeInfo | DecimalTypeInfo) -> Read:
    if isinstance(type_info, BasicTypeInfo):
        return text_values.read_decimal
    unit, most = Decimal(1).scaleb(-type_info.scale), Decimal(10) ** (type_info.precision - type_info.scale)

    def read(text: str) -> Decimal | None:
        value = text_values.read_decimal(text)
        if value.adjusted() > DECIMAL_DIGITS_MAX:
            return None
        value = value.quantize(unit, context=_ROUNDING)
        return value if abs(value) < most else None

    return read


def _read_date(text: str) -> dt.date:
    return dt.date(*_date(text))


def _read_time(text: str) -> dt.time:
    hour, minute, second = _time(text)
    return dt.time(hour, minute, second)


def _read_timestamp(text: str) -> dt.datetime:
    year, month, day, hour, minute, second, micros = _timestamp(text)
    return dt.datetime(year, month, day, hour, minute, second, micros)


def _read_instant(text: str) -> Instant:
    return text_values.read_instant(text.replace(" ", "T"))


FLINK: Final = CsvRules(
    boolean=text_values.read_boolean,
    number=text_values.read_double,
    decimal=_rounded_decimal,
    date=_read_date,
    time=_read_time,
    timestamp=_read_timestamp,
    instant=_read_instant,
    has_infinity=True,
    has_nested=True,
)

# --- files

_BOOLEANS: Final = {"true": True, "false": False}
_NO_NUMBERS: Final = frozenset(["nan", "inf", "infinity"])


def _true_or_false(text: str) -> bool:
    found = _BOOLEANS.get(text.lower())
    if found is None:
        raise ValueError(f"{text!r:.100} is neither true nor false")
    return found


def _number(text: str) -> float:
    if text.strip().lower().lstrip("+-") in _NO_NUMBERS:
        return float(text)
    value = text_values.read_double(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r:.100} is out of range")
    return value


def _exact_decimal(type_info: BasicTypeInfo | DecimalTypeInfo) -> Read:
    exact = text_values.exact_decimal(type_info)
    return lambda text: exact(text_values.read_decimal(text))


FILES: Final = CsvRules(
    boolean=_true_or_false,
    number=_number,
    decimal=_exact_decimal,
    date=dt.date.fromisoformat,
    time=text_values.read_time,
    timestamp=text_values.read_timestamp,
    instant=text_values.read_instant,
    dates=lambda texts: list(map(dt.date.fromisoformat, texts)),
    timestamps=text_values.read_timestamps,
    has_infinity=False,
    has_nested=False,
)
