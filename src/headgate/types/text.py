"""Text: the values of a declared type as Java writes them, which is what PyFlink prints.

`(a,1)` is a tuple, `[1, 2]` a list or an array, `{a=1}` a map, `+I[a, 1]` a row, `null` None, `true` a boolean,
`1.0E10` a float, `2020-01-02 12:30:05.25` a timestamp. The formats are those of the `toString` methods of Java's and
Flink's classes; a float has the fewest digits that distinguish it from its neighbours, as since Java 19.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from ctypes import c_float
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

from headgate.types.fold import SequenceTypeInfo, TypeFold, always
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.sql_types import DecimalTypeInfo
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import BasicType, BasicTypeInfo, MapTypeInfo, RowTypeInfo, TupleTypeInfo

ToText = Callable[[Any], str]
"""Returns the text of a value of a type."""

_PLAIN_MIN: Final = 1e-3
_PLAIN_MAX: Final = 1e7


@lru_cache(256)
def text_of(type_info: TypeInformation | None) -> ToText:
    """Return the function that writes values of a type: `str` for a type that Java does not have, and for None.

    >>> from headgate.types.typeinfo import Types
    >>> text_of(Types.TUPLE([Types.DOUBLE(), Types.MAP(Types.STRING(), Types.BOOLEAN())]))((1e10, {"a": True}))
    '(1.0E10,{a=true})'
    """
    if type_info is None:
        return str
    text = _TEXTS.of(type_info)
    return str if text is _unknown else _or_null(text)


@lru_cache(256)
def printed_text_of(type_info: TypeInformation | None) -> ToText:
    """Return the function that writes records for `print()`: a row with the `str` of its values."""
    return _printed_row if isinstance(type_info, RowTypeInfo) else text_of(type_info)


def printed_prefix(identifier: str | None, subtask: int, parallelism: int) -> str:
    """Return Flink's prefix of printed lines: the identifier, and of several subtasks the number of the subtask.

    >>> printed_prefix("orders", 0, 2)
    'orders:1> '
    """
    parts = [part for part in (identifier, str(subtask + 1) if parallelism > 1 else None) if part]
    return ":".join(parts) + "> " if parts else ""


def _printed_row(row: Any) -> str:
    return f"{row.get_row_kind()}[{','.join(map(str, row))}]" if isinstance(row, Row) else str(row)


def _float_text(shortest: Callable[[float], str], number: float) -> str:
    """Return the text of a float; `shortest` returns its digits, as `repr` does."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or _PLAIN_MIN <= abs(number) < _PLAIN_MAX:
        return f"{Decimal(shortest(number)):f}" if "e" in shortest(number) else _with_point(shortest(number))
    sign, digits, exponent = Decimal(shortest(number)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def _with_point(digits: str) -> str:
    return digits if "." in digits else f"{digits}.0"


def _text_of_32_bits(number: float) -> str:
    """Return the text of the nearest float of 32 bits, which is infinite for a number that is too large."""
    return _float_text(_shortest_of_32_bits, c_float(number).value)


def _shortest_of_32_bits(number: float) -> str:
    texts = (f"{number:.{digits}g}" for digits in range(2, 10))
    return next(text for text in texts if c_float(float(text)).value == number)


def _instant(value: Instant) -> str:
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value.seconds)
    fraction = f".{value.nanos:09d}" if value.nanos else ""
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{moment.isoformat()}{fraction}Z"


def _timestamp(value: dt.datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value.date()} {value:%H:%M:%S}.{fraction}"


def _boolean(value: Any) -> str:
    return "true" if value else "false"


def _or_null(text: ToText) -> ToText:
    return lambda value: "null" if value is None else text(value)


def _unknown(value: Any) -> str:
    """Return the text of a value whose type Java does not have."""
    return str(value)


def _listed(element: ToText) -> ToText:
    return lambda values: f"[{', '.join(map(element, _signed(values)))}]"


def _signed(values: Any) -> Any:
    """Return bytes as signed numbers, as Java has them; any other value as it is."""
    return [byte - 256 if byte > 127 else byte for byte in values] if isinstance(values, bytes) else values


class _Texts(TypeFold[ToText]):
    """The texts of values that are not None."""

    string = always(str)
    boolean = always(_boolean)
    integer = always(str)

    def floating(self, type_info: BasicTypeInfo) -> ToText:
        return _text_of_32_bits if type_info.basic_type is BasicType.FLOAT else partial(_float_text, repr)

    def decimal(self, type_info: BasicTypeInfo | DecimalTypeInfo) -> ToText:
        return str if isinstance(type_info, BasicTypeInfo) else _unknown

    instant = always(_instant)
    date = always(str)
    time = always("{:%H:%M:%S}".format)
    timestamp = always(_timestamp)
    interval = always(_unknown)
    null = always(_unknown)
    binary = always(_listed(_or_null(str)))
    pickled = always(_unknown)

    def sequence(self, type_info: SequenceTypeInfo, element: ToText) -> ToText:
        return _listed(_or_null(element))

    def mapping(self, type_info: MapTypeInfo, key: ToText, value: ToText) -> ToText:
        of_key, of_value = _or_null(key), _or_null(value)
        return lambda items: f"{{{', '.join(f'{of_key(k)}={of_value(v)}' for k, v in items.items())}}}"

    def tuple(self, type_info: TupleTypeInfo, fields: Sequence[ToText]) -> ToText:
        texts = list(map(_or_null, fields))
        return lambda values: f"({','.join(text(value) for text, value in zip(texts, values, strict=True))})"

    def row(self, type_info: RowTypeInfo, fields: Sequence[ToText]) -> ToText:
        texts = list(map(_or_null, fields))
        return lambda row: (
            f"{row.get_row_kind()}[{', '.join(text(value) for text, value in zip(texts, row, strict=True))}]"
        )


_TEXTS: Final = _Texts()
