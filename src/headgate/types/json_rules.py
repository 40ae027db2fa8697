"""How single values in JSON are read: the rules of Flink's messages, and the rules of files.

In messages, numbers may be text, and text may be numbers. In files, values must have the kind of JSON that their type
asks for, dates and times are ISO 8601 text, and a value that would be changed is refused.

===================  ==========================================  =====================================================
type                 `FLINK`                                     `FILES`
===================  ==========================================  =====================================================
STRING               any JSON                                    text
BOOLEAN              anything; all but "true" is false           `true`, `false`
integers             numbers and text; INT and LONG cut          whole numbers
                     fractions
FLOAT, DOUBLE        numbers and text; too large is infinite     numbers that are not too large
decimals             numbers and text                            text and whole numbers
SQL_DATE             2024-02-29                                  ISO 8601
SQL_TIME             12:00:00Z                                   ISO 8601 without a zone
SQL_TIMESTAMP        2024-02-29T12:00:00.5Z                      ISO 8601 without a zone
INSTANT              ISO 8601 with a zone, and seconds           ISO 8601 with a zone
===================  ==========================================  =====================================================
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, final

from headgate.types import text_values
from headgate.types.instant import Instant
from headgate.types.text import text_of
from headgate.types.typeinfo import Types

Read = Callable[[Any], Any]
"""Returns the value for a JSON value that is not null. Raises ValueError or the like for an unfit one."""

_TIME: Final = re.compile(r"\d\d:\d\d:\d\dZ", re.ASCII)
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", re.ASCII)
_EXPONENT_MAX: Final = 10_000
_NUMBERS: Final = frozenset([int, float, Decimal])
_double_text: Final = text_of(Types.DOUBLE())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRules:
    """How single values are read. `decimals`, `dates` and `timestamps` read many texts at once, if they can.

    `has_infinity`: numbers that are too large are infinite. `has_anything`: PICKLED_BYTE_ARRAY is any JSON.
    `has_typed_keys`: maps may have keys of other types than text.
    """

    string: Read
    boolean: Read
    integer: Read
    int_or_long: Read
    number: Read
    decimal: Read
    instant: Read
    date: Read
    time: Read
    timestamp: Read
    null: Read
    decimals: Callable[[list[str]], list[Decimal]] | None = None
    dates: Callable[[list[str]], list[dt.date]] | None = None
    timestamps: Callable[[list[str]], list[dt.datetime]] | None = None
    has_infinity: bool
    has_anything: bool
    has_typed_keys: bool


# --- messages


def _as_text(value: Any) -> str:
    """Return a value of JSON as text."""
    match value:
        case str():
            return value
        case bool() | None:
            return json.dumps(value)
        case float():
            return _double_text(value)
        case Decimal():
            return text_values.decimal_text(value)
        case int():
            return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=text_values.decimal_text)


def _scalar(value: Any) -> str:
    """Return the text to read a number, a boolean or a time from; "" for objects and arrays."""
    return "" if isinstance(value, dict | list) else _as_text(value)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else text_values.read_boolean(_scalar(value))


def _integer(value: Any) -> int:
    return value if type(value) is int else text_values.read_integer(_scalar(value))


def _cut_integer(value: Any) -> int:
    return int(value) if isinstance(value, float | Decimal) else _integer(value)


def _number(value: Any) -> float:
    return float(value) if type(value) in _NUMBERS else text_values.read_double(_scalar(value))


def _decimal(value: Any) -> Decimal:
    if type(value) not in _NUMBERS:
        return text_values.read_decimal(_scalar(value))
    number = Decimal(str(value))
    if not number.is_finite() or abs(number.adjusted()) > _EXPONENT_MAX:
        raise ValueError(f"{value} is too large, or too small, for a decimal")
    text = format(number, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _time(value: Any) -> dt.time:
    text = _scalar(value)
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a time such as 12:00:00Z, without a fraction")
    return dt.time.fromisoformat(text[:-1])


def _timestamp(value: Any) -> dt.datetime:
    text = _scalar(value)
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a time such as 2024-02-29T12:00:00.5Z")
    return dt.datetime.fromisoformat(text[:-1])


def _instant(value: Any) -> Instant:
    return Instant(value, 0) if type(value) is int else text_values.read_instant(_scalar(value))


FLINK: Final = JsonRules(
    string=_as_text,
    boolean=_boolean,
    integer=_integer,
    int_or_long=_cut_integer,
    number=_number,
    decimal=_decimal,
    instant=_instant,
    date=lambda value: text_values.read_date(_scalar(value)),
    time=_time,
    timestamp=_timestamp,
    null=lambda value: None,
    has_infinity=True,
    has_anything=False,
    has_typed_keys=True,
)

# --- files


def _only(what: str, kinds: tuple[type, ...], make: Read = lambda value: value) -> Read:
    """Return a reader that accepts only these Python types of parsed JSON."""

    def read(value: Any) -> Any:
        if type(value) not in kinds:
            raise ValueError(f"{value!r:.100} is not {what}")
        return make(value)

    return read


def _exact_decimal(value: str | int) -> Decimal:
    return text_values.read_decimal(value) if isinstance(value, str) else Decimal(value)


_whole: Final = _only("a whole number", (int,))

FILES: Final = JsonRules(
    string=_only("text", (str,)),
    boolean=_only("true or false", (bool,)),
    integer=_whole,
    int_or_long=_whole,
    number=_only("a number", (int, float), float),
    decimal=_only("a decimal, which is text or a whole number", (str, int), _exact_decimal),
    instant=_only("text", (str,), text_values.read_instant),
    date=_only("text", (str,), dt.date.fromisoformat),
    time=_only("text", (str,), text_values.read_time),
    timestamp=_only("text", (str,), text_values.read_timestamp),
    null=_only("null", ()),
    decimals=text_values.read_decimals,
    dates=lambda texts: list(map(dt.date.fromisoformat, texts)),
    timestamps=text_values.read_timestamps,
    has_infinity=False,
    has_anything=True,
    has_typed_keys=False,
)
