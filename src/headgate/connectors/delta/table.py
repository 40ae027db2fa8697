"""A Delta table: its place, its folder, its creation, and commits that are made once.

`deltalake` has a file system of Arrow for a table's folder. While that file system writes, it holds Python's global
interpreter lock, which stops all slots of the process until the store answers. So `deltalake` makes only the commits,
and Arrow writes the files where it can.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction
from pyarrow import fs

from headgate.checkpoint import durable
from headgate.clock import SystemClock
from headgate.connectors.delta.columns import misfit
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, RetriableCommitError

_S3_SCHEMES: Final = ("s3", "s3a")
_S3_NAMES: Final = {
    "access_key_id": "access_key",
    "secret_access_key": "secret_key",
    "session_token": "session_token",
    "token": "session_token",
    "default_region": "region",
    "region": "region",
    "endpoint": "endpoint_override",
    "endpoint_url": "endpoint_override",
}


def table_folder(uri: str, storage_options: Mapping[str, str]) -> fs.FileSystem:
    """Return the file system whose root is the table's folder, an absolute path or a URI. Does not connect."""
    scheme, separator, path = uri.partition("://")
    if not separator:
        return fs.SubTreeFileSystem(uri, fs.LocalFileSystem())
    if scheme in _S3_SCHEMES:
        return fs.SubTreeFileSystem(path, fs.S3FileSystem(**_s3_arguments(storage_options)))
    return fs.PyFileSystem(DeltaStorageHandler(uri, dict(storage_options)))


def _s3_arguments(storage_options: Mapping[str, str]) -> dict[str, Any]:
    """Return Arrow's arguments for deltalake's storage options, which have the names of environment variables."""
    options = {name.lower().removeprefix("aws_"): value for name, value in storage_options.items()}
    arguments = {_S3_NAMES[name]: value for name, value in options.items() if name in _S3_NAMES}
    scheme, separator, host = arguments.get("endpoint_override", "").partition("://")
    if separator:
        arguments |= {"scheme": scheme, "endpoint_override": host.rstrip("/")}
    return arguments


FAILURES: Final = (OSError, DeltaError, pa.ArrowException)
LOG: Final = "_delta_log"
_ARROW: Final = re.compile(r"\s*\x1b\[31m↳\x1b\[0m\s*")
_TRIES: Final = 5
"""Immediate attempts of a commit that conflicts with other commits."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """The preparer of a file: one attempt of one operator in one lineage of one job.

    Each preparer has its own transaction identifier, which contains the attempt. If a job restarts from before a
    savepoint, it prepares the savepoint's records again, in later checkpoints. Without the attempt, their commits would
    make the savepoint's files look committed. `lineage` is empty for files of a release without lineages.
    """

    job_id: str
    uid: str
    execution: str
    lineage: str = ""

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Restore the fields in order, as dataclasses pickle them; earlier releases wrote no lineage."""
        job_id, uid, execution, *rest = state
        self.__init__(job_id=job_id, uid=uid, execution=str(execution), lineage=rest[0] if rest else "")

    @property
    def app_id(self) -> str:
        """The `appId` of its transactions in the table's log."""
        lineage = f"{self.lineage}-" if self.lineage else ""
        return f"headgate-{self.job_id}-{lineage}{self.uid}-{self.execution}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A closed file in the table's folder that is not committed yet, with its entry for the log and its preparer.

    `path` is below the table's folder, `columns` the schema as Delta writes it, `statistics` JSON. The keys of
    `partition_values` are the columns that the table is partitioned by, in order.
    """

    path: str
    size_bytes: int
    modified_ms: int
    partition_values: dict[str, str | None]
    statistics: str
    columns: str
    preparer: Preparer

    def action(self) -> AddAction:
        """Return the action that adds the file to the table."""
        return AddAction(
            self.path, self.size_bytes, self.partition_values, self.modified_ms, data_change=True, stats=self.statistics
        )


@final
@dataclass(frozen=True, slots=True)
class TablePlace:
    """The place of a table. `uri` is an absolute path or a URI; `storage_options` are for object stores."""

    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(uri: str | os.PathLike[str], storage_options: Mapping[str, str]) -> TablePlace:
        """Return the place of a local path, which is made absolute, or of a URI."""
        text = os.fspath(uri)
        if text.startswith("file:"):
            text = fs.FileSystem.from_uri(text)[1]
        return TablePlace(text.rstrip("/") if "://" in text else os.path.abspath(text), dict(storage_options))

    def __str__(self) -> str:
        return repr(self.uri)

    @property
    def is_local(self) -> bool:
        """Whether it is on a local file system."""
        return "://" not in self.uri

    def files(self) -> fs.FileSystem:
        """Return the file system whose root is the table's folder."""
        return table_folder(self.uri, self.storage_options)

    def open(self) -> DeltaTable:
        """Return the table as it is now; blocks. Raises `TableNotFoundError` and `FAILURES`."""
        return DeltaTable(self.uri, storage_options=dict(self.storage_options))


def prepare_table(place: TablePlace, columns: pa.Schema, partition_by: list[str], *, create: bool) -> None:
    """Check that the columns fit the table. A missing table is created if `create` is true. Blocks.

    Raises `SinkError` naming the table and the misfit.
    """
    try:
        table = _open_or_create(place, columns, partition_by, create=create)
        problem = misfit(Schema.from_arrow(columns).to_json(), partition_by, table)
    except FAILURES as error:
        raise SinkError(f"cannot use the Delta table {place}: {said(error)}") from error
    if problem is not None:
        raise SinkError(f"the Delta table {place} does not fit its sink: {problem}")


def _open_or_create(place: TablePlace, columns: pa.Schema, partition_by: list[str], *, create: bool) -> DeltaTable:
    try:
        return place.open()
    except TableNotFoundError:
        if not create:
            raise SinkError(
                f"there is no Delta table {place}: create it, or let the sink do so with create=True"
            ) from None
    if place.is_local:
        durable.make_folder(place.uri)
    names = sorted(info.base_name for info in place.files().get_file_info(fs.FileSelector("", allow_not_found=True)))
    if names and LOG not in names:  # with a log, another writer is creating the table right now
        raise SinkError(
            f"the folder {place} is not a Delta table, and it is not empty, but holds {names[0]!r}; "
            "choose another folder, or convert it with deltalake.convert_to_deltalake"
        )
    _create(place, columns, partition_by)
    return place.open()


def _create(place: TablePlace, columns: pa.Schema, partition_by: list[str]) -> None:
    """Create the table, unless another job has just created it: to create it again would change that table."""
    with contextlib.suppress(CommitFailedError):
        DeltaTable.create(
            place.uri,
            columns,
            mode="ignore",
            partition_by=partition_by,
            storage_options=dict(place.storage_options),
            commit_properties=CommitProperties(max_commit_retries=0),
        )


def append(place: TablePlace, preparer: Preparer, version: int, files: list[DataFile]) -> None:
    """Add the files to the table in one commit, unless the log has the preparer's transaction already. Blocks.

    The commit conflicts with any commit with the preparer's identifier that was made since the check, so of two
    concurrent drivers only one commits. Raises `CommitLostError` if files are missing or do not fit the table any more,
    `RetriableCommitError` if the table cannot be reached or after too many conflicts.
    """
    for _ in range(_TRIES):
        with _retriable(place):
            table = place.open()
            committed = table.transaction_version(preparer.app_id)
            if committed is not None and committed >= version:
                return
            _check_fit(place, table, files)
            _check_files(place, files)
            refused = _commit(table, Transaction(preparer.app_id, version, SystemClock().wall_ms()), files)
            if refused is None:
                return
    raise RetriableCommitError(f"{len(files)} files could not be committed to the Delta table {place}: {refused}")


def _commit(table: DeltaTable, transaction: Transaction, files: list[DataFile]) -> str | None:
    """Commit. Return None, or the conflict, such as another commit since the table was opened."""
    try:
        table.create_write_transaction(
            [file.action() for file in files],
            "append",
            table.schema(),
            table.metadata().partition_columns,
            commit_properties=CommitProperties(app_transactions=[transaction]),
        )
    except CommitFailedError as error:
        return said(error)
    return None


@contextlib.contextmanager
def _retriable(place: TablePlace) -> Iterator[None]:
    try:
        yield
    except TableNotFoundError as error:
        raise CommitLostError(
            f"the Delta table {place} is not there any more, and output that a complete checkpoint holds cannot be "
            "committed; put the table back, then start the job from its last checkpoint"
        ) from error
    except FAILURES as error:
        raise RetriableCommitError(f"cannot commit to the Delta table {place}: {said(error)}") from error


def _check_fit(place: TablePlace, table: DeltaTable, files: list[DataFile]) -> None:
    for columns, partition_by in {(file.columns, tuple(file.partition_values)) for file in files}:
        problem = misfit(columns, list(partition_by), table)
        if problem is not None:
            raise CommitLostError(
                f"the Delta table {place} has changed, and does not fit what a complete checkpoint holds: {problem}. "
                f"The files are there, {files[0].path!r} is one; change the table back, then start the job from its "
                "last checkpoint"
            )


def _check_files(place: TablePlace, files: list[DataFile]) -> None:
    """Check that all files exist: a commit that names a missing file makes the table unreadable."""
    found = place.files().get_file_info([file.path for file in files])
    for file, info in zip(files, found, strict=True):
        if not info.is_file or info.size != file.size_bytes:
            state = f"has {info.size} bytes instead of {file.size_bytes}" if info.is_file else "is gone"
            raise CommitLostError(
                f"output of a complete checkpoint is lost: {file.path!r} in the Delta table {place} {state}. If VACUUM "
                "removed it, its retention was shorter than the age of the checkpoint or savepoint; put the file back, "
                "or start the job from an older checkpoint"
            )


def said(error: BaseException) -> str:
    """Return the message on one line, without the colours and the stack that deltalake puts into it."""
    return _ARROW.sub(": ", str(error).partition("\n   0:")[0].strip())
