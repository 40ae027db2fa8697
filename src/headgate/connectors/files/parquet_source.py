"""Reads the row groups of Parquet files as Arrow record batches.

Spark 2 wrote old dates in the Julian calendar, and later releases do so on request. In such files the numbers of dates
before 1582-10-15 and of timestamps before 1900 mean other days and moments than in other files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.connectors.files.byte_stream import where_it_is
from headgate.connectors.files.file_errors import UnreadableFileError, unreadable
from headgate.connectors.files.parquet_schema import Columns
from headgate.connectors.files.places import FAILURES, Place, Stamp, name_of, restore_part
from headgate.functions.source import END_OF_INPUT, Poll, Records, SourceReader

_MARKS: Final = frozenset([b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"])
_FIRST_DAY: Final = -141_427
"""1582-10-15, the first day of the Gregorian calendar, as days since 1970."""
_FIRST_SECOND: Final = -2_208_988_800
"""1900-01-01 UTC, as seconds since 1970. Before it, the offsets of time zones differ."""
_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def old_times_of(file: pq.ParquetFile) -> frozenset[str | None]:
    """Return the zones, "UTC" or None, of the timestamps that may be of the Julian calendar, as the dates may.

    The set is empty if the file has no mark of Spark for that calendar. Timestamps of the format INT96 have no zone.
    """
    if _MARKS.isdisjoint(file.metadata.metadata or {}):
        return frozenset()
    columns = (file.schema.column(place) for place in range(len(file.schema)))
    return frozenset(["UTC", None] if any(column.physical_type == "INT96" for column in columns) else ["UTC"])


def column_of_old_times(batch: pa.RecordBatch, zones: frozenset[str | None]) -> str | None:
    """Return the name of a column with a date or timestamp that differs between the two calendars, None if none has."""
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


_ROWS_READ: Final = 16_384


@final
@dataclass(frozen=True, slots=True)
class RowGroupSplit:
    """The rows of a file's row group, beginning at row `row`. `size_bytes` is the size of the file."""

    place: Place
    size_bytes: int
    row_group: int
    row: int
    stamp: Stamp | None = None

    def __setstate__(self, state: list[Any]) -> None:
        restore_part(self, state)

    @property
    def part(self) -> str:
        """The index of the row group."""
        return str(self.row_group)


def open_parquet(place: Place) -> pq.ParquetFile:
    """Open a file. Raises `SourceError` if it is missing or not Parquet."""
    try:
        # INT96, the old format of Spark and Hive, would be read as nanoseconds, which end in the year 2262.
        return pq.ParquetFile(place.path, filesystem=place.system, coerce_int96_timestamp_unit="us")
    except FAILURES as error:
        raise unreadable(f"cannot read {str(place)!r} as Parquet: {error}", error, is_local=not place.root) from error


@final
class ParquetReader(SourceReader[RowGroupSplit]):
    """Reads its row groups one after the other, some thousands of rows at a time.

    A file stays open while the next split is of the same file, because reading the footer takes long.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._splits: deque[RowGroupSplit] = deque()
        self._file: pq.ParquetFile | None = None
        self._old_times: frozenset[str | None] = frozenset()
        self._names: list[str] = []
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._batch: pa.RecordBatch | None = None
        self._skip = 0

    def add_splits(self, splits: list[RowGroupSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        batches = self._start(split) if self._batches is None else self._batches
        if self._batch is None:
            self._batch = self._next_batch(split, batches)
        if self._batch is None:
            self._end(split)
            return Records([], split=name_of(split), ended=True)
        return self._take(split, self._batch, records_max)

    def _start(self, split: RowGroupSplit) -> Iterator[pa.RecordBatch]:
        place = where_it_is(split)
        if self._file is None:
            self._file = open_parquet(place)
            self._old_times = old_times_of(self._file)
            self._names = self._columns.of_file(split.place, self._file.schema_arrow).names
        names = self._names
        self._batches = (
            batch.select(names)
            for batch in self._file.iter_batches(batch_size=_ROWS_READ, row_groups=[split.row_group], columns=names)
        )
        self._skip = split.row
        return self._batches

    def _end(self, split: RowGroupSplit) -> None:
        self._batches = None
        self._splits.popleft()
        if not self._splits or self._splits[0].place != split.place:
            self.close()

    def _next_batch(self, split: RowGroupSplit, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        try:
            batch = next(batches, None)
        except FAILURES as error:
            said = f"cannot read row group {split.row_group} of {str(split.place)!r}: {error}"
            raise unreadable(said, error, is_local=not split.place.root) from error
        if batch is not None and self._old_times:
            self._check_calendar(split, batch)
        return batch

    def _check_calendar(self, split: RowGroupSplit, batch: pa.RecordBatch) -> None:
        name = column_of_old_times(batch, self._old_times)
        if name is not None:
            raise UnreadableFileError(
                f"{str(split.place)!r} was written by Spark with old dates and timestamps of the Julian calendar, and "
                f"column {name!r} has some: read it with Spark and from_spark(), or write it again with "
                "spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED"
            )

    def _take(self, split: RowGroupSplit, batch: pa.RecordBatch, records_max: int) -> Poll:
        skipped = min(self._skip, batch.num_rows)
        self._skip -= skipped
        part = batch.slice(skipped, records_max)
        after = skipped + part.num_rows
        self._batch = batch.slice(after) if after < batch.num_rows else None
        self._splits[0] = replace(split, row=split.row + part.num_rows)
        return Records(part, split=name_of(split))

    def snapshot(self) -> list[RowGroupSplit]:
        return list(self._splits)

    def close(self) -> None:
        self._batches = None
        self._batch = None
        if self._file is not None:
            self._file.close(force=True)
            self._file = None
