"""Values of single types from text: as Java reads numbers, and ISO 8601 for dates, times and lengths of time.

The functions raise a ValueError that shows the text. `types.text` writes values of a type as Java does. `plain_text`
writes values whose type is not known, in a form that the functions here can read.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final

from headgate.types.instant import Instant, instant_of
from headgate.types.sql_types import DECIMAL_DIGITS_MAX, DecimalTypeInfo
from headgate.types.text import text_of
from headgate.types.typeinfo import BasicTypeInfo, Types

IN_INTEGERS: Final = re.compile("[-+ 0-9]*", re.ASCII)
IN_NUMBERS: Final = re.compile("[-+ .eE0-9]*", re.ASCII)
"""The characters of ordinary numbers."""
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_BELOW_MICROSECONDS: Final = re.compile(r"[.,]\d{6}\d*[1-9]", re.ASCII)
_INTERVAL: Final = re.compile(
    r"(-?)P(?!$)(?:(\d+)D)?(?:T(?!$)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6})0*)?S)?)?", re.ASCII
)
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
_MICROSECONDS_LENGTH: Final = len("2024-02-29T12:00:00.123456")
_EXACT: Final = Context(prec=2 * DECIMAL_DIGITS_MAX, traps=[Inexact, InvalidOperation])
_instant_text: Final = text_of(Types.INSTANT())

# --- numbers and booleans


def read_integer(text: str) -> int:
    """Return the integer of a text.

    >>> read_integer(" -7 ")
    -7
    """
    if not _INTEGER.fullmatch(text.strip()):
        raise ValueError(f"{text!r:.100} is not an integer")
    return int(text)


def checked(value: int, bits: int | None) -> int:
    """Return the integer. Raises ValueError if it needs more than `bits`; None allows any number of bits."""
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit into {bits} bits")
    return value


def ordinary(convert: Callable[[str], Any], characters: re.Pattern[str], texts: Sequence[str]) -> list[Any]:
    """Return texts as numbers. Raises ValueError where there may be a text that only one of Python and Java reads."""
    if not characters.fullmatch("".join(texts)):
        raise ValueError("there are other characters")
    return list(map(convert, texts))


def read_decimals(texts: Sequence[str]) -> list[Decimal]:
    """Return `read_decimal` of each text, faster for many; may raise ValueError where `read_decimal` would not."""
    return ordinary(Decimal, IN_NUMBERS, texts)


def read_boolean(text: str) -> bool:
    """Return whether the text is true; anything else than "true", in any case, is false."""
    return text.strip().lower() == "true"


def boolean_text(value: object) -> str:
    """Return "true" or "false". Raises TypeError for a value that is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError("it is neither True nor False")
    return "true" if value else "false"


def read_double(text: str) -> float:
    """Return the number of a text; a number that is too large is infinite.

    >>> read_double("1e3"), read_double("-Infinity"), read_double("1.5d")
    (1000.0, -inf, 1.5)
    """
    text = text.strip()
    if text in _SPECIAL:
        return _SPECIAL[text]
    number = text[:-1] if text[-1:] in tuple("dDfF") else text
    if not _NUMBER.fullmatch(number):
        raise ValueError(f"{text!r:.100} is not a number")
    return float(number)


def read_decimal(text: str) -> Decimal:
    """Return the decimal of a text."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a decimal")
    return Decimal(text)


def exact_decimal(type_info: BasicTypeInfo | DecimalTypeInfo) -> Callable[[Decimal], Decimal]:
    """Return a function that gives a decimal the scale of its type. It raises ValueError where digits would be lost."""
    if isinstance(type_info, BasicTypeInfo):
        return lambda value: value
    unit, most = Decimal(1).scaleb(-type_info.scale), Decimal(10) ** (type_info.precision - type_info.scale)

    def exact(value: Decimal) -> Decimal:
        try:
            fitted = value.quantize(unit, context=_EXACT)
        except ArithmeticError:
            fitted = most
        if abs(fitted) >= most:
            raise ValueError(f"{value!s:.100} has more digits than a {type_info}")
        return fitted

    return exact


# --- text and bytes


def read_char(value: Any) -> str:
    """Return a text of one character."""
    if not isinstance(value, str) or len(value) != 1:
        raise ValueError(f"{value!r:.100} is not one character")
    return value


def read_bytes(value: Any) -> bytes:
    """Return the bytes of a text in Base64."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is not text in Base64")
    return base64.b64decode(value, validate=True)


def bytes_text(value: bytes | bytearray) -> str:
    """Return bytes in Base64."""
    return base64.b64encode(value).decode()


# --- dates and times


def date_text(value: dt.date) -> str:
    """Return a date, or the date of a time, in the form 2024-02-29."""
    return value.isoformat()[:10]


def read_date(text: str) -> dt.date:
    """Return the date of a text in the form 2024-02-29."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a date such as 2024-02-29")
    return dt.date.fromisoformat(text)


def read_time(text: str) -> dt.time:
    """Return the time of day of a text in ISO 8601. Raises ValueError for other text, and for a time with a zone."""
    value = dt.time.fromisoformat(text)
    _check_zoneless(value, text)
    return value


def read_timestamp(text: str) -> dt.datetime:
    """Return the time of a text in ISO 8601. Raises ValueError for other text, and for a time with a zone.

    >>> read_timestamp("2024-02-29T12:00:00.5")
    datetime.datetime(2024, 2, 29, 12, 0, 0, 500000)
    """
    value = dt.datetime.fromisoformat(text)
    _check_zoneless(value, text)
    return value


def read_timestamps(texts: Sequence[str]) -> list[dt.datetime]:
    """Return `read_timestamp` of each text, faster for many; may raise ValueError where `read_timestamp` would not."""
    values = list(map(dt.datetime.fromisoformat, texts))
    if [value for value in values if value.tzinfo is not None]:
        raise ValueError("there is a time with a zone")
    # A time without a zone has at most two dashes: where all have both, a longer text has more than microseconds.
    if "".join(texts).count("-") != 2 * len(texts) or max(map(len, texts), default=0) > _MICROSECONDS_LENGTH:
        raise ValueError("there may be a time with more than microseconds")
    return values


def _check_zoneless(value: dt.time | dt.datetime, text: str) -> None:
    if value.tzinfo is not None:
        raise ValueError(f"{text!r:.100} has a zone, which this type does not have; use INSTANT, or leave out the zone")
    if _BELOW_MICROSECONDS.search(text):
        raise ValueError(f"{text!r:.100} has more digits than microseconds; use INSTANT, or leave them out")


def read_instant(text: str) -> Instant:
    """Return the instant of a time with a zone.

    >>> read_instant("1970-01-01T01:00:00.000000001+01:00")
    Instant<0, 1>
    """
    body, dot, rest = text.partition(".")
    digits = re.match(r"\d*", rest, re.ASCII)
    fraction = digits[0] if digits else ""
    at = dt.datetime.fromisoformat(body + rest[len(fraction) :])
    if at.tzinfo is None or bool(dot) != (0 < len(fraction) < 10):
        raise ValueError(f"{text!r:.100} is not a time with a zone such as 2024-02-29T12:00:00Z")
    return Instant(instant_of(at).seconds, int(fraction.ljust(9, "0")))


def read_interval(text: str) -> dt.timedelta:
    """Return the length of time of a text in ISO 8601, of days, hours, minutes and seconds.

    >>> read_interval("-P1DT0.5S")
    datetime.timedelta(days=-2, seconds=86399, microseconds=500000)
    """
    found = _INTERVAL.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.100} is not a length of time such as P1DT12H30M5.25S")
    sign, days, hours, minutes, seconds, fraction = found.groups("0")
    micros = int(fraction.ljust(6, "0"))
    length = dt.timedelta(int(days), int(seconds), micros, minutes=int(minutes), hours=int(hours))
    return -length if sign == "-" else length


def interval_text(value: dt.timedelta) -> str:
    """Return a length of time in ISO 8601.

    >>> interval_text(dt.timedelta(hours=36, microseconds=500)), interval_text(dt.timedelta(days=-1))
    ('P1DT12H0.0005S', '-P1D')
    """
    length = abs(value)
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f"{length.microseconds:06d}".rstrip("0")
    parts = [(hours, f"{hours}H"), (minutes, f"{minutes}M"), (seconds or fraction, f"{seconds}.{fraction}S")]
    clock = "".join(text.replace(".S", "S") for is_there, text in parts if is_there)
    days = f"{length.days}D" if length.days else ""
    return f"{'-' if value < dt.timedelta() else ''}P{days}{f'T{clock}' if clock else ''}" if value else "PT0S"


def zoneless(value: Any) -> Any:
    """Return the time. Raises ValueError if it has a zone."""
    if value.tzinfo is not None:
        raise ValueError("it has a zone, which this type does not have; use INSTANT, or leave out the zone")
    return value


def whole_seconds(value: dt.time) -> str:
    """Return the text of a time of day. Raises ValueError for a time with a fraction of a second, or a zone."""
    if value.microsecond:
        raise ValueError("it has a fraction of a second, which a time of day does not have here; use SQL_TIMESTAMP")
    return f"{zoneless(value):%H:%M:%S}"


# --- values whose type is not known


def plain_text(value: object) -> str:
    """Return the text of a value by its class. Raises TypeError for a class without one.

    >>> plain_text(dt.date(2024, 2, 29)), plain_text(Decimal("1.10")), plain_text(Instant(0, 0)), plain_text(b"abc")
    ('2024-02-29', '1.10', '1970-01-01T00:00:00Z', 'YWJj')
    """
    match value:
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case Decimal():
            return decimal_text(value)
        case Instant():
            return _instant_text(value)
        case dt.timedelta():
            return interval_text(value)
        case bytes() | bytearray():
            return bytes_text(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON or CSV")


def decimal_text(value: Decimal) -> str:
    """Return a decimal as Java writes it. Raises ValueError for a decimal that is not a number.

    >>> decimal_text(Decimal("1.20")), decimal_text(Decimal("1E+3")), decimal_text(Decimal("1E-10"))
    ('1.20', '1000', '1E-10')
    """
    if not value.is_finite():
        raise ValueError(f"{value} is not a number")
    text = str(value)
    return format(value, "f") if "E+" in text else text
