"""Statistics of the columns of a DataFrame, as `describe` of Polars computes them."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.logical_types import NUMBERS, POINTS, TEXTS, Kind, LogicalType
from headgate.columns.python_values import python_values
from headgate.columns.schema import Schema, unlike


def checked_percentiles(given: Any) -> list[float]:
    """Return percentiles in order. Raises TypeError and ValueError unless they are numbers from 0 to 1."""
    found = [] if given is None else [given] if isinstance(given, int | float) else list(given)
    for own in found:
        if isinstance(own, bool) or not isinstance(own, int | float):
            raise TypeError(f"percentiles are numbers from 0 to 1, not {own!r}")
        if not 0 <= own <= 1:
            raise ValueError(f"percentiles are numbers from 0 to 1, not {own}")
    return sorted(found)


def description(table: pa.Table, schema: Schema, percentiles: Sequence[float], zone: str) -> pa.Table:
    """Return a row for each statistic: count, null_count, mean, std, min, percentiles and max of each column."""
    names = ["count", "null_count", "mean", "std", "min", *(f"{own * 100:g}%" for own in percentiles), "max"]
    label = "statistic" if "statistic" not in schema else unlike(schema.names, "statistic")
    columns: dict[str, pa.Array] = {label: pa.array(names)}
    for (name, kind), column in zip(schema, table.columns, strict=True):
        columns[name] = _described(column.combine_chunks(), kind, percentiles, zone)
    return pa.table(columns)


def _described(column: pa.Array, kind: LogicalType, percentiles: Sequence[float], zone: str) -> pa.Array:
    counts = [len(column) - column.null_count, column.null_count]
    nothing: list[Any] = [None] * len(percentiles)
    if kind.kind in NUMBERS or kind.kind is Kind.BOOLEAN:
        numbers = column.cast(pa.float64(), safe=False)  # integers beyond 2**53 are rounded
        least, most = pc.min_max(numbers).values()
        spread = pc.stddev(numbers, ddof=1, min_count=2)
        quantiles = _quantiles(numbers, percentiles) if kind.kind in NUMBERS else nothing
        of_numbers = [spread if kind.kind in NUMBERS else None, least, *quantiles, most]
        return pa.array([*counts, pc.mean(numbers).as_py(), *map(_plain, of_numbers)], pa.float64())
    if kind.kind in POINTS:
        bits = pa.int32() if column.type.bit_width == 32 else pa.int64()
        numbers = column.view(bits).cast(pa.int64())
        least, most = pc.min_max(numbers).values()
        middle = pc.floor(pc.mean(numbers)).cast(pa.int64())
        found = [middle, None, least, *_quantiles(numbers, percentiles), most]
        values = pa.array(map(_plain, found), pa.int64()).cast(
            pa.int32() if column.type.bit_width == 32 else pa.int64()
        )
        texts = [None if own is None else str(own) for own in python_values(values.view(column.type), zone)]
        return pa.array([*map(str, counts), *texts], pa.string())
    least, most = pc.min_max(column).values() if kind.kind in TEXTS else (None, None)
    return pa.array([*map(str, counts), None, None, _plain(least), *nothing, _plain(most)], pa.string())


def _plain(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _quantiles(numbers: pa.Array, percentiles: Sequence[float]) -> list[Any]:
    """Return the value nearest to each percentile, the greater of two that are equally near."""
    ordered = numbers.drop_null().sort()
    last = len(ordered) - 1
    return [ordered[floor(own * last + 0.5)] if len(ordered) else None for own in percentiles]
