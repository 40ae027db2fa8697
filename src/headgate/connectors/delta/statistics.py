"""Statistics of data files in a Delta table's log, by which readers skip files: counts, least and greatest values.

Numbers with a fraction have no bounds, as readers do not agree on where NaN belongs.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

_COLUMNS_MAX: Final = 32
"""Number of leading columns that have statistics, as in Delta."""

_TEXT_MAX: Final = 32
_LAST_CHARACTER: Final = "\U0010ffff"
_EPOCH: Final = datetime.datetime(1970, 1, 1)

_Bounds = Callable[[Any, Any], tuple[object, object]]


def statistics_of(metadata: pq.FileMetaData, columns: pa.Schema) -> str:
    """Return the statistics of a file, as JSON, from its footer. `columns` are the file's columns."""
    least: dict[str, object] = {}
    greatest: dict[str, object] = {}
    nulls: dict[str, int] = {}
    places = _flat_columns(metadata)
    for field in list(columns)[:_COLUMNS_MAX]:
        if field.name in places:
            chunks = [metadata.row_group(group).column(places[field.name]) for group in range(metadata.num_row_groups)]
            found = [chunk.statistics for chunk in chunks]
            if all(each is not None and each.has_null_count for each in found):
                nulls[field.name] = sum(each.null_count for each in found)
            bounds = _bounds(found, field.type)
            if bounds is not None:
                least[field.name], greatest[field.name] = bounds
    return json.dumps(
        {"numRecords": metadata.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _flat_columns(metadata: pq.FileMetaData) -> dict[str, int]:
    schema = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    return {
        column.path: place
        for place, column in enumerate(schema)
        if column.path == column.name and column.max_repetition_level == 0
    }


def _bounds(found: list[Any], data_type: pa.DataType) -> tuple[object, object] | None:
    written = _written(data_type)
    if written is None or any(each is None for each in found):
        return None
    with_values = [each for each in found if each.num_values]
    if not with_values or not all(each.has_min_max for each in with_values):
        return None
    try:
        return written(min(each.min_raw for each in with_values), max(each.max_raw for each in with_values))
    except (OverflowError, ValueError):  # a time outside the range of Python's datetime
        return None


def _written(data_type: pa.DataType) -> _Bounds | None:
    if pa.types.is_integer(data_type):
        return lambda least, greatest: (least, greatest)
    if pa.types.is_string(data_type):
        return lambda least, greatest: (least.decode()[:_TEXT_MAX], _no_less(greatest.decode()))
    if pa.types.is_date(data_type):
        return lambda least, greatest: (_date(least), _date(greatest))
    if pa.types.is_timestamp(data_type):
        zone = "" if data_type.tz is None else "Z"
        return lambda least, greatest: (_time(least // 1000) + zone, _time(-(-greatest // 1000)) + zone)
    return None


def _no_less(text: str) -> str:
    """Return a short text that does not sort before `text`."""
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + _LAST_CHARACTER


def _date(days: int) -> str:
    return (_EPOCH + datetime.timedelta(days=days)).date().isoformat()


def _time(millis: int) -> str:
    return (_EPOCH + datetime.timedelta(milliseconds=millis)).isoformat(timespec="milliseconds")
