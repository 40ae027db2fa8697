"""Flink's connectors `print` and `blackhole` as sinks: rows to the output of the slot, and to nowhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, final

from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import SinkContext
from headgate.types.text import printed_prefix, text_of
from headgate.types.typeinfo import RowTypeInfo

if TYPE_CHECKING:
    import pyarrow as pa


@final
class PrintSink(FlushingSink):
    """Writes one line for each row, such as `+I[1, tea]`, with Flink's prefix `identifier:subtask> `."""

    def __init__(self, row_type: RowTypeInfo, identifier: str = "", standard_error: bool = False) -> None:
        self._row_type = row_type
        self._identifier = identifier
        self._standard_error = standard_error

    def flushing_writer(self, context: SinkContext) -> PrintWriter:
        prefix = printed_prefix(self._identifier, context.subtask, context.parallelism)
        return PrintWriter(self._row_type, prefix, self._standard_error)


@final
class PrintWriter(FlushingWriter):
    """Writes the lines of one subtask."""

    def __init__(self, row_type: RowTypeInfo, prefix: str, standard_error: bool) -> None:
        self._text = text_of(row_type)
        self._prefix = prefix
        self._standard_error = standard_error

    def write(self, records: list[Any]) -> None:
        stream = sys.stderr if self._standard_error else sys.stdout
        stream.write("".join(f"{self._prefix}{self._text(record)}\n" for record in records))
        stream.flush()

    def flush(self) -> None:
        """Do nothing: `write` flushes."""


@final
class BlackholeSink(FlushingSink):
    """Drops all rows."""

    idempotent = True

    def flushing_writer(self, context: SinkContext) -> BlackholeWriter:
        return BlackholeWriter()


@final
class BlackholeWriter(FlushingWriter):
    """Drops the rows of one subtask."""

    def write(self, records: list[Any]) -> None:
        """Do nothing."""

    def write_columns(self, columns: pa.RecordBatch) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""
