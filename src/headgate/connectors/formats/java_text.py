"""Numbers, booleans and times as Java reads them from text, since Flink's formats do; `types.text` writes them."""

from __future__ import annotations

import datetime
import math
import re
from array import array
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from headgate.types.instant import Instant
from headgate.types.typeinfo import TypeInformation, Types

BITS: Final[dict[TypeInformation, int]] = {Types.BYTE(): 8, Types.SHORT(): 16, Types.INT(): 32, Types.LONG(): 64}
"""How many bits an integer of a type has; a `BIG_INT` has any number."""

_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}


def integer_reader(bits: int | None) -> Callable[[str], int]:
    """Return the reader of integers of so many bits, None for any number of them.

    >>> integer_reader(8)(" -7 ")
    -7
    """

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text.strip()):
            raise ValueError(f"{text!r:.100} is not an integer")
        return checked(int(text), bits)

    return read


def checked(value: int, bits: int | None) -> int:
    """Return an integer. Raises ValueError if it needs more bits."""
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit into {bits} bits")
    return value


def read_boolean(text: str) -> bool:
    """Return whether the text is true; anything else than "true", in any case, is false."""
    return text.strip().lower() == "true"


def read_double(text: str) -> float:
    """Return the number of a text.

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


def to_float(value: float) -> float:
    """Return a number with the precision of 32 bits."""
    return array("f", [value])[0]


def read_decimal(text: str) -> Decimal:
    """Return the decimal of a text."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a decimal")
    return Decimal(text)


def read_date(text: str) -> datetime.date:
    """Return the date of a text in the form 2024-02-29."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r:.100} is not a date such as 2024-02-29")
    return datetime.date.fromisoformat(text)


def read_instant(text: str) -> Instant:
    """Return the instant of a time with a zone.

    >>> read_instant("1970-01-01T01:00:00.000000001+01:00")
    Instant<0, 1>
    """
    body, dot, rest = text.partition(".")
    digits = re.match(r"\d*", rest, re.ASCII)
    fraction = digits[0] if digits else ""
    at = datetime.datetime.fromisoformat(body + rest[len(fraction) :])
    if at.tzinfo is None or bool(dot) != (0 < len(fraction) < 10):
        raise ValueError(f"{text!r:.100} is not a time with a zone such as 2024-02-29T12:00:00Z")
    return Instant((at - _EPOCH) // datetime.timedelta(seconds=1), int(fraction.ljust(9, "0")))


def decimal_text(value: Decimal) -> str:
    """Return a decimal as Java writes it.

    >>> decimal_text(Decimal("1.20")), decimal_text(Decimal("1E+3")), decimal_text(Decimal("1E-10"))
    ('1.20', '1000', '1E-10')
    """
    exponent = value.as_tuple().exponent
    return format(value, "f") if isinstance(exponent, int) and exponent > 0 else str(value)
