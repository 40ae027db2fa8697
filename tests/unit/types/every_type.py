"""Every kind of type, each with values: what all readers and writers of types have to know."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, Final

from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.type_information import TypeInformation
from headgate.types.typeinfo import Types

SINGLE: Final[dict[TypeInformation, list[Any]]] = {
    Types.STRING(): ["", "Zoë", 'a,b\n"c"'],
    Types.CHAR(): ["x"],
    Types.BOOLEAN(): [True, False],
    Types.BYTE(): [-128, 127],
    Types.SHORT(): [-(2**15), 2**15 - 1],
    Types.INT(): [-(2**31), 2**31 - 1],
    Types.LONG(): [-(2**63), 2**63 - 1],
    Types.BIG_INT(): [0, 10**37],
    Types.FLOAT(): [0.5, -1.25],
    Types.DOUBLE(): [0.1, -1e300],
    Types.BIG_DEC(): [Decimal("1.500000000000000000"), Decimal("-0.000000000000000001")],
    Types.SQL_DECIMAL(10, 2): [Decimal("12345678.90"), Decimal("-0.01")],
    Types.INSTANT(): [Instant(0, 0), Instant(1_700_000_000, 123_456_000)],
    Types.SQL_DATE(): [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
    Types.SQL_TIME(): [dt.time(0, 0), dt.time(23, 59, 59)],
    Types.SQL_TIMESTAMP(): [dt.datetime(2024, 2, 29, 12, 30, 5, 250_000), dt.datetime(1900, 1, 1)],
    Types.SQL_INTERVAL(): [dt.timedelta(days=-3, microseconds=1), dt.timedelta(0)],
    Types.PRIMITIVE_ARRAY(Types.BYTE()): [b"", b"\x00\xff"],
}
"""The types of single values, with values that only `None` can replace."""

NULL: Final = Types.SQL_NULL()
ANYTHING: Final = Types.PICKLED_BYTE_ARRAY()


def _containers(inner: TypeInformation, values: list[Any]) -> dict[TypeInformation, list[Any]]:
    return {
        Types.LIST(inner): [values, []],
        Types.OBJECT_ARRAY(inner): [values],
        Types.MAP(Types.STRING(), inner): [{"a": values[0]}, {}],
        Types.TUPLE([inner, Types.LONG()]): [(values[-1], 7), (None, 7)],
        Types.ROW_NAMED(["x", "n"], [inner, Types.LONG()]): [Row(x=values[-1], n=7), Row(x=None, n=7)],
    }


HOLDING: Final[dict[TypeInformation, list[Any]]] = {
    kind: values for inner, own in SINGLE.items() for kind, values in _containers(inner, own).items()
} | {
    Types.PRIMITIVE_ARRAY(Types.LONG()): [[1, 2], []],
    Types.BASIC_ARRAY(Types.STRING()): [["a", "b"]],
}
"""The types that hold others, with values."""

EVERY: Final = SINGLE | HOLDING


def plain(value: Any) -> Any:
    """Return a value with rows and tuples as lists: a column does not tell which they were."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return list(map(plain, value)) if not isinstance(value, str | bytes) and hasattr(value, "__iter__") else value


def kinds_of(kind: type[TypeInformation] = TypeInformation) -> set[str]:
    """Return the names of the classes of types that values can be of."""
    inner = {name for own in kind.__subclasses__() for name in kinds_of(own)}
    is_abstract = kind.__name__ in ("TypeInformation", "_Collection", "SqlTimeTypeInfo")
    return inner if is_abstract else inner | {kind.__name__}
