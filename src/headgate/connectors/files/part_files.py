"""Part files: what a subtask writes becomes visible as whole files, each exactly once.

A file is written under a hidden name, closed before its checkpoint is acknowledged, and renamed once the checkpoint is
complete. Its name holds job, operator, subtask and attempt, so nothing else ever has it: no file of another job or of
an earlier run is overwritten, and what a dead attempt left behind is known by its name.

    .part-<job>-<operator>-<subtask>-<attempt>-<count>.jsonl.inprogress     written, or waiting for its checkpoint
    .part-<job>-<operator>-<subtask>-<attempt>-<count>.jsonl.kept           it is part of a savepoint: it is not removed
    part-<job>-<operator>-<subtask>-<attempt>-<count>.jsonl                 committed

Files are closed, not synced to the disk: they outlive any process, but a host that loses power may lose the last ones.
On object stores, which have no rename, committing copies the file and deletes the original: a reader sees the whole
file or none, and a commit that is cut short is completed by the next one.
"""

from __future__ import annotations

import hashlib
import socket
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import pyarrow as pa
from pyarrow import fs

from headgate.connectors.files.owner import claim, give_up
from headgate.connectors.files.places import Place
from headgate.errors import SinkError
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId, JobId

IN_PROGRESS: Final = ".inprogress"
KEPT: Final = ".kept"

_FAILURES: Final = (OSError, pa.ArrowException)


class PartEncoder(Protocol):
    """Writes the records of one file to a stream."""

    def write(self, records: list[Any]) -> None:
        """Take records, in order."""
        ...

    def finish(self) -> None:
        """Write what is left. The stream is closed by the caller."""
        ...


class PartFormat(Protocol):
    """How part files are written; picklable."""

    def encoder(self, stream: pa.NativeFile) -> PartEncoder:
        """Return the encoder of a new file."""
        ...


@final
@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """How the names of part files begin and end."""

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """Return a builder, as in PyFlink."""
        return OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return how names begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return how names end."""
        return self.part_suffix


@final
@dataclass(slots=True)
class OutputFileConfigBuilder:
    """Builds an `OutputFileConfig`."""

    prefix: str = "part"
    suffix: str = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """Set how names begin. A prefix that makes them hidden is refused."""
        if not prefix or prefix[0] in "._" or "/" in prefix:
            raise SinkError(f"the prefix {prefix!r} would hide the files; start with a letter or digit, without '/'")
        self.prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """Set how names end, for instance ".json"."""
        if "/" in suffix or suffix.endswith(IN_PROGRESS):
            raise SinkError(f"the suffix {suffix!r} cannot end the name of a file")
        self.suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        """Return the configuration."""
        return OutputFileConfig(self.prefix, self.suffix)


@final
@dataclass(frozen=True, slots=True)
class PartFolder:
    """Where part files go, how they are called, and at what size the next one begins."""

    place: Place
    names: OutputFileConfig
    part_bytes_max: int | None

    def stem(self, job_id: JobId, uid: str | None = None, subtask: int | None = None) -> str:
        """Return how the names of a job's files begin, or of one operator, or of one of its subtasks."""
        parts = [self.names.part_prefix, job_id[:8]]
        if uid is not None:
            parts.append(hashlib.blake2s(uid.encode(), digest_size=4).hexdigest())
        if subtask is not None:
            parts.append(str(subtask))
        return "-".join(parts) + "-"

    def pending(self, stem: str) -> list[Place]:
        """Return the pending files whose names begin so, but for those that are kept for a savepoint; blocks.

        Raises `SinkError` when the folder cannot be read.
        """
        try:
            infos = self.place.system.get_file_info(fs.FileSelector(self.place.path, allow_not_found=True))
        except _FAILURES as error:
            raise SinkError(f"cannot list the folder {str(self.place)!r}: {error}") from error
        files = (info.base_name for info in infos if info.type == fs.FileType.File)
        names = {name for name in files if name.startswith(f".{stem}")}
        kept = {name.removesuffix(KEPT) for name in names if name.endswith(KEPT)}
        pending = {name for name in names if name.endswith(IN_PROGRESS) and name.removesuffix(IN_PROGRESS) not in kept}
        return [self.place.child(name) for name in sorted(pending)]


@final
@dataclass(frozen=True, slots=True)
class PartFile:
    """A closed file that waits for its checkpoint: where it is, where it will be, and its size."""

    pending: Place
    final: Place
    size_bytes: int

    @property
    def mark(self) -> Place:
        """The file that says that this one is part of a savepoint."""
        return Place(self.pending.root, self.pending.path.removesuffix(IN_PROGRESS) + KEPT)


class PartSink(Sink[PartFile]):
    """A folder that receives part files, exactly once. One live job at a time writes to it."""

    def __init__(self, folder: PartFolder, part_format: PartFormat) -> None:
        self._folder = folder
        self._format = part_format

    def prepare(self, job_id: JobId) -> None:
        claim(self._folder.place, job_id)

    def discard(self, job_id: JobId) -> None:
        for leftover in self._folder.pending(self._folder.stem(job_id)):
            delete(leftover)

    def release(self, job_id: JobId) -> None:
        give_up(self._folder.place, job_id)

    def writer(self, context: SinkContext) -> PartWriter:
        return PartWriter(self._folder, self._format, context)

    def committer(self, context: SinkContext) -> PartCommitter:
        return PartCommitter(self._folder, context)


@final
class PartWriter(SinkWriter[PartFile]):
    """Writes the part files of one subtask and attempt. There is no file without records."""

    def __init__(self, folder: PartFolder, part_format: PartFormat, context: SinkContext) -> None:
        self._folder = folder
        self._format = part_format
        self._stem = f"{folder.stem(context.job_id, context.uid, context.subtask)}{context.attempt}-"
        self._count = 0
        self._open: OpenPart | None = None
        self._closed: list[PartFile] = []

    def write(self, records: list[Any]) -> None:
        if not records:
            return
        if self._open is None:
            self._open = OpenPart(self._folder.place, self._format, self._next_name())
        size_bytes = self._open.write(records)
        limit = self._folder.part_bytes_max
        if limit is not None and size_bytes >= limit:
            self._roll()

    def _next_name(self) -> str:
        name = f"{self._stem}{self._count}{self._folder.names.part_suffix}"
        self._count += 1
        return name

    def _roll(self) -> None:
        if self._open is not None:
            self._closed.append(self._open.finish())
            self._open = None

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[PartFile]:
        self._roll()
        prepared, self._closed = self._closed, []
        return prepared

    def close(self) -> None:
        unfinished, self._open = self._open, None
        dropped, self._closed = self._closed, []
        if unfinished is not None:
            unfinished.drop()
        for part in dropped:
            delete(part.pending)


@final
class OpenPart:
    """A file that is being written."""

    def __init__(self, folder: Place, part_format: PartFormat, name: str) -> None:
        self._pending = folder.child(f".{name}{IN_PROGRESS}")
        self._final = folder.child(name)
        try:
            self._stream = folder.system.open_output_stream(self._pending.path)
            self._encoder = part_format.encoder(self._stream)
        except _FAILURES as error:
            raise SinkError(
                f"cannot write {str(self._pending)!r} on host {socket.gethostname()}: {error}; "
                "the folder must exist and be the same for all hosts"
            ) from error

    def write(self, records: list[Any]) -> int:
        """Write records; return the size of the file in bytes so far."""
        try:
            self._encoder.write(records)
            return int(self._stream.tell())
        except _FAILURES as error:
            raise SinkError(f"cannot write {str(self._pending)!r}: {error}") from error

    def finish(self) -> PartFile:
        """Close the file; it now waits for its checkpoint."""
        try:
            self._encoder.finish()
            size_bytes = int(self._stream.tell())
            self._stream.close()
        except _FAILURES as error:
            raise SinkError(f"cannot write {str(self._pending)!r}: {error}") from error
        return PartFile(self._pending, self._final, size_bytes)

    def drop(self) -> None:
        """Remove the file, as far as that is possible: whoever restarts the subtask does it again."""
        try:
            self._encoder.finish()
            self._stream.close()
        except _FAILURES:
            return
        delete(self._pending)


@final
class PartCommitter(Committer[PartFile]):
    """Renames the part files of complete checkpoints, and removes those that will never be complete."""

    def __init__(self, folder: PartFolder, context: SinkContext) -> None:
        self._folder = folder
        self._stem = folder.stem(context.job_id, context.uid, context.subtask)
        self._attempt = context.attempt

    def commit(self, committables: list[PartFile]) -> None:
        for part in committables:
            _commit(part)

    def keep(self, committables: list[PartFile]) -> None:
        for part in committables:
            _mark(part)

    def recover(self, restored: list[PartFile]) -> None:
        kept = {part.pending for part in restored}
        for leftover in self._folder.pending(self._stem):
            if leftover not in kept and self._attempt_of(leftover) < self._attempt:
                delete(leftover)

    def _attempt_of(self, pending: Place) -> int:
        """A later attempt is another driver's, which has taken over the job: what it has written stays."""
        return int(pending.name.removeprefix(f".{self._stem}").partition("-")[0])


def _commit(part: PartFile) -> None:
    try:
        places = [part.pending.path, part.final.path, part.mark.path]
        pending, final, mark = part.pending.system.get_file_info(places)
        if final.is_file:
            _check_size(part, part.final, final.size)
            # Where renaming is copying and deleting, an earlier commit may have got no further than the copy.
            if pending.is_file:
                delete(part.pending)
        elif pending.is_file:
            _check_size(part, part.pending, pending.size)
            part.pending.system.move(part.pending.path, part.final.path)
        else:
            raise _lost(part)
        if mark.is_file:
            delete(part.mark)
    except FileNotFoundError as error:
        # A dead attempt that has not noticed yet may be committing the same checkpoint: it may win, once.
        if not part.final.system.get_file_info(part.final.path).is_file:
            raise _lost(part) from error
    except _FAILURES as error:
        raise SinkError(f"cannot rename {str(part.pending)!r} to {str(part.final)!r}: {error}") from error


def _mark(part: PartFile) -> None:
    """Keep a pending file. One that is being committed beside the loop needs no mark, and may be final before it."""
    try:
        with part.mark.system.open_output_stream(part.mark.path):
            pass
        if part.final.system.get_file_info(part.final.path).is_file:
            delete(part.mark)
    except _FAILURES as error:
        raise SinkError(f"cannot write {str(part.mark)!r}: {error}") from error


def _check_size(part: PartFile, place: Place, size_bytes: int) -> None:
    if size_bytes != part.size_bytes:
        raise SinkError(
            f"{str(place)!r} has {size_bytes} bytes instead of {part.size_bytes}: somebody else changed it; "
            "move it away if it is not needed, and restore the job from an older checkpoint"
        )


def _lost(part: PartFile) -> SinkError:
    return SinkError(
        f"output of a complete checkpoint is lost: neither {str(part.pending)!r} nor {str(part.final)!r} exists; "
        "put one of them back, or restore the job from an older checkpoint"
    )


def delete(place: Place) -> None:
    """Delete the file if it is there. Raises `SinkError` when that fails."""
    try:
        place.system.delete_file(place.path)
    except FileNotFoundError:
        return
    except _FAILURES as error:
        if place.system.get_file_info(place.path).is_file:
            raise SinkError(f"cannot remove {str(place)!r}: {error}") from error
