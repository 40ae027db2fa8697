"""A sink to a Delta Lake table, exactly once: one commit for each checkpoint.

Subtasks write Parquet files into the table's folder, where readers do not see them, and sync them to the disk. When a
checkpoint is complete, the driver adds the files of all subtasks to the table in one commit. The commit contains a
transaction identifier, made of the preparer of the files and the checkpoint's number. A repeated commit finds the
identifier in the log and does nothing. On a local file system the sink also syncs files and log: neither Arrow nor
`deltalake` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, final

import pyarrow as pa

from headgate.checkpoint import durable
from headgate.connectors.delta.columns import delta_columns
from headgate.connectors.delta.table import LOG, DataFile, Preparer, TablePlace, append, prepare_table
from headgate.connectors.delta.writer import DataFiles, DeltaWriter
from headgate.errors import ProgramError, SinkError
from headgate.functions.sink import Committer, GlobalCommitter, RetriableCommitError, Sink, SinkContext, SinkIdentity
from headgate.ids import CheckpointId
from headgate.types.typeinfo import TypeInformation

_FILE_BYTES: Final = 128 << 20


@final
class DeltaSink(Sink[DataFile]):
    """Appends records to a Delta Lake table, each exactly once.

    Records are rows, tuples, dicts or plain values that fit `schema`, an Arrow schema or type information, or Arrow
    record batches. Many jobs may write to one table. A missing table is created, partitioned by the columns
    `partition_by`, unless `create` is false. These columns hold text, whole numbers, dates or booleans. Empty text
    becomes null in them, and is an error if the column must not be null. `storage_options` are deltalake's options for
    object stores. A file is closed at each checkpoint, and when it reaches `file_bytes_max`.

    >>> orders = pa.schema([("city", pa.string()), ("amount", pa.int64())])
    >>> sink = DeltaSink("/data/orders", orders, partition_by=["city"])
    """

    def __init__(  # noqa: PLR0913  # all but two have to be named
        self,
        table_uri: str | os.PathLike[str],
        schema: pa.Schema | TypeInformation,
        *,
        partition_by: Sequence[str] = (),
        create: bool = True,
        storage_options: Mapping[str, str] | None = None,
        file_bytes_max: int = _FILE_BYTES,
    ) -> None:
        if file_bytes_max <= 0:
            raise ProgramError(f"files of {file_bytes_max} bytes cannot be written; give a file_bytes_max above 0")
        self._place = TablePlace.of(table_uri, storage_options or {})
        self._partition_by = [partition_by] if isinstance(partition_by, str) else list(partition_by)
        self._columns = delta_columns(schema, self._partition_by)
        self._create = create
        self._file_bytes_max = file_bytes_max

    def prepare(self, identity: SinkIdentity) -> None:
        prepare_table(self._place, self._columns, self._partition_by, create=self._create)
        sync_log(self._place, after="")

    def writer(self, context: SinkContext) -> DeltaWriter:
        return DeltaWriter(self._place, DataFiles(self._columns, self._partition_by, self._file_bytes_max), context)

    def committer(self, context: SinkContext) -> DeltaCommitter:
        return DeltaCommitter(self._place)

    def global_committer(self) -> DeltaGlobalCommitter:
        return DeltaGlobalCommitter(self._place)


@final
class DeltaCommitter(Committer[DataFile]):
    """Only makes files durable: the driver commits the files of all subtasks together.

    Files of dead attempts stay until VACUUM runs, as with any writer of Delta tables. To find them, the sink would have
    to read the whole table and its whole log.
    """

    def __init__(self, place: TablePlace) -> None:
        self._place = place

    def secure(self, committables: list[DataFile]) -> None:
        sync_files(self._place, committables)

    def commit(self, committables: list[DataFile]) -> None:
        pass


@final
class DeltaGlobalCommitter(GlobalCommitter[DataFile]):
    """Adds the files of all subtasks to the table, in one commit for each checkpoint and preparer."""

    def __init__(self, place: TablePlace) -> None:
        self._place = place
        self._synced = ""

    def commit(self, checkpoint_id: CheckpointId, committables: list[DataFile]) -> None:
        by_preparer: dict[Preparer, list[DataFile]] = {}
        for file in committables:
            by_preparer.setdefault(file.preparer, []).append(file)
        for preparer, files in by_preparer.items():
            append(self._place, preparer, checkpoint_id, files)
        self._synced = sync_log(self._place, self._synced)


def sync_files(place: TablePlace, files: list[DataFile]) -> None:
    """Make data files durable, and the folders of their partitions. Blocks. Raises `SinkError`.

    Missing files are left out: their commit raises the error.
    """
    if not place.is_local:
        return
    try:
        durable.sync_files(f"{place.uri}/{file.path}" for file in files)
        for folder in sorted({folder for file in files for folder in _folders_of(file.path)}):
            durable.sync_folder(f"{place.uri}/{folder}")
    except OSError as error:
        raise SinkError(f"cannot bring files of the Delta table {place} to the disk: {error}") from error


def sync_log(place: TablePlace, after: str) -> str:
    """Make the entries of the table's log after the entry `after` durable. Return the last entry. Blocks.

    A commit is useless without all earlier commits, also of other writers, back to the log's last checkpoint. Raises
    `RetriableCommitError`.
    """
    if not place.is_local:
        return ""
    log = f"{place.uri}/{LOG}"
    try:
        names = sorted(name for name in os.listdir(log) if name.endswith((".json", ".parquet")))
        since = max(after, max((name for name in names if ".checkpoint." in name), default=""))
        durable.sync_files(f"{log}/{name}" for name in names if name >= since)
        durable.sync_folder(log)
        durable.sync_folder(place.uri)
    except OSError as error:
        raise RetriableCommitError(f"cannot bring the log of the Delta table {place} to the disk: {error}") from error
    return names[-1]


def _folders_of(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path
