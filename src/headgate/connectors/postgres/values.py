"""Converts values for the columns of a table, and refuses a value that its column would change or cannot hold.

PostgreSQL and its client convert by the class of a value, not by the type of the column: an empty list becomes `{}` of
JSON, the zone of a time is dropped, digits are rounded. Here the type of the column decides. The rules are in
docs/reference/values.md.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Integral
from typing import Any, Final, TypeVar, final

from psycopg import sql

from headgate.connectors.postgres.database import Connection
from headgate.errors import SinkError
from headgate.types.instant import Instant, utc_of
from headgate.types.row import Row

_SINGLE: Final = frozenset([str, int, float, bool, type(None)])


def json_text(value: Any) -> str:
    """Return a value as JSON. Text is JSON already; rows with names become objects, tuples become arrays.

    Raises ValueError for values that JSON does not have: other classes, keys that are not text, NaN and infinity.

    >>> json_text([]), json_text({"day": None}), json_text('{"as": "it is"}')
    ('[]', '{"day": null}', '{"as": "it is"}')
    """
    if isinstance(value, str):
        return str.__str__(value)
    _check_keys(value)
    return json.dumps(value, default=_as_json, allow_nan=False)


def plain(value: Any) -> Any:
    """Return the Python value of a NumPy number, text or time, and any other value unchanged."""
    return value.item() if type(value).__module__ == "numpy" and not hasattr(value, "__len__") else value


def _check_keys(value: Any) -> None:
    """Raise `ValueError` for keys that are not text: `json` would convert them to text."""
    if isinstance(value, dict):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None or None in value:
            raise ValueError(f"the key {wrong!r} is not text, and keys in JSON are: map it to text first")
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    if not _SINGLE.issuperset(map(type, value)):
        for each in value:
            _check_keys(each)


def _as_json(value: Any) -> Any:
    if isinstance(value, Row) and value._fields is not None:
        _check_keys(named := value.as_dict())
        return named
    if type(made := plain(value)) in _SINGLE:
        return made
    raise ValueError(f"JSON has no {type(value).__name__}: map {value!r:.100} to text or numbers first")


T = TypeVar("T", dt.time, dt.datetime, dt.timedelta)
Values = tuple[Any, ...]
Convert = Callable[[Any], Any]
"""Converts a value for the client. Raises ValueError with the reason if the column cannot hold the value."""


@final
@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column, or a parameter of a statement: its name, its type as SQL writes it, and how values are converted."""

    name: str
    type_name: str
    as_they_are: frozenset[type]
    """Classes of values that need no conversion."""
    convert: Convert

    def values(self, column: Sequence[Any]) -> Sequence[Any]:
        """Return the values converted for the client. Raises ValueError if a value does not fit."""
        if self.as_they_are.issuperset(map(type, column)):
            return column
        return [None if value is None else self.convert(value) for value in column]

    def trouble(self, value: Any) -> str | None:
        """Return why the column cannot hold a value, None if it can."""
        try:
            self.values([value])
        except (ValueError, TypeError, ArithmeticError) as error:
            kind = f"{type(value).__name__}"
            return f"column {self.name!r} is {self.type_name} and does not take {value!r:.200} ({kind}): {error}"
        return None


@final
@dataclass(frozen=True, slots=True)
class TargetTable:
    """The columns of the target. `refused` makes the error message for a row that cannot be written and the reason."""

    columns: tuple[TargetColumn, ...]
    refused: Callable[[Values, str], str]

    def fitted(self, rows: list[Values]) -> list[Values]:
        """Return the rows converted for the client. Raises `SinkError` naming row, column and value."""
        if not rows:
            return rows
        try:
            columns = [own.values(values) for own, values in zip(self.columns, zip(*rows, strict=True), strict=True)]
        except (ValueError, TypeError, ArithmeticError) as error:
            raise self._wrong(rows) from error
        return list(zip(*columns, strict=True))

    def _wrong(self, rows: list[Values]) -> SinkError:
        for row in rows:
            for column, value in zip(self.columns, row, strict=True):
                why = column.trouble(value)
                if why is not None:
                    return SinkError(self.refused(row, why))
        raise AssertionError("one of the rows does not fit")


def columns_of(connection: Connection, table: sql.Composable, names: Iterable[str]) -> tuple[TargetColumn, ...]:
    """Return the columns of a table by their names. Asks the server; raises psycopg.Error."""
    listed = sql.SQL(", ").join(map(sql.Identifier, names))
    described = connection.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(listed, table)).description or []
    return tuple(
        _column(connection, own.name, own.type_code, own.type_display, own.precision, own.scale) for own in described
    )


def parameters_of(connection: Connection, statement: str, names: Sequence[str]) -> tuple[TargetColumn, ...]:
    """Return the parameters of a statement, with the types that the server infers. Raises psycopg.Error.

    The server infers no types for a wrong statement, or for parameters that can be of any type.
    """
    numbers = itertools.count(1)
    numbered = _PLACEHOLDER.sub(lambda found: "%" if found[0] == "%%" else f"${next(numbers)}", statement)
    connection.pgconn.prepare(b"", numbered.encode())
    described = connection.pgconn.describe_prepared(b"")
    oids = [described.param_type(place) for place in range(described.nparams)] or [0] * len(names)
    infos = [connection.adapters.types.get(oid) for oid in oids]
    return tuple(
        _column(connection, name, oid, "of an unknown type" if info is None else info.get_type_display(oid=oid))
        for name, oid, info in zip(names, oids, infos, strict=True)
    )


def _column(connection: Connection, name: str, oid: int, type_name: str, *limits: int | None) -> TargetColumn:
    """Return a column of a type that has `limits`: its precision and scale."""
    info = connection.adapters.types.get(oid)
    if info is None:
        return TargetColumn(name, type_name, _NONE, _other)
    as_they_are, convert = _kind(info.name, *limits)
    if info.array_oid == oid:
        return TargetColumn(name, type_name, _NONE, partial(_array, convert, nests=info.name not in ("json", "jsonb")))
    return TargetColumn(name, type_name, as_they_are, convert)


def _kind(name: str, precision: int | None = None, scale: int | None = None) -> tuple[frozenset[type], Convert]:
    if name == "numeric" and scale is not None:
        return _NONE, partial(_scaled, scale=scale)
    if name in _TIMES:
        unit = 10 ** (6 - min(6 if precision is None else precision, 6))  # a precision above 6 means "no limit"
        return _NONE, partial(_TIMES[name], unit=unit)
    return _KINDS.get(name, (_NONE, _other))


# --- text, bytes, JSON


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return json_text(value)
    raise ValueError("decode it first" if isinstance(value, _BYTES) else "map it to text first")


def _bytes(value: Any) -> bytes:
    if isinstance(value, _BYTES):
        return bytes(value)
    raise ValueError("encode it first" if isinstance(value, str) else "only bytes fit")


def _other(value: Any) -> Any:
    if isinstance(value, _BYTES):
        raise ValueError("bytes go into columns of bytea only")
    return value


def _array(element: Convert, value: Any, *, nests: bool) -> list[Any]:
    if not isinstance(value, list | tuple) and not hasattr(value, "__array__"):
        raise ValueError("only lists fit")
    return [
        None
        if each is None
        else _array(element, each, nests=True)
        if nests and isinstance(each, list | tuple)
        else element(each)
        for each in value
    ]


# --- numbers


def _boolean(value: Any) -> bool:
    if type(made := plain(value)) is bool:
        return made
    raise ValueError("only True and False fit")


def _number(value: Any) -> Any:
    made = plain(value)
    if isinstance(made, bool) or not isinstance(made, Integral | float | Decimal):
        raise ValueError("only numbers fit")
    return made


def _integer(value: Any) -> int:
    made = _number(value)
    if made != made or made in _INFINITE or made != int(made):
        raise ValueError("a fraction would be lost")
    return int(made)


def _float(value: Any) -> float:
    made = _number(value)
    if not isinstance(made, float) and made != float(made):
        raise ValueError("digits would be lost: make it a float first")
    return float(made)


def _decimal(value: Any) -> Any:
    made = _number(value)
    return Decimal(repr(float(made))) if isinstance(made, float) else made


def _scaled(value: Any, *, scale: int) -> Any:
    made = _decimal(value)
    _, digits, exponent = Decimal(made).as_tuple()
    rounded = -exponent - scale if isinstance(exponent, int) else 0
    if rounded > 0 and any(digits[-rounded:]):
        raise ValueError(f"it has more than {scale} decimal places, which would be rounded: round it first")
    return made


# --- times: `unit` is the resolution of the column, in microseconds


def _date(value: Any) -> Any:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    raise ValueError("take its date() first" if isinstance(value, dt.datetime) else "only dates fit")


def _time(value: Any, *, unit: int) -> dt.time:
    if not isinstance(value, dt.time):
        raise ValueError("only times of day fit")
    if value.tzinfo is not None:
        raise ValueError(_ZONE)
    return _whole(value, value.microsecond, unit)


def _time_with_zone(value: Any, *, unit: int) -> dt.time:
    if not isinstance(value, dt.time):
        raise ValueError("only times of day fit")
    return _whole(value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC), value.microsecond, unit)


def _timestamp(value: Any, *, unit: int) -> dt.datetime:
    made = _datetime(value)
    if isinstance(value, Instant) or made.tzinfo is not None:
        raise ValueError(_ZONE)
    return _whole(made, made.microsecond, unit)


def _timestamp_with_zone(value: Any, *, unit: int) -> dt.datetime:
    made = _datetime(value)
    return _whole(made if made.tzinfo is not None else made.replace(tzinfo=dt.UTC), made.microsecond, unit)


def _datetime(value: Any) -> dt.datetime:
    if isinstance(value, Instant):
        if value.nanos % 1000:
            raise ValueError("its nanoseconds would be lost")
        return utc_of(value)
    made = plain(value)
    if not isinstance(made, dt.datetime):
        raise ValueError("only datetimes fit")
    if getattr(made, "nanosecond", 0):  # pandas has them
        raise ValueError("its nanoseconds would be lost")
    return made


def _interval(value: Any, *, unit: int) -> dt.timedelta:
    made = plain(value)
    if not isinstance(made, dt.timedelta):
        raise ValueError("only timedeltas fit")
    return _whole(made, made.microseconds, unit)


def _whole(value: T, microseconds: int, unit: int) -> T:
    if microseconds % unit:
        raise ValueError("its last digits would be rounded: round it first")
    return value


_PLACEHOLDER: Final = re.compile("%[%s]")
_BYTES: Final = (bytes, bytearray, memoryview)
_ZONE: Final = "it has a zone, and the column has none: convert it first"
_INFINITE: Final = (float("inf"), float("-inf"))
_NONE: Final[frozenset[type]] = frozenset([type(None)])
_TEXT: Final = (_NONE | {str}, _text)
_INTEGER: Final = (_NONE | {int}, _integer)
_FLOAT: Final = (_NONE | {float}, _float)
_KINDS: Final[dict[str, tuple[frozenset[type], Convert]]] = {
    "text": _TEXT,
    "varchar": _TEXT,
    "bpchar": _TEXT,
    "name": _TEXT,
    "bytea": (_NONE | {bytes}, _bytes),
    "json": (_NONE, json_text),
    "jsonb": (_NONE, json_text),
    "bool": (_NONE | {bool}, _boolean),
    "int2": _INTEGER,
    "int4": _INTEGER,
    "int8": _INTEGER,
    "float4": _FLOAT,
    "float8": _FLOAT,
    "numeric": (_NONE | {int, Decimal}, _decimal),
    "date": (_NONE | {dt.date}, _date),
}
"""Conversions of values by PostgreSQL type. The client converts values of all other types."""
_TIMES: Final[dict[str, Callable[..., Any]]] = {
    "time": _time,
    "timetz": _time_with_zone,
    "timestamp": _timestamp,
    "timestamptz": _timestamp_with_zone,
    "interval": _interval,
}
