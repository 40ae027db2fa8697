"""The text of a record as Java writes it, which is what Flink's files of text lines hold."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from types import NoneType
from typing import Any, Final

from headgate.types.instant import Instant
from headgate.types.row import Row, RowKind

ROW_KINDS: Final = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}
_EPOCH: Final = datetime.datetime(1970, 1, 1)


def java_text(value: Any) -> str:
    """Return the text of a value: of what Java has no class of its own for, what `str` returns.

    >>> java_text((1, True, None, [0.5, 1e7]))
    '(1,true,null,[0.5, 1.0E7])'
    """
    text = _TEXTS.get(type(value))
    if text is not None:
        return text(value)
    return _row(value) if isinstance(value, Row) else str(value)


def _row(row: Row) -> str:
    return f"{ROW_KINDS[row.get_row_kind()]}[{', '.join(map(java_text, row._values))}]"


def _tuple(values: tuple[Any, ...]) -> str:
    return f"({','.join(map(java_text, values))})"


def _list(values: list[Any]) -> str:
    return f"[{', '.join(map(java_text, values))}]"


def _map(values: dict[Any, Any]) -> str:
    return f"{{{', '.join(f'{java_text(key)}={java_text(value)}' for key, value in values.items())}}}"


def _double(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    decimal = Decimal(repr(value)).normalize()
    sign, digits, _ = decimal.as_tuple()
    first, *others = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(others) or '0'}E{decimal.adjusted()}"


def _timestamp(value: datetime.datetime) -> str:
    fraction = f"{value.microsecond:06}".rstrip("0") or "0"
    return f"{value.isoformat(' ', 'seconds')}.{fraction}" if value.tzinfo is None else str(value)


def _instant(value: Instant) -> str:
    try:
        at = _EPOCH + datetime.timedelta(seconds=value.seconds)
    except OverflowError:
        return str(value)  # a year that Python does not have
    fraction = f"{value.nanos:09}"
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{at.isoformat()}{'.' if fraction else ''}{fraction}Z"


_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    NoneType: lambda _: "null",
    bool: lambda value: "true" if value else "false",
    float: _double,
    tuple: _tuple,
    list: _list,
    dict: _map,
    datetime.datetime: _timestamp,
    Instant: _instant,
}
