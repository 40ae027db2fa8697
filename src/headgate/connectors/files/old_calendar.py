"""Parquet files whose oldest dates are of another calendar: Spark 2 wrote them so, and later releases on demand.

Their dates before 1582-10-15, and timestamps before 1900, mean other days and moments than the same numbers elsewhere.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_MARKS: Final = frozenset([b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"])
_FIRST_DAY: Final = -141_427
"""1582-10-15, the first day of the calendar of today, as days since 1970."""
_FIRST_SECOND: Final = -2_208_988_800
"""1900-01-01 UTC: the offsets of zones differ before that."""
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def old_times_of(file: pq.ParquetFile) -> frozenset[str | None]:
    """Return the zones, "UTC" or None, of the timestamps of a file that may be of the old calendar, as its dates may.

    Empty, if Spark does not say that it has used the old calendar. Timestamps of the format INT96 have no zone here.
    """
    if _MARKS.isdisjoint(file.metadata.metadata or {}):
        return frozenset()
    columns = (file.schema.column(place) for place in range(len(file.schema)))
    return frozenset(["UTC", None] if any(column.physical_type == "INT96" for column in columns) else ["UTC"])


def column_of_old_times(batch: pa.RecordBatch, zones: frozenset[str | None]) -> str | None:
    """Return the name of a column with a date or timestamp that the two calendars have at different times."""
    names = batch.schema.names
    return next((name for name, column in zip(names, batch.columns, strict=True) if _has_old(column, zones)), None)


def _has_old(array: pa.Array, zones: frozenset[str | None]) -> bool:
    is_a = pa.types
    if is_a.is_date(array.type):
        return _least(array.cast(pa.date32()).cast(pa.int32())) < _FIRST_DAY
    if is_a.is_timestamp(array.type):
        first = _FIRST_SECOND * _PER_SECOND[array.type.unit]
        return array.type.tz in zones and _least(array.cast(pa.int64())) < first
    if is_a.is_struct(array.type):
        return any(_has_old(field, zones) for field in array.flatten())
    if is_a.is_map(array.type):
        return _has_old(array.keys, zones) or _has_old(array.items, zones)
    return is_a.is_list(array.type) and _has_old(array.flatten(), zones)


def _least(numbers: pa.Array) -> int:
    least = pc.min(numbers).as_py()
    return 0 if least is None else int(least)
