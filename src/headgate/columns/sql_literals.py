"""Literals of Flink SQL: which type and which value a text has."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from typing import Final

from headgate.columns import logical_types as types
from headgate.columns.logical_types import LogicalType
from headgate.columns.nodes import Literal, literal
from headgate.errors import InvalidExpressionError

_NUMBER: Final = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_INTEGERS: Final = range(-(2**63), 2**63)


def number(text: str, *, negative: bool = False) -> Literal:
    """Return an INT, or a BIGINT if it is too large; a DECIMAL with a point; a DOUBLE with an exponent.

    >>> [str(number(text).type) for text in ("7", "3000000000", "0.50", "5e-1")]
    ['INT NOT NULL', 'BIGINT NOT NULL', 'DECIMAL(3, 2) NOT NULL', 'DOUBLE NOT NULL']
    """
    if _NUMBER.fullmatch(text) is None:
        raise InvalidExpressionError(f"{text} is no number: write it as 12, 1.5 or 1.5e3")
    if "e" in text.lower():
        double = float(text)
        if math.isinf(double):
            raise InvalidExpressionError(f"{text} is too large for a DOUBLE")
        return literal(-double if negative else double)
    whole, _, fraction = text.partition(".")
    if not fraction:
        value = int(whole) if len(whole) < 40 else _INTEGERS.stop + 1
        if (-value if negative else value) not in _INTEGERS:
            raise InvalidExpressionError(f"{text} is too large for a BIGINT: write {whole}.0 for a DECIMAL")
        return literal(-value if negative else value)
    digits = len(whole) + len(fraction)
    if digits > types.MAX_PRECISION:
        raise InvalidExpressionError(f"{text} has {digits} digits: a DECIMAL has at most {types.MAX_PRECISION}")
    value_of = Decimal(f"{whole or 0}.{fraction}")
    return literal(-value_of if negative else value_of, types.decimal(digits, len(fraction)))


_DATE: Final = r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
_TIME: Final = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?"
_FORMS: Final = {
    "DATE": (re.compile(_DATE, re.ASCII), "2024-02-29"),
    "TIME": (re.compile(_TIME, re.ASCII), "23:59:59.123"),
    "TIMESTAMP": (re.compile(f"{_DATE}(?: {_TIME})?", re.ASCII), "2024-02-29 23:59:59.123"),
}
_EPOCH: Final = datetime.datetime(1970, 1, 1)


def time_literal(kind: str, text: str) -> Literal:
    """Return the literal of DATE, TIME or TIMESTAMP; its precision is the number of digits after the second.

    >>> print(time_literal("TIMESTAMP", "2024-02-29 23:59:59.5").type)
    TIMESTAMP(1) NOT NULL
    """
    form, example = _FORMS[kind]
    found = form.fullmatch(text)
    if found is None:
        raise InvalidExpressionError(f"{text!r} is no {kind}: write it as {kind} '{example}'")
    start = {"year": "1970", "month": "1", "day": "1"}
    parts = start | {name: own for name, own in found.groupdict().items() if own is not None}
    fraction = parts.pop("fraction", None) or ""
    try:
        value = datetime.datetime(**{name: int(own) for name, own in parts.items()})  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidExpressionError(f"{text!r} is no {kind}: {error}") from None
    if kind == "DATE":
        return literal(value.date())
    own = types.time(len(fraction)) if kind == "TIME" else types.timestamp(len(fraction))
    return literal(_in_units((value - _EPOCH) // datetime.timedelta(seconds=1), fraction, own), own)


def _in_units(seconds: int, fraction: str, own: LogicalType) -> int:
    digits: int = -(-own.precision // 3) * 3  # of Arrow's unit
    return seconds * int(10**digits) + int(fraction.ljust(digits, "0") or 0)


_FIELDS: Final = ("DAY", "HOUR", "MINUTE", "SECOND")
_MILLISECONDS: Final = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
_MONTHS: Final = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_LIMITS: Final = {"MONTH": 12, "HOUR": 24, "MINUTE": 60, "SECOND": 60}


def interval(text: str, unit: str) -> Literal:
    """Return an interval in months, or in milliseconds. `unit` is one, such as `DAY`, or a range such as `DAY TO HOUR`.

    >>> print(interval("1 12:30", "DAY TO MINUTE").value, interval("1-6", "YEAR TO MONTH").value)
    1 day, 12:30:00 18
    """
    first, _, last = unit.partition(" TO ")
    fields = _between(first, last or first)
    found = re.fullmatch(f"([-+]?){_pattern(fields)}", text.strip(), re.ASCII)
    if found is None:
        example = ":".join("1" * len(fields)) if fields[0] not in ("DAY", "YEAR") else "1 1:1:1"[: 2 * len(fields) - 1]
        shown = example if fields[0] != "YEAR" else example.replace(" ", "-")
        raise InvalidExpressionError(f"{text!r} is no interval of {unit}: write it as INTERVAL '{shown}' {unit}")
    sign, *values = found.groups()
    for name, own in list(zip(fields, values, strict=True))[1:]:
        if Decimal(own) >= _LIMITS[name]:
            raise InvalidExpressionError(f"{text!r} is no interval of {unit}: {name} is below {_LIMITS[name]}")
    factors = {**_MONTHS, **_MILLISECONDS}
    total = sum(Decimal(own) * factors[name] for name, own in zip(fields, values, strict=True))
    signed = -total if sign == "-" else total
    if first in _MONTHS:
        return literal(int(signed), types.MONTH_INTERVAL)
    if signed == int(signed):
        return literal(int(signed), types.day_interval(3))
    return literal(int(signed * 1000), types.day_interval(6))


def _between(first: str, last: str) -> tuple[str, ...]:
    if first == last:
        return (first,)
    if first == "YEAR":
        return ("YEAR", "MONTH")
    return _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]


def _pattern(fields: tuple[str, ...]) -> str:
    numbers = [r"(\d{1,15}(?:\.\d{1,6})?)" if own == "SECOND" else r"(\d{1,15})" for own in fields]
    separators = ["-" if own == "YEAR" else " +" if own == "DAY" else ":" for own in fields]
    return "".join(f"{own}{separator}" for own, separator in zip(numbers, [*separators[:-1], ""], strict=True))
