"""A sink that drives a stream writer of a PySpark Python data source: its write, commit and abort.

The writer's `write` runs in the slots, over the records between two barriers. The message that it returns is part of
the checkpoint. When the checkpoint is complete, the driver calls `commit` with the messages of all subtasks and a batch
id. The driver calls `abort` with messages that can never be committed.

A writer may remember the batch id of its last commit and skip smaller ids, so a batch id must never occur in two runs.
Ids grow with the checkpoints of a lineage. Each lineage begins at an id that grows with its start time: 2**24 ids for
each hundredth of a second since 1970. Like Spark's ids, they are below 2**63, until the year 2144.
"""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from pyspark.errors import PySparkNotImplementedError
from pyspark.sql import datasource
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, DataSourceStreamWriter, WriterCommitMessage

from headgate.deploy.spark.stream_writer.call import WriteCall
from headgate.deploy.spark.stream_writer.columns import AnySchema, WriterColumns
from headgate.errors import ProgramError, SinkError
from headgate.functions.sink import (
    Committer,
    GlobalCommitter,
    RetriableCommitError,
    Sink,
    SinkContext,
    SinkIdentity,
    SinkWriter,
)
from headgate.ids import CheckpointId, Lineage

_IDS_PER_TICK: Final = 2**24
_TICK_MS: Final = 10
_log = logging.getLogger(__name__)
_ROWS_HELD: Final = 10_000
"""Records per batch; the same number as in Spark's batches for an Arrow writer."""
_TAKES_BATCHES: Final = getattr(datasource, "DataSourceStreamArrowWriter", ())
"""The base class of writers of Arrow batches, which Spark has since 4.1."""


@final
@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A message of the writer. All batch ids of its lineage are above `after`."""

    message: WriterCommitMessage
    after: int


def first_id_of(lineage: Lineage) -> int:
    """Return the number below all batch ids of a lineage.

    >>> first_id_of(Lineage("cd61", 20)) + CheckpointId(3)
    33554435
    """
    return lineage.began_ms // _TICK_MS * _IDS_PER_TICK


def batches_of(checkpoint_id: CheckpointId, committables: list[Any]) -> dict[int, list[WriterCommitMessage]]:
    """Return the messages of a checkpoint by batch id, lowest id first.

    Snapshots of releases without lineages contain plain messages, whose batch id is the checkpoint id.
    """
    batches: dict[int, list[WriterCommitMessage]] = {}
    for each in committables:
        prepared = each if isinstance(each, PreparedMessage) else PreparedMessage(each, 0)
        batches.setdefault(prepared.after + checkpoint_id, []).append(prepared.message)
    return dict(sorted(batches.items()))


@final
class SparkSink(Sink[PreparedMessage]):
    """Any stream writer of a PySpark Python data source, with checkpoints in the place of micro-batches.

    The sink is exactly once if a second `commit` of the same batch id changes nothing. Declare this with
    `idempotent_commit=True`. Otherwise an interrupted commit may commit a batch twice, and a warning is logged.
    """

    def __init__(self, writer: DataSourceStreamWriter, schema: AnySchema, *, idempotent_commit: bool = False) -> None:
        """Use `for_writer` or `for_data_source`."""
        self._writer = writer
        self._columns = WriterColumns.of(schema)
        self._idempotent_commit = idempotent_commit

    @staticmethod
    def for_data_source(
        source: type[DataSource],
        schema: AnySchema,
        *,
        options: Mapping[str, object] | None = None,
        idempotent_commit: bool = False,
    ) -> SparkSink:
        """Return a sink to the stream writer of a data source with these options.

        `schema` is the schema of the writer's rows: a row type, a StructType or an Arrow schema. Raises `ProgramError`
        if the data source has no stream writer. Other errors of the data source are not caught.
        """
        if not (isinstance(source, type) and issubclass(source, DataSource)):
            raise ProgramError(
                f"for_data_source() takes a subclass of pyspark's DataSource, not {source!r}; for a data source that "
                "Spark knows by name, pass the class that was registered"
            )
        given = CaseInsensitiveDict({key: _text(value) for key, value in (options or {}).items()})
        try:
            writer = source(given).streamWriter(WriterColumns.of(schema).struct, False)
        except (NotImplementedError, PySparkNotImplementedError) as error:
            raise ProgramError(
                f"the data source {source.name()!r} ({source.__name__}) has no stream writer: it does not define "
                "streamWriter(schema, overwrite)"
            ) from error
        return SparkSink.for_writer(writer, schema, idempotent_commit=idempotent_commit)

    @staticmethod
    def for_writer(writer: DataSourceStreamWriter, schema: AnySchema, *, idempotent_commit: bool = False) -> SparkSink:
        """Return a sink to a stream writer, which must be picklable. Raises `ProgramError` for other objects.

        >>> from pyspark.sql.datasource import DataSourceStreamWriter
        >>> from headgate.types.typeinfo import Types
        >>> SparkSink.for_writer("orders", Types.ROW_NAMED(["number"], [Types.LONG()]))
        Traceback (most recent call last):
        headgate.errors.ProgramError: a Spark sink takes a DataSourceStreamWriter, not 'orders'
        """
        if not isinstance(writer, DataSourceStreamWriter):
            raise ProgramError(f"a Spark sink takes a DataSourceStreamWriter, not {writer!r:.200}")
        try:
            copy.deepcopy(writer)
        except Exception as error:
            raise ProgramError(
                f"the writer {type(writer).__name__} cannot be copied: {error}; a task and a commit each have a copy "
                "of it, so let the writer hold names and numbers, and open files and connections where it uses them"
            ) from error
        return SparkSink(writer, schema, idempotent_commit=idempotent_commit)

    def prepare(self, identity: SinkIdentity) -> None:
        if not self._idempotent_commit:
            _log.warning(
                "%s.commit may be called twice for a batch when a job fails: its output is at least once. If a second "
                "commit of a batch id changes nothing, say so with idempotent_commit=True: then it is exactly once",
                type(self._writer).__name__,
            )

    def writer(self, context: SinkContext) -> SparkSinkWriter:
        return SparkSinkWriter(self._writer, self._columns, context)

    def committer(self, context: SinkContext) -> SparkCommitter:
        return SparkCommitter()

    def global_committer(self) -> SparkGlobalCommitter:
        return SparkGlobalCommitter(self._writer)


def _text(value: object) -> str:
    """Return an option as the text that Spark passes to data sources."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@final
class SparkSinkWriter(SinkWriter[PreparedMessage]):
    """Calls `write` at most once between two barriers, on a copy of the writer, like each task of Spark.

    It collects records and passes them to the writer in batches of `_ROWS_HELD`.
    """

    def __init__(self, writer: DataSourceStreamWriter, columns: WriterColumns, context: SinkContext) -> None:
        self._writer = writer
        self._columns = columns
        self._context = context
        self._name = f"{type(writer).__name__}.write"
        self._held: list[Any] = []
        self._call: WriteCall | None = None

    def write(self, records: list[Any]) -> None:
        self._held += records
        if len(self._held) >= _ROWS_HELD:
            self._flush()

    def _flush(self) -> None:
        held, self._held = self._held, []
        if not held:
            return
        batches = self._columns.batches(held)
        if self._call is None:
            self._call = WriteCall(copy.deepcopy(self._writer).write, self._name, self._context)
        for batch in batches:
            self._call.give([batch] if isinstance(self._writer, _TAKES_BATCHES) else self._columns.rows(batch))

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[PreparedMessage]:
        self._flush()
        if self._call is None:
            return []
        message = self._call.end()
        self._call = None
        self._check(message)
        return [PreparedMessage(message, first_id_of(self._context.lineage))]

    def _check(self, message: object) -> None:
        if not isinstance(message, WriterCommitMessage):
            raise SinkError(f"{self._name} must return a WriterCommitMessage, but returned {message!r:.200}")
        try:
            pickle.dumps(message)
        except Exception as error:
            raise SinkError(
                f"the commit message of {self._name}, a {type(message).__name__}, cannot be pickled: {error}; it is "
                "kept in checkpoints, so let it hold names and numbers, no open files or connections"
            ) from error

    def close(self) -> None:
        call, self._call = self._call, None
        self._held = []
        if call is not None:
            call.abandon()


@final
class SparkCommitter(Committer[PreparedMessage]):
    """Does nothing: the driver commits and aborts, for all subtasks at once."""

    def commit(self, committables: list[PreparedMessage]) -> None:
        pass


@final
class SparkGlobalCommitter(GlobalCommitter[PreparedMessage]):
    """Calls the writer's `commit` and `abort` with the messages of all subtasks that had records."""

    def __init__(self, writer: DataSourceStreamWriter) -> None:
        self._writer = writer
        self._committed = 0

    def commit(self, checkpoint_id: CheckpointId, committables: list[PreparedMessage]) -> None:
        for batch_id, messages in batches_of(checkpoint_id, committables).items():
            if batch_id > self._committed:  # snapshots contain committed messages for a while
                self._commit(batch_id, messages)
                self._committed = batch_id

    def _commit(self, batch_id: int, messages: list[WriterCommitMessage]) -> None:
        try:
            copy.deepcopy(self._writer).commit([*messages], batch_id)
        except SinkError:
            raise
        except Exception as error:
            name = f"{type(self._writer).__name__}.commit"
            _log.warning("%s of batch %d failed", name, batch_id, exc_info=True)
            raise RetriableCommitError(f"{name} of batch {batch_id} raised {type(error).__name__}: {error}") from error

    def abort(self, checkpoint_id: CheckpointId, committables: list[PreparedMessage]) -> None:
        for batch_id, messages in batches_of(checkpoint_id, committables).items():
            copy.deepcopy(self._writer).abort([*messages], batch_id)
