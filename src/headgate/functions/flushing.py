"""Sinks without a second phase: they flush at each barrier, and write records again after a failure.

Each record arrives at least once. Where writing a record again changes nothing, as in an upsert by key, that is as good
as exactly once, and readers see the record before the checkpoint is complete. Set `idempotent` for such a sink.

>>> class Console(FlushingSink):
...     def flushing_writer(self, context):
...         return ConsoleWriter()
>>> class ConsoleWriter(FlushingWriter):
...     def write(self, records):
...         print(*records)
...     def flush(self):
...         print("flushed")
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Never, final

from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId

if TYPE_CHECKING:
    import pyarrow as pa


class FlushingWriter(ABC):
    """Writes the records of one subtask. Called by the mailbox loop; where it blocks, the job waits."""

    @abstractmethod
    def write(self, records: list[Any]) -> None:
        """Write records, in order. Raises SinkError when that fails: the job then restarts."""

    def write_columns(self, columns: pa.RecordBatch) -> None:
        """Write the rows of an Arrow batch, in order. By default they are written as records, each a `Row`."""
        from headgate.types.arrow import rows_from_batch  # noqa: PLC0415  # Arrow takes long to load

        self.write(rows_from_batch(columns))

    @abstractmethod
    def flush(self) -> None:
        """Block until all written records are durable: a restart from the next checkpoint does not write them again."""

    def end_input(self) -> None:
        """Take note that no record follows; `flush` is called once more. For writers that do not flush each time."""

    def close(self) -> None:
        """Release files and connections. Called also after a failure."""


class FlushingSink(Sink[Never]):
    """A sink of `FlushingWriter`s. Derive from it, and return one from `flushing_writer`."""

    @abstractmethod
    def flushing_writer(self, context: SinkContext) -> FlushingWriter:
        """Return the writer of one subtask, for one attempt."""

    def writer(self, context: SinkContext) -> SinkWriter[Never]:
        return _Flushing(self.flushing_writer(context))

    def committer(self, context: SinkContext) -> Committer[Never]:
        return _NothingToCommit()


@final
class _Flushing(SinkWriter[Never]):
    """Flushes where other writers prepare a commit."""

    def __init__(self, writer: FlushingWriter) -> None:
        self._writer = writer

    def write(self, records: list[Any]) -> None:
        self._writer.write(records)

    def write_columns(self, columns: pa.RecordBatch) -> None:
        self._writer.write_columns(columns)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[Never]:
        self._writer.flush()
        return []

    def end_input(self) -> None:
        self._writer.end_input()

    def close(self) -> None:
        self._writer.close()


@final
class _NothingToCommit(Committer[Never]):
    """There is no second phase."""

    def commit(self, committables: list[Never]) -> None:
        """Nothing is ever prepared."""
