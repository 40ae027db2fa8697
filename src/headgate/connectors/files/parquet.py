"""Parquet: a source that hands out columns as they are, and a sink of part files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.connectors.files.part_files import OutputFileConfig, PartFolder, PartSink
from headgate.connectors.files.places import FoundFile, Place, list_files
from headgate.errors import ProgramError, SinkError, SourceError
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader
from headgate.types.arrow import batch_from_rows

_ROWS_READ: Final = 16_384
_ROW_GROUP_ROWS: Final = 32_768
_PART_BYTES: Final = 128 << 20

_FAILURES: Final = (OSError, pa.ArrowException)


@final
@dataclass(frozen=True, slots=True)
class RowGroupSplit:
    """The rows of one row group of a file from row `row` on. `size_bytes` is the size of the file."""

    place: Place
    size_bytes: int
    row_group: int
    row: int


@final
class ParquetSource(Source[RowGroupSplit]):
    """The rows of Parquet files, as Arrow record batches; each of `paths` is a file or a folder.

    All files have the same schema. Names that start with "." or "_" are left out; files are read in the order of their
    names, row group by row group. Files must not change while the job runs.
    """

    def __init__(self, *paths: str) -> None:
        if not paths:
            raise ProgramError("a Parquet source needs at least one path")
        self._places = [Place.of(path, SourceError) for path in paths]

    def schema(self) -> pa.Schema:
        """Return the schema of the rows; blocks. Raises `SourceError` when the files have none, or several."""
        return self._scan()[0]

    def splits(self, parallelism: int) -> list[RowGroupSplit]:
        return self._scan()[1]

    def _scan(self) -> tuple[pa.Schema, list[RowGroupSplit]]:
        files = [file for place in self._places for file in list_files(place, SourceError)]
        schema = None
        splits = []
        for file in files:
            with _open(file.place) as parquet:
                schema = schema or parquet.schema_arrow
                _check_schema(file, parquet.schema_arrow, schema)
                groups = range(parquet.metadata.num_row_groups)
                splits += [RowGroupSplit(file.place, file.size_bytes, group, 0) for group in groups]
        return schema, splits

    def reader(self, context: SourceContext) -> ParquetReader:
        return ParquetReader()


def _check_schema(file: FoundFile, found: pa.Schema, schema: pa.Schema) -> None:
    if not found.equals(schema):
        raise SourceError(
            f"{str(file.place)!r} has the columns {_columns(found)}, but files before it have {_columns(schema)}; "
            "read files of different columns with sources of their own"
        )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _open(place: Place) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(place.path, filesystem=place.system)
    except _FAILURES as error:
        raise SourceError(f"cannot read {str(place)!r} as Parquet: {error}") from error


@final
class ParquetReader(SourceReader[RowGroupSplit]):
    """Reads its row groups one after the other, some thousands of rows at a time."""

    def __init__(self) -> None:
        self._splits: deque[RowGroupSplit] = deque()
        self._file: pq.ParquetFile | None = None
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._skip = 0

    def add_splits(self, splits: list[RowGroupSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        if self._file is None:
            self._start(split)
        if self._batch is None:
            self._batch = self._next_batch(split)
        if self._batch is None:
            self.close()
            self._splits.popleft()
            return Records([])
        return self._take(split, self._batch, records_max)

    def _start(self, split: RowGroupSplit) -> None:
        self._file = _open(split.place)
        size_bytes = split.place.system.get_file_info(split.place.path).size
        if size_bytes != split.size_bytes:
            raise SourceError(
                f"{str(split.place)!r} had {split.size_bytes} bytes when the job started and has {size_bytes} now; "
                "files must not change while a job reads them"
            )
        self._batches = self._file.iter_batches(batch_size=_ROWS_READ, row_groups=[split.row_group])
        self._skip = split.row

    def _next_batch(self, split: RowGroupSplit) -> pa.RecordBatch | None:
        try:
            return next(self._batches, None)
        except _FAILURES as error:
            raise SourceError(f"cannot read row group {split.row_group} of {str(split.place)!r}: {error}") from error

    def _take(self, split: RowGroupSplit, batch: pa.RecordBatch, records_max: int) -> Poll:
        skipped = min(self._skip, batch.num_rows)
        self._skip -= skipped
        part = batch.slice(skipped, records_max)
        after = skipped + part.num_rows
        self._batch = batch.slice(after) if after < batch.num_rows else None
        self._splits[0] = replace(split, row=split.row + part.num_rows)
        return Records(part)

    def snapshot(self) -> list[RowGroupSplit]:
        return list(self._splits)

    def close(self) -> None:
        self._batches = iter(())
        self._batch = None
        if self._file is not None:
            self._file.close(force=True)
            self._file = None


@final
class ParquetSink(PartSink):
    """Parquet files in a folder: records are rows, tuples, dicts or plain values that fit `schema`.

    Readers see whole files only, and each record once, whatever fails. The folder must be the same for all hosts. Files
    are rolled at each checkpoint, and when they reach `part_bytes_max`.
    """

    def __init__(self, base_path: str, schema: pa.Schema, part_bytes_max: int = _PART_BYTES) -> None:
        names = OutputFileConfig(part_suffix=".parquet")
        folder = PartFolder(Place.of(base_path, SinkError), names, part_bytes_max)
        super().__init__(folder, ParquetFormat(schema))


@final
@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Part files in Parquet."""

    schema: pa.Schema

    def encoder(self, stream: pa.NativeFile) -> ParquetEncoder:
        """Return the encoder of a new file."""
        return ParquetEncoder(self.schema, stream)


@final
class ParquetEncoder:
    """Turns records into columns as they come, and writes a row group when there are enough of them."""

    def __init__(self, schema: pa.Schema, stream: pa.NativeFile) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(stream, schema)
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, records: list[Any]) -> None:
        """Take records, in order. Raises SerializationError naming the record that does not fit the schema."""
        self._batches.append(batch_from_rows(records, self._schema))
        self._rows += len(records)
        if self._rows >= _ROW_GROUP_ROWS:
            self._flush()

    def finish(self) -> None:
        """Write what is left, and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches, self._rows = [], 0
