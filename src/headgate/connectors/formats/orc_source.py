"""Reads the stripes of ORC files as Arrow record batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import final

import pyarrow as pa
from pyarrow import orc

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.byte_stream import where_it_is
from headgate.connectors.files.file_errors import unreadable
from headgate.connectors.files.parquet_schema import Columns
from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import FAILURES, FoundFile, Place, name_of
from headgate.functions.source import END_OF_INPUT, Poll, Records, SourceContext, SourceReader


@final
class OrcFormat(BulkFormat[RowGroupSplit]):
    """ORC files, with a split for each stripe. Only the chosen columns are read."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = Columns.of(columns)

    def cut(self, files: list[FoundFile], part_bytes: int) -> list[RowGroupSplit]:
        return [
            RowGroupSplit(file.place, file.size_bytes, stripe, 0, file.stamp)
            for file in files
            for stripe in range(self._stripes(file.place))
        ]

    def _stripes(self, place: Place) -> int:
        file, stream = _open(place)
        with stream:
            self._columns.of_file(place, file.schema)
            return int(file.nstripes)

    def reader(self, context: SourceContext) -> OrcReader:
        return OrcReader(self._columns)


def _open(place: Place) -> tuple[orc.ORCFile, pa.NativeFile]:
    """Open a file. Raises `SourceError` if it is missing or not ORC."""
    try:
        stream = place.system.open_input_file(place.path)
        return orc.ORCFile(stream), stream
    except FAILURES as error:
        raise unreadable(f"cannot read {str(place)!r} as ORC: {error}", error, is_local=not place.root) from error


@final
class OrcReader(SourceReader[RowGroupSplit]):
    """Reads its stripes one after the other, each of them at once."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._splits: deque[RowGroupSplit] = deque()
        self._rows: pa.RecordBatch | None = None

    def add_splits(self, splits: list[RowGroupSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        rows = self._stripe(split) if self._rows is None else self._rows
        part, rest = rows.slice(0, records_max), rows.slice(records_max)
        if rest.num_rows:
            self._rows, self._splits[0] = rest, replace(split, row=split.row + part.num_rows)
        else:
            self._rows = None
            self._splits.popleft()
        return Records(part, split=name_of(split), ended=not rest.num_rows)

    def _stripe(self, split: RowGroupSplit) -> pa.RecordBatch:
        file, stream = _open(where_it_is(split))
        with stream:
            names = self._columns.of_file(split.place, file.schema).names
            try:
                return file.read_stripe(split.row_group, columns=names).select(names).slice(split.row)
            except FAILURES as error:
                said = f"cannot read stripe {split.row_group} of {str(split.place)!r}: {error}"
                raise unreadable(said, error, is_local=not split.place.root) from error

    def snapshot(self) -> list[RowGroupSplit]:
        return list(self._splits)

    def close(self) -> None:
        self._rows = None
