"""Flink's connector `datagen`: random values and sequences, by its options."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import partial
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from headgate.clock import SystemClock
from headgate.columns.logical_types import (
    BYTES,
    FLOATS,
    INTEGERS,
    MAX_LENGTH,
    NUMBERS,
    POINTS,
    TEXTS,
    Kind,
    LogicalType,
)
from headgate.columns.schema import Schema
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, NUMBER, ValueKind, one_of
from headgate.connectors import generated_columns as generated
from headgate.connectors.generated_columns import GeneratedColumnsSource, Generator
from headgate.dataframe.connectors.options import Options
from headgate.errors import ProgramError
from headgate.functions.source import Source

_BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
_LARGEST: Final = {Kind.FLOAT: 3.4028234663852886e38, Kind.DOUBLE: sys.float_info.max}
_TEXT_LENGTH: Final = 100
_COLLECTION_LENGTH: Final = 3
_ROWS_PER_SECOND: Final = 10_000
"""Flink's defaults."""
_EXACT: Final = Context(prec=100)


def _decimal(value: object) -> Decimal:
    try:
        made = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(value) from None
    if not made.is_finite():
        raise ValueError(value)
    return made


_DECIMAL: Final = ValueKind("decimal", "a number", _decimal)


@final
@dataclass(frozen=True, slots=True, eq=False)
class GeneratedScan:
    """Rows whose columns are computed by generators."""

    schema: Schema
    generators: dict[str, Generator]
    count: int | None
    rows_per_second: float
    conforms = True

    def source(self, columns: Sequence[str]) -> Source[Any]:
        generators = [self.generators[name] for name in columns]
        return GeneratedColumnsSource(self.schema.only(columns).arrow, generators, self.count, self.rows_per_second)


def generated_scan(options: Options, schema: Schema) -> GeneratedScan:
    """Return the rows of the connector's options. Raises ValueError for wrong options, ProgramError for a type."""
    rate = options.get("rows-per-second", NUMBER, float(_ROWS_PER_SECOND))
    counts = [options.optional("number-of-rows", INTEGER)]
    generators = {}
    for name, own in schema:
        kind = options.get(f"fields.{name}.kind", one_of("random", "sequence"), "random")
        if kind == "sequence":
            generators[name], count = _sequence(options, name, own)
            counts.append(count)
        else:
            generators[name] = _Random(options).generator(f"fields.{name}", name, own)
    known = [count for count in counts if count is not None]
    if not 0 < rate < math.inf or any(count < 0 for count in known):
        raise ValueError("the connector 'datagen' needs rows-per-second above 0, and number-of-rows not below 0")
    return GeneratedScan(schema, generators, min(known, default=None), rate)


def _sequence(options: Options, name: str, own: LogicalType) -> tuple[Generator, int]:
    if own.kind not in NUMBERS and own.kind not in TEXTS:
        raise ProgramError(f"column {name!r} is {own}, and a sequence has numbers or texts: set its kind to 'random'")
    start = options.required(f"fields.{name}.start", INTEGER)
    end = options.required(f"fields.{name}.end", INTEGER)
    if end < start:
        raise ValueError(f"the sequence of column {name!r} ends at {end}, before its start at {start}")
    try:
        generated.sequence(start, own.arrow, np.array([0, end - start]))
    except (pa.ArrowException, OverflowError) as error:
        raise ValueError(f"the sequence of column {name!r} does not fit {own}: {error}") from None
    return partial(generated.sequence, start, own.arrow), end - start + 1


@final
class _Random:
    """Makes generators of random values."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def generator(self, prefix: str, path: str, own: LogicalType) -> Generator:
        """Return the generator of a column, or of a part of it, whose options begin with `prefix`."""
        made = self._values(prefix, path, own)
        null_rate = self._options.get(f"{prefix}.null-rate", NUMBER, 0.0)
        if not 0 <= null_rate <= 1 or (null_rate and not own.nullable):
            raise ValueError(f"the option '{prefix}.null-rate' is {null_rate}, but must be 0 to 1, and 0 if NOT NULL")
        return partial(generated.some, path, null_rate, made) if null_rate else made

    def _values(self, prefix: str, path: str, own: LogicalType) -> Generator:
        kind = own.kind
        if kind in INTEGERS:
            half = 1 << _BITS[kind] - 1
            return partial(generated.integers, path, *self._bounds(prefix, INTEGER, -half, half - 1), own.arrow)
        if kind in FLOATS:
            most = _LARGEST[kind]
            return partial(generated.floats, path, *self._bounds(prefix, NUMBER, -most, most), own.arrow)
        if kind in TEXTS or kind in BYTES:
            return self._text(prefix, path, own)
        if kind in POINTS:
            past = self._options.get(f"{prefix}.max-past", DURATION_MS, 0)
            return partial(generated.times, path, past, SystemClock().wall_ms, own.arrow)
        match kind:
            case Kind.BOOLEAN:
                return partial(generated.booleans, path)
            case Kind.DECIMAL:
                most_decimal = (Decimal(10) ** own.precision - 1).scaleb(-own.scale)
                bounds = self._bounds(prefix, _DECIMAL, -most_decimal, most_decimal)
                for bound in bounds:
                    if _EXACT.scaleb(bound, own.scale) % 1:
                        raise ValueError(f"the options '{prefix}.min' and '.max' have more digits than {own}: {bound}")
                return partial(generated.decimals, path, *bounds, own.arrow)
            case Kind.ARRAY:
                element = self.generator(f"{prefix}.element", f"{path}[]", own.element)
                return partial(generated.lists, element, self._length(prefix, _COLLECTION_LENGTH), own.arrow)
            case Kind.MAP:
                key = self.generator(f"{prefix}.key", f"{path}[key]", own.key)
                value = self.generator(f"{prefix}.value", f"{path}[value]", own.value)
                return partial(generated.maps, key, value, self._length(prefix, _COLLECTION_LENGTH), own.arrow)
            case Kind.ROW:
                fields = [self.generator(f"{prefix}.{name}", f"{path}.{name}", inner) for name, inner in own.fields]
                return partial(generated.rows, fields, own.arrow)
        raise ProgramError(f"column {path!r} is {own}, and 'datagen' makes no such values: compute it from another")

    def _bounds(self, prefix: str, kind: ValueKind[Any], least: Any, most: Any) -> tuple[Any, Any]:
        found = self._options.get(f"{prefix}.min", kind, least), self._options.get(f"{prefix}.max", kind, most)
        if not least <= found[0] <= found[1] <= most:
            raise ValueError(
                f"the options '{prefix}.min' and '.max' are {found[0]} and {found[1]}, but must be in order "
                f"from {least} to {most}"
            )
        return found

    def _text(self, prefix: str, path: str, own: LogicalType) -> Generator:
        length = _TEXT_LENGTH if own.precision == MAX_LENGTH else own.precision
        if own.precision == MAX_LENGTH:
            length = self._length(prefix, length)
        varies = own.kind in (Kind.VARCHAR, Kind.VARBINARY) and self._options.get(f"{prefix}.var-len", BOOLEAN, False)
        return partial(generated.texts if own.is_text else generated.binaries, path, length, varies)

    def _length(self, prefix: str, default: int) -> int:
        length = self._options.get(f"{prefix}.length", INTEGER, default)
        if length < 1:
            raise ValueError(f"the option '{prefix}.length' is {length}, but must be at least 1")
        return length
