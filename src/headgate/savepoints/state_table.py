"""State as tables for query engines: the columns of a table, its parts, and the rows of a part.

A part is the state of one subtask, so that several processes can read a table. All parts of a table belong to the same
snapshot, whose files never change. So all rows are of one moment, or the read fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.restore.snapshots import is_snapshot
from headgate.errors import DamagedFileError, ProgramError, RestoreError, StorageError, needs_data_sources
from headgate.savepoints.checkpoint_search import may_be_job, newest_checkpoint
from headgate.savepoints.listing import LISTING, listing
from headgate.savepoints.reader import TIMER_STATES, SavepointReader
from headgate.state.canonical.layout import NAMESPACE, VALUE, pickle_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_MAY_LACK = (NAMESPACE, pickle_of(NAMESPACE))


def fitted(batch: pa.RecordBatch, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """Return the columns that the schema selects. No value is changed.

    Raises `RestoreError` naming the column and `where` if a column is missing or has another type.
    """
    return pa.RecordBatch.from_arrays([_column(batch, field, where) for field in schema], schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field, where: str) -> pa.Array:
    if field.name not in batch.schema.names and field.name in _MAY_LACK:
        return pa.nulls(batch.num_rows, field.type)
    if field.name not in batch.schema.names:
        raise RestoreError(f"there is no column {field.name!r} in {where}; there are: {', '.join(batch.schema.names)}")
    column = batch.column(field.name)
    if column.null_count == len(column):
        return pa.nulls(len(column), field.type)
    if _plain(column.type) != _plain(field.type):
        raise RestoreError(
            f"column {field.name!r} is {column.type} in {where}, but {field.type} in the table: its values are of "
            "several types, or the given schema is wrong. Give a schema with this type, or without this column, or "
            "read the state with SavepointReader"
        )
    return column.cast(field.type)


def _plain(data_type: pa.DataType) -> pa.DataType:
    """Return a type with Arrow's default names for the fields within lists and maps: the names have no meaning."""
    is_a = pa.types
    if is_a.is_list(data_type):
        return pa.list_(_plain(data_type.value_type))
    if is_a.is_map(data_type):
        return pa.map_(_plain(data_type.key_type), _plain(data_type.item_type))
    if is_a.is_struct(data_type):
        return pa.struct([(field.name, _plain(field.type)) for field in data_type.fields])
    return data_type


KEYED: Final = "keyed"
TIMERS: Final = "timers"
LIST: Final = "list"
BROADCAST: Final = "broadcast"
_OPTIONS: Final = ("path", "uid", "state", "table")
_KINDS: Final = (KEYED, TIMERS, LIST, BROADCAST)

TIMESTAMP: Final = "timestamp_ms"
WHOLE: Final = -1
"""The only part of a table that is not divided by subtasks."""

_TRIES_MAX: Final = 3
"""Attempts to read the columns of a running job's state: the job may delete the checkpoint meanwhile."""


@final
class _SnapshotGoneError(RestoreError):
    """The snapshot was deleted after it was found."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateTable:
    """A table of a snapshot: its `kind`, its operator and its state. Without a state it is the list of all states.

    `path` is a snapshot, or the folder of a job, whose newest complete checkpoint is read. The methods block, and raise
    `RestoreError`, `StorageError` and `DamagedFileError`.
    """

    path: str
    kind: str
    uid: str | None
    state: str | None

    @staticmethod
    def of(options: Mapping[str, str]) -> StateTable:
        """Return the table for the options `path`, `uid`, `state` and `table`, the kind (by default "keyed").

        Raises `ProgramError` for a missing or unknown option. Nothing is read.
        """
        unknown = sorted({*options} - {*_OPTIONS})
        if unknown:
            raise ProgramError(f"there is no option {unknown[0]!r}: a table has {', '.join(_OPTIONS)}")
        path, kind = options.get("path"), options.get("table", KEYED)
        if not path:
            raise ProgramError("give the option path: a savepoint, a checkpoint, or the folder of a job")
        if kind not in _KINDS:
            raise ProgramError(
                f"there are no tables of the kind {kind!r}: the option table must be one of {', '.join(_KINDS)}"
            )
        uid, state = options.get("uid"), options.get("state")
        if state is not None and uid is None:
            raise ProgramError(f"give the option uid as well: the operator that has the state {state!r}")
        if kind == TIMERS and state not in (None, *TIMER_STATES):
            raise ProgramError(
                f"there are no timers of the clock {state!r}: the option state must be event or processing"
            )
        return StateTable(path=paths.absolute(path), kind=kind, uid=uid, state=state)

    def pinned(self) -> StateTable:
        """Return the table of the job's newest checkpoint now, so that all its rows are of one moment."""
        if not may_be_job(self.path) or is_snapshot(self.path, FileSystemStore.open_folder):
            return self
        return replace(self, path=newest_checkpoint(self.path))

    # --- columns

    def schema(self) -> pa.Schema:
        """Return the columns, as `SavepointReader` returns them.

        Columns of keyed state are taken from the first subtask with values, whose state is read.
        """
        for _ in range(_TRIES_MAX - 1):
            with suppress(_SnapshotGoneError):
                return self.pinned()._columns()
        return self.pinned()._columns()

    def _columns(self) -> pa.Schema:
        with self._read() as reader:
            if self.uid is None or self.state is None:
                return LISTING
            if self.kind in (LIST, BROADCAST):
                return self._elements(reader, self.uid, self.state).schema
            parts = (reader.batches_of(self.uid, self._stored, subtask) for subtask in reader.subtasks(self.uid))
            found = next(chain.from_iterable(parts), None)
            if found is None:
                raise RestoreError(
                    f"operator {self.uid!r} has no values of a keyed state {self.state!r} in {reader}; load the table "
                    "without the option state to see which there are, or give a schema if values may come later"
                )
            return self._shaped(found).schema

    @property
    def _stored(self) -> str:
        return TIMER_STATES[self.state or ""] if self.kind == TIMERS else self.state or ""

    def _shaped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        batch = batch.replace_schema_metadata(None)
        if self.kind != TIMERS:
            return batch
        times = batch.column(VALUE)
        rows = batch.select([name for name in batch.schema.names if not name.startswith(VALUE)])
        return rows.take(pc.list_parent_indices(times)).append_column(TIMESTAMP, pc.list_flatten(times))

    # --- rows

    def parts(self) -> list[int]:
        """Return the parts of a pinned table, for `read`."""
        if self.kind in (LIST, BROADCAST) or self.uid is None or self.state is None:
            return [WHOLE]
        with self._read() as reader:
            return reader.subtasks(self.uid)

    def read(self, part: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part with the columns of `schema`, which may leave columns out.

        Raises `RestoreError` if the part has other types, or the snapshot was deleted.
        """
        with self._read() as reader:
            for batch in self._batches(reader, part):
                yield fitted(batch, schema, f"{self.uid}/{self.state}, subtask {part}, of {reader}")

    def _batches(self, reader: SavepointReader, part: int) -> Iterator[pa.RecordBatch]:
        if self.uid is None or self.state is None:
            yield from listing(reader, self.uid).to_batches()
        elif part == WHOLE:
            yield from self._elements(reader, self.uid, self.state).to_batches()
        else:
            yield from map(self._shaped, reader.batches_of(self.uid, self._stored, part))

    def _elements(self, reader: SavepointReader, uid: str, state: str) -> pa.Table:
        return reader.list_state(uid, state) if self.kind == LIST else reader.broadcast_state(uid, state)

    @contextmanager
    def _read(self) -> Iterator[SavepointReader]:
        try:
            with SavepointReader.read(self.path) as reader:
                yield reader
        except (RestoreError, StorageError, DamagedFileError) as error:
            if self._is_there():
                raise
            raise _SnapshotGoneError(
                f"{self.path} is gone: the job has completed newer checkpoints, and has deleted this one before it "
                "was read to the end. Load the table again and repeat the query; let the job keep more checkpoints "
                f"(execution.checkpointing.num-retained), or query a savepoint, which no job deletes. ({error})"
            ) from error

    def _is_there(self) -> bool:
        try:
            return is_snapshot(self.path, FileSystemStore.open_folder)
        except StorageError:
            return True  # the first error of storage is more useful than this one


def register(spark: SparkSession | None = None) -> None:
    """Let Spark know the data source `headgate`: any state of a snapshot, or of a running job, as a table.

    `spark` is the session, by default the active one, else a new one. The options are those of `StateTable.of`; an
    example is in docs/guides/state-tables.md. Raises `ModuleNotFoundError` without pyspark: pip install
    'headgate[spark]'; `EnvironmentFault` on Spark 3.5.
    """
    with needs_data_sources("the data source 'headgate'", "use SavepointReader.to_spark(), which gives a DataFrame"):
        from headgate.deploy.spark import state_tables  # noqa: PLC0415  # pyspark is an extra

    state_tables.register(StateTable.of, spark)
