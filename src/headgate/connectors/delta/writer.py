"""The writer of one subtask: it collects rows, then writes them to the open file of each partition."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa
from deltalake import Schema

from headgate.clock import SystemClock
from headgate.connectors.delta.data_files import OpenFile, batches_of, folder_of, partitions_of
from headgate.connectors.delta.table import FAILURES, DataFile, Preparer, TablePlace, said
from headgate.errors import SinkError
from headgate.functions.sink import SinkContext, SinkWriter
from headgate.ids import CheckpointId

_ROWS_HELD: Final = 131_072
_BYTES_HELD: Final = 32 << 20
_OPEN_FILES_MAX: Final = 32

_Partition = tuple[str | None, ...]


@final
@dataclass(frozen=True, slots=True)
class DataFiles:
    """The columns of a sink's files, the partition columns, and the size at which the next file begins."""

    columns: pa.Schema
    partition_by: list[str]
    bytes_max: int


@final
class DeltaWriter(SinkWriter[DataFile]):
    """Writes the data files of one subtask and attempt, into the table's folder but not into its log.

    Memory is bounded: the writer holds at most the rows of a row group, and limits the number of open files. Beyond the
    limit it closes the least recently written file.
    """

    def __init__(self, place: TablePlace, kind: DataFiles, context: SinkContext) -> None:
        self._place = place
        self._kind = kind
        self._preparer = Preparer(
            job_id=context.job_id, uid=context.uid, execution=context.execution, lineage=str(context.lineage)
        )
        self._stem = _stem(context)
        self._count = 0
        self._file_columns = pa.schema([column for column in kind.columns if column.name not in kind.partition_by])
        self._delta_schema = Schema.from_arrow(kind.columns).to_json()
        self._held: list[pa.RecordBatch] = []
        self._rows_held = self._bytes_held = 0
        self._open: dict[_Partition, OpenFile] = {}
        self._closed: list[DataFile] = []
        with self._writing():
            self._files = place.files()

    def write(self, records: list[Any]) -> None:
        if not records:
            return
        self._hold(batches_of(records, self._kind.columns))

    def write_columns(self, columns: pa.RecordBatch) -> None:
        self._hold(batches_of([columns], self._kind.columns))

    def _hold(self, batches: list[pa.RecordBatch]) -> None:
        self._held += batches
        self._rows_held += sum(batch.num_rows for batch in batches)
        self._bytes_held += sum(batch.nbytes for batch in batches)
        if self._rows_held >= _ROWS_HELD or self._bytes_held >= _BYTES_HELD:
            self._flush()

    def _flush(self) -> None:
        held = pa.Table.from_batches(self._held, self._kind.columns)
        self._held = []
        self._rows_held = self._bytes_held = 0
        if len(held):
            with self._writing():
                for partition, rows in partitions_of(held, self._kind.partition_by):
                    self._write_partition(partition, rows)

    def _write_partition(self, partition: _Partition, rows: pa.Table) -> None:
        file = self._open.pop(partition, None)
        if file is None:
            if len(self._open) >= _OPEN_FILES_MAX:
                self._finish(next(iter(self._open)))
            file = self._new_file(partition)
        self._open[partition] = file  # the last entry is the most recently written file
        if file.write(rows) >= self._kind.bytes_max:
            self._finish(partition)

    def _new_file(self, partition: _Partition) -> OpenFile:
        path = f"{folder_of(self._kind.partition_by, partition)}{self._stem}-{self._count}.parquet"
        self._count += 1
        return OpenFile(self._files, path, self._file_columns)

    def _finish(self, partition: _Partition) -> None:
        file = self._open.pop(partition)
        size_bytes, statistics = file.finish()
        self._closed.append(
            DataFile(
                path=file.path,
                size_bytes=size_bytes,
                modified_ms=SystemClock().wall_ms(),
                partition_values=dict(zip(self._kind.partition_by, partition, strict=True)),
                statistics=statistics,
                columns=self._delta_schema,
                preparer=self._preparer,
            )
        )

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[DataFile]:
        self._flush()
        with self._writing():
            for partition in list(self._open):
                self._finish(partition)
        prepared, self._closed = self._closed, []
        return prepared

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            raise SinkError(
                f"cannot write to the folder of the Delta table {self._place} on host {socket.gethostname()}: "
                f"{said(error)}; it must be the same for all hosts, and the job must be allowed to write there"
            ) from error

    def close(self) -> None:
        unfinished, self._open = self._open, {}
        dropped, self._closed = self._closed, []
        self._held = []
        try:
            for file in unfinished.values():
                file.drop()
            for closed in dropped:
                self._files.delete_file(closed.path)
        except FAILURES:
            return  # no reader sees the files, and VACUUM removes them


def _stem(context: SinkContext) -> str:
    """Return the prefix of a writer's file names. It is unique, also among the writers of a superseded driver."""
    return f"part-{context.digest()}-{context.subtask}-{context.execution}-{uuid.uuid4().hex}"
