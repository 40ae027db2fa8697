"""Writes part files: one for each bucket at a time, closed by size, by time and at each checkpoint."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from headgate.clock import Clock
from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.part_files import PartFile, PartFolder, delete, make_folder
from headgate.connectors.files.part_names import IN_PROGRESS
from headgate.connectors.files.places import FAILURES, Place, together
from headgate.connectors.files.rolling import RollingPolicy
from headgate.errors import SinkError
from headgate.functions.sink import SinkContext, SinkWriter
from headgate.ids import CheckpointId
from headgate.types.arrow import rows_from_batch

OPEN_MAX: Final = 64
"""The most files that a subtask keeps open. Before it opens another, it closes the least recently written file."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PartSettings:
    """The settings of a sink: format, folder, buckets, and when the next file begins. Picklable."""

    folder: PartFolder
    writers: BulkWriterFactory
    rolling: RollingPolicy
    buckets: BucketAssigner
    clock: Clock


@final
class PartWriter(SinkWriter[PartFile]):
    """Writes the part files of one subtask and attempt. There is no file without records."""

    def __init__(self, settings: PartSettings, context: SinkContext) -> None:
        self._settings = settings
        execution = context.execution.replace(".", "_")  # a dot would begin the file's suffix
        self._stem = f"{settings.folder.stem(context)}{context.subtask}-{execution}-"
        self._behind = context.restored_id or CheckpointId(0)
        self._count = 0
        self._open: dict[str, OpenPart] = {}
        self._closed: list[PartFile] = []

    def write(self, records: list[Any]) -> None:
        if not records:
            return
        clock = self._settings.clock
        for bucket, some in self._settings.buckets.assign(records, clock.wall_ms()).items():
            self._part(bucket, clock.monotonic_ms()).write(some)

    def write_columns(self, columns: pa.RecordBatch) -> None:
        clock = self._settings.clock
        bucket = self._settings.buckets.of_all(clock.wall_ms())
        if bucket is None:
            self.write(rows_from_batch(columns))
        elif columns.num_rows:
            self._part(bucket, clock.monotonic_ms()).write_columns(columns)

    def _part(self, bucket: str, now_ms: float) -> OpenPart:
        """Return the bucket's open file, as the most recently written of the open files."""
        part = self._open.pop(bucket, None)
        if part is not None and part.is_due(self._settings.rolling, now_ms):
            self._closed.append(part.finish())
            part = None
        if part is None:
            part = self._begin(bucket, now_ms)
        self._open[bucket] = part
        part.used_ms = now_ms
        return part

    def _begin(self, bucket: str, now_ms: float) -> OpenPart:
        if len(self._open) >= OPEN_MAX:
            self._closed.append(self._open.pop(next(iter(self._open))).finish())
        name = f"{self._stem}{self._behind}-{self._count}{self._settings.folder.names.part_suffix}"
        self._count += 1
        pending = self._settings.folder.place.child(f".{name}{IN_PROGRESS}")
        final_place = self._settings.folder.bucket(bucket).child(name)
        return OpenPart(self._settings.writers, pending, final_place, now_ms)

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[PartFile]:
        self._behind = checkpoint_id
        self._closed += together(OpenPart.finish, list(self._open.values()), self._settings.folder.place)
        self._open = {}
        prepared, self._closed = self._closed, []
        return prepared

    def close(self) -> None:
        unfinished, self._open = self._open, {}
        dropped, self._closed = self._closed, []
        for part in unfinished.values():
            part.drop()
        for closed in dropped:
            delete(closed.pending)


@final
class OpenPart:
    """A file that is being written."""

    def __init__(self, writers: BulkWriterFactory, pending: Place, final_place: Place, now_ms: float) -> None:
        self._pending = pending
        self._final = final_place
        self._opened_ms = self.used_ms = now_ms
        try:
            self._stream = pending.system.open_output_stream(pending.path)
            make_folder(pending, final_place)  # here, so that an error is raised now and not by the commit
            self._writer = writers.create(self._stream)
        except FAILURES as error:
            raise SinkError(
                f"cannot write {str(pending)!r} on host {socket.gethostname()}: {error}; "
                "the folder must exist and be the same for all hosts"
            ) from error

    def is_due(self, rolling: RollingPolicy, now_ms: float) -> bool:
        """Return whether the rolling policy closes the file now."""
        return rolling.should_roll(int(self._stream.tell()), now_ms - self._opened_ms, now_ms - self.used_ms)

    def write(self, records: list[Any]) -> None:
        """Write records, in order."""
        try:
            self._writer.write(records)
        except FAILURES as error:
            raise SinkError(f"cannot write {str(self._pending)!r}: {error}") from error

    def write_columns(self, columns: pa.RecordBatch) -> None:
        """Write the rows of an Arrow batch, in order."""
        try:
            self._writer.write_columns(columns)
        except FAILURES as error:
            raise SinkError(f"cannot write {str(self._pending)!r}: {error}") from error

    def finish(self) -> PartFile:
        """Close the file; it now waits for its checkpoint."""
        try:
            self._writer.finish()
            size_bytes = int(self._stream.tell())
            self._stream.close()
        except FAILURES as error:
            raise SinkError(f"cannot write {str(self._pending)!r}: {error}") from error
        return PartFile(self._pending, self._final, size_bytes)

    def drop(self) -> None:
        """Remove the file and ignore errors: after a restart, the subtask removes leftovers again."""
        try:
            self._writer.finish()
            self._stream.close()
        except FAILURES:
            return
        delete(self._pending)
