"""A bounded source of the rows of one version of a Delta table, as record batches.

The driver lists the data files of the version when the job starts, and each row group is a split. A restored job reads
the files of its splits, so it needs them even if the table has changed: VACUUM must keep them until the job has ended.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from headgate.connectors.delta.table import FAILURES, TablePlace, said
from headgate.connectors.files.parquet_schema import Columns
from headgate.connectors.files.parquet_source import ParquetReader, RowGroupSplit, open_parquet
from headgate.connectors.files.places import Place, name_of
from headgate.errors import SourceError
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader

_FEATURES: Final = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "columnMapping", "typeWidening"})
"""Features of tables that change nothing for a reader of files, or that `_open` checks."""


@final
@dataclass(frozen=True, slots=True)
class DeltaSplit:
    """A row group of a data file: which of the wanted columns the file has, and the values of its partition."""

    rows: RowGroupSplit
    columns: tuple[str, ...]
    partition: dict[str, Any]


@final
class DeltaSource(Source[DeltaSplit]):
    """The columns of a version of a table, by number or by time; by default of its newest version.

    A column that a file lacks, because it was added to the table later, is null there.
    """

    one_split_at_a_time = True

    def __init__(self, table_uri: str, columns: Sequence[str], version: int | dt.datetime | None = None) -> None:
        self._place = TablePlace.of(table_uri, {})
        self._columns = tuple(columns)
        self._version = version

    def splits(self, parallelism: int) -> list[DeltaSplit]:
        try:
            table = self._open()
            schema = pa.schema(table.schema().to_arrow())
            files = pa.RecordBatchReader.from_stream(table.get_add_actions()).read_all()
        except TableNotFoundError as error:
            raise SourceError(f"there is no Delta table {self._place}") from error
        except FAILURES as error:
            raise SourceError(f"cannot read the log of the Delta table {self._place}: {said(error)}") from error
        missing = next((name for name in self._columns if name not in schema.names), None)
        if missing is not None:
            raise SourceError(
                f"the Delta table {self._place} has no column {missing!r}; it has {', '.join(map(repr, schema.names))}"
            )
        folder = Place.of(self._place.uri, SourceError)
        return [split for file in files.sort_by("path").to_pylist() for split in self._cut(folder, file)]

    def _open(self) -> DeltaTable:
        table = self._place.open()
        if self._version is not None:
            table.load_as_version(self._version)
        unknown = sorted(set(table.protocol().reader_features or ()) - _FEATURES)
        if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
            unknown = ["columnMapping"]
        if unknown:
            raise SourceError(
                f"the Delta table {self._place} has the feature {unknown[0]!r}, which this source cannot read: read it "
                "with Spark and from_spark()"
            )
        return table

    def _cut(self, folder: Place, file: dict[str, Any]) -> list[DeltaSplit]:
        path = unquote(file["path"])
        place = Place.of(path, SourceError) if "://" in path or path.startswith("/") else folder.child(path)
        with open_parquet(place) as parquet:
            there, groups = parquet.schema_arrow.names, parquet.metadata.num_row_groups
        partition = {name: value for name, value in (file.get("partition") or {}).items() if name in self._columns}
        columns = tuple(name for name in self._columns if name in there and name not in partition)
        rows = [RowGroupSplit(place, file["size_bytes"], group, 0) for group in range(groups)]
        return [DeltaSplit(own, columns or tuple(there[:1]), partition) for own in rows]

    def split_id(self, split: DeltaSplit) -> str:
        return name_of(split.rows)

    def reader(self, context: SourceContext) -> DeltaReader:
        return DeltaReader(self._columns)


@final
class DeltaReader(SourceReader[DeltaSplit]):
    """Reads row groups one after the other, and adds columns of the partition and columns that a file lacks."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns
        self._splits: deque[DeltaSplit] = deque()
        self._rows: ParquetReader | None = None

    def add_splits(self, splits: list[DeltaSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        if self._rows is None:
            self._rows = ParquetReader(Columns.of(split.columns))
            self._rows.add_splits([split.rows])
        polled = self._rows.poll(records_max)
        assert isinstance(polled, Records)
        if polled.ended:
            self.close()
            self._splits.popleft()
            return polled
        self._splits[0] = replace(split, rows=self._rows.snapshot()[0])
        return replace(polled, records=self._completed(polled.records, split))

    def _completed(self, batch: Any, split: DeltaSplit) -> pa.RecordBatch:
        columns = [
            batch.column(name)
            if name in split.columns and name not in split.partition
            else pa.repeat(pa.scalar(split.partition.get(name)), batch.num_rows)
            for name in self._columns
        ]
        return pa.RecordBatch.from_arrays(columns, names=list(self._columns))

    def snapshot(self) -> list[DeltaSplit]:
        return list(self._splits)

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()
            self._rows = None
