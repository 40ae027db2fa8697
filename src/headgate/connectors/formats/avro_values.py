"""Converts or refuses values that `fastavro` would change silently.

`fastavro` truncates fractions and microseconds, writes numbers of any size as an int, and reads a time without a zone
as a time in the host's zone. Values for Avro follow the rules of columns in docs/reference/values.md.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from decimal import Decimal
from operator import is_
from typing import Any, Final, TypeVar

from headgate.connectors.formats.avro_parquet import ARROW_OF_AVRO
from headgate.connectors.formats.avro_schema import AvroSchema, Json
from headgate.types.arrow_columns import WRONG
from headgate.types.arrow_scalars import scalars
from headgate.types.instant import Instant, utc_of

T = TypeVar("T")
Fit = Callable[[list[Any]], list[Any]]
"""Converts the values of a field for `fastavro`. Raises `ValueError` for a value that does not fit."""

_WITH_ZONE: Final = frozenset(["timestamp-millis", "timestamp-micros"])
_TIMES: Final = _WITH_ZONE | {"date", "time-millis", "time-micros", "local-timestamp-millis", "local-timestamp-micros"}
_UNCHECKED: Final = frozenset(["decimal", "uuid", "enum", "fixed"])
"""Types for which `fastavro` itself refuses wrong values."""


def fitted(schema: AvroSchema, datums: list[Any]) -> list[Any]:
    """Return the values of a schema, usually dicts, converted for `fastavro`.

    Raises ValueError naming the field of a value that does not fit.
    """
    return _fit(schema, schema.parsed, datums, "")


def fitted_records(schema: AvroSchema, records: list[T], datum: Callable[[T], Any]) -> list[Any]:
    """Return the datums of records, converted for `fastavro`. Raises ValueError naming record and field."""
    try:
        return fitted(schema, list(map(datum, records)))
    except WRONG:
        for record in records:
            try:
                fitted(schema, [datum(record)])
            except WRONG as error:
                raise ValueError(f"the record {record!r:.200} cannot be written as Avro: {error}") from error
        raise


def _fit(schema: AvroSchema, kind: Json, values: list[Any], path: str) -> list[Any]:
    kind = schema.named(kind)
    if isinstance(kind, list):
        some = [branch for branch in kind if branch != "null"]
        return _fit(schema, some[0], values, path) if len(some) == 1 else values
    name = kind if isinstance(kind, str) else kind.get("logicalType") or kind["type"]
    if name not in ARROW_OF_AVRO and not isinstance(kind, str):
        name = kind["type"] if name not in _UNCHECKED else name
    match name:
        case "record":
            return _fit_records(schema, kind, values, path)
        case "array":
            return _fit_lists(values, path, lambda inner: _fit(schema, kind["items"], inner, f"{path}[]"))
        case "map":
            return _fit_maps(values, path, lambda inner: _fit(schema, kind["values"], inner, f"{path}[value]"))
        case "decimal":
            return [Decimal(value) if type(value) is int else value for value in values]
    return values if name in _UNCHECKED else _fit_scalars(name, values, path)


def _fit_scalars(name: str, values: list[Any], path: str) -> list[Any]:
    kind = ARROW_OF_AVRO[name]
    # A number is a valid date or time: Avro stores numbers.
    to_check = [None if type(value) is int else value for value in values] if name in _TIMES else values
    try:
        scalars(to_check, kind)
    except WRONG as error:
        for value in to_check:
            try:
                scalars([value], kind)
            except WRONG as own:
                raise ValueError(f"field {path!r} is {name} and does not take {value!r:.200}: {own}") from own
        raise ValueError(f"field {path!r} is {name}: {error}") from error
    made = list(map(_with_zone, values)) if name in _WITH_ZONE else values
    return values if all(map(is_, made, values)) else made


def _with_zone(value: Any) -> Any:
    if isinstance(value, Instant):
        return utc_of(value)
    return value.replace(tzinfo=dt.UTC) if isinstance(value, dt.datetime) and value.tzinfo is None else value


def _fit_records(schema: AvroSchema, kind: Json, values: list[Any], path: str) -> list[Any]:
    there = [value for value in values if isinstance(value, dict)]
    changed: dict[str, list[Any]] = {}
    for field in kind["fields"]:
        name = field["name"]
        column = [value.get(name) for value in there]
        made = _fit(schema, field["type"], column, f"{path}.{name}".lstrip("."))
        if made is not column:
            changed[name] = made
    if not changed:
        return values
    rows = iter(zip(*changed.values(), strict=True))
    return [_updated(value, changed, next(rows)) if isinstance(value, dict) else value for value in values]


def _updated(value: dict[str, Any], names: dict[str, Any], made: tuple[Any, ...]) -> dict[str, Any]:
    """Return a dict with other values, but none for a field that it lacks, whose default counts."""
    return value | {name: own for name, own in zip(names, made, strict=True) if name in value}


def _fit_lists(values: list[Any], path: str, fit: Fit) -> list[Any]:
    wrong = next((value for value in values if isinstance(value, str | bytes | dict)), None)
    if wrong is not None:
        raise ValueError(f"field {path!r} is an array and does not take {wrong!r:.200}")
    lists = [[] if value is None else list(value) for value in values]
    inner = list(itertools.chain.from_iterable(lists))
    made = fit(inner)
    if made is inner:
        return values
    rest = iter(made)
    return [
        None if value is None else list(itertools.islice(rest, len(own)))
        for value, own in zip(values, lists, strict=True)
    ]


def _fit_maps(values: list[Any], path: str, fit: Fit) -> list[Any]:
    wrong = next((value for value in values if not (value is None or isinstance(value, dict))), None)
    if wrong is not None:
        raise ValueError(f"field {path!r} is a map and does not take {wrong!r:.200}")
    inner = [item for value in values if value is not None for item in value.values()]
    made = fit(inner)
    if made is inner:
        return values
    rest = iter(made)
    return [None if value is None else {key: next(rest) for key in value} for value in values]
