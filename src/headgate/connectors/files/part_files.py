"""Part files: what a subtask writes becomes visible as whole files, each exactly once.

A file is written under a hidden name, closed before its checkpoint is acknowledged, and moved once the checkpoint is
complete. Its name contains a digest of job, lineage and operator, then subtask and execution (attempt and driver), so
the name is unique: no file of another job or of an earlier run is overwritten, and the name tells which files a dead
attempt left behind. The name also contains the checkpoint that the file's records follow. A restored checkpoint holds
exactly the uncommitted files whose names contain earlier checkpoints.

    .part-<digest>-<subtask>-<execution>-<checkpoint>-<count>.jsonl.inprogress    being written, or pending
    .part-<digest>-<subtask>-<execution>-<checkpoint>-<count>.jsonl.kept          mark with the savepoints of the file
    <bucket>/part-<digest>-<subtask>-<execution>-<checkpoint>-<count>.jsonl       committed

All hidden files are in the base folder, whatever their bucket, so that one listing finds the leftovers.

A file is synced to the disk before its checkpoint is acknowledged, and its new name is synced after the move: neither
is lost when a host loses power.

Object stores have no rename: a commit copies the file and deletes the original. A reader sees the whole file or none,
and the next commit completes an interrupted one.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Final, final

from pyarrow import fs

from headgate.connectors.files.part_names import IN_PROGRESS, KEPT, OutputFileConfig
from headgate.connectors.files.places import FAILURES, Place, folders_to, is_hidden, sync_files, sync_folders, together
from headgate.errors import SinkError
from headgate.functions.sink import CommitLostError, Committer, RetriableCommitError, SinkContext, SinkIdentity

_NUMBERS: Final = re.compile(r"(\d+)-(\d+)(?:_[0-9a-f]+)?-(\d+)-\d")
_SAVEPOINT: Final = re.compile(r"[0-9a-f]{32}")


@final
@dataclass(frozen=True, slots=True)
class PartFolder:
    """The base folder of part files, and the names of the files."""

    place: Place
    names: OutputFileConfig

    def stem(self, identity: SinkIdentity) -> str:
        """Return the prefix of the names of a sink's files."""
        return f"{self.names.part_prefix}-{identity.digest()}-"

    def bucket(self, bucket: str) -> Place:
        """Return the folder of a bucket. Raises `SinkError` for a hidden bucket, or one not below the base path."""
        if not bucket:
            return self.place
        if any(not part or is_hidden(part) for part in bucket.split("/")):
            raise SinkError(
                f"{bucket!r} cannot be a folder of part files: give a path below the base path, with '/' between its "
                "parts, none of which starts with '.' or '_'"
            )
        return self.place.child(bucket)

    def _hidden(self, stem: str) -> set[str]:
        try:
            infos = self.place.system.get_file_info(fs.FileSelector(self.place.path, allow_not_found=True))
        except FAILURES as error:
            raise SinkError(f"cannot list the folder {str(self.place)!r}: {error}") from error
        files = (info.base_name for info in infos if info.type == fs.FileType.File)
        return {name for name in files if name.startswith(f".{stem}")}

    def pending(self, stem: str) -> list[Place]:
        """Return the pending files whose names begin with `stem`, except files kept for a savepoint. Blocks.

        Raises `SinkError` when the folder cannot be read.
        """
        names = self._hidden(stem)
        kept = {name.removesuffix(KEPT) for name in names if name.endswith(KEPT)}
        pending = {name for name in names if name.endswith(IN_PROGRESS) and name.removesuffix(IN_PROGRESS) not in kept}
        return [self.place.child(name) for name in sorted(pending)]

    def give_up(self, savepoints: frozenset[str]) -> None:
        """Stop keeping files for these savepoints, whichever lineage prepared the files. Blocks.

        Raises `SinkError` when the folder cannot be read or written to.
        """
        prefix = f"{self.names.part_prefix}-"
        for mark in (self.place.child(name) for name in sorted(self._hidden(prefix)) if name.endswith(KEPT)):
            if _savepoints_of(mark) <= savepoints:
                delete(mark)


@final
@dataclass(frozen=True, slots=True)
class PartFile:
    """A closed file that waits for its checkpoint, with its current place, its final place and its size."""

    pending: Place
    final: Place
    size_bytes: int

    @property
    def mark(self) -> Place:
        """The file that marks this one as part of savepoints."""
        return Place(self.pending.root, self.pending.path.removesuffix(IN_PROGRESS) + KEPT)


@final
class PartCommitter(Committer[PartFile]):
    """Moves the part files of complete checkpoints, and removes part files that no checkpoint will commit."""

    def __init__(self, folder: PartFolder, context: SinkContext) -> None:
        self._folder = folder
        self._context = context

    def secure(self, committables: list[PartFile]) -> None:
        try:
            sync_files(each for part in committables for each in (part.pending, part.mark))
            sync_folders({part.pending.folder for part in committables})
        except FAILURES as error:
            raise SinkError(f"cannot sync part files in {str(self._folder.place)!r} to the disk: {error}") from error

    def commit(self, committables: list[PartFile]) -> None:
        together(_commit, committables, self._folder.place)
        _sync_names(committables)

    def keep(self, committables: list[PartFile], savepoint: str) -> None:
        for part in committables:
            _mark(part, savepoint)

    def abort(self, committables: list[PartFile]) -> None:
        for part in committables:
            delete(part.pending)

    def recover(self, restored: list[PartFile]) -> None:
        kept = {part.pending for part in restored}
        stem = self._folder.stem(self._context)
        for leftover in self._folder.pending(stem):
            if leftover not in kept and self._is_left_to_us(leftover.name.removeprefix(f".{stem}")):
                delete(leftover)

    def _is_left_to_us(self, ending: str) -> bool:
        """Return whether this subtask has to remove the file: no subtask will commit it.

        After rescaling, subtask n looks after the old subtasks whose numbers modulo the parallelism are n. Files that
        follow a checkpoint before the restored one belong to the subtask that the restore assigned them to. Files of a
        later attempt stay: another driver has taken over the job and wrote them.
        """
        match = _NUMBERS.match(ending)
        if match is None:
            return False
        subtask, attempt, after = map(int, match.groups())
        context = self._context
        is_ours = subtask % context.parallelism == context.subtask
        return is_ours and attempt < context.attempt and after >= (context.restored_id or 0)


def _sync_names(parts: list[PartFile]) -> None:
    """Make the final names of the files durable, and the folders that were created for them."""
    try:
        sync_folders({each for part in parts for each in folders_to(part.pending.folder, part.final.folder)})
    except FAILURES as error:
        raise RetriableCommitError(f"cannot sync the names of {len(parts)} files to the disk: {error}") from error


def _commit(part: PartFile) -> None:
    try:
        places = [part.pending.path, part.final.path, part.mark.path]
        pending, final, mark = part.pending.system.get_file_info(places)
        if final.is_file:
            _check_size(part, part.final, final.size)
            # Without a rename, an earlier commit may have copied the file and not deleted the original.
            if pending.is_file:
                delete(part.pending)
        elif pending.is_file:
            _check_size(part, part.pending, pending.size)
            make_folder(part.pending, part.final)
            part.pending.system.move(part.pending.path, part.final.path)
        else:
            raise _missing(part)
        if mark.is_file:
            delete(part.mark)
    except FAILURES as error:
        # An attempt that was replaced may still commit the same checkpoint, and be first: the retry finds the file.
        raise RetriableCommitError(f"cannot move {str(part.pending)!r} to {str(part.final)!r}: {error}") from error


def make_folder(pending: Place, final_place: Place) -> None:
    """Create the folder of a file's final place, if it is not the folder that the file is written in."""
    if final_place.folder != pending.folder:
        final_place.system.create_dir(final_place.folder.path, recursive=True)


def _mark(part: PartFile, savepoint: str) -> None:
    """Mark a pending file as part of a savepoint. A file that an I/O thread commits meanwhile needs no mark."""
    try:
        _add_savepoint(part.mark, savepoint)
        if part.final.system.get_file_info(part.final.path).is_file:
            delete(part.mark)
    except FAILURES as error:
        raise SinkError(f"cannot write {str(part.mark)!r}: {error}") from error


def _add_savepoint(mark: Place, savepoint: str) -> None:
    """Append a savepoint to the mark. If this process dies meanwhile, the savepoints already in the mark stay."""
    if mark.root:  # a write to an object store is all or nothing
        named = {*_savepoints_of(mark), savepoint}
        with mark.system.open_output_stream(mark.path) as stream:
            stream.write("\n".join(sorted(named)).encode())
    else:
        with open(mark.path, "ab") as file:
            file.write(f"\n{savepoint}\n".encode())  # the first newline ends a name that was cut short


def _savepoints_of(mark: Place) -> frozenset[str]:
    """Return the savepoints that a mark names, none if there is no mark.

    A name that was cut short is left out: no subtask has acknowledged that savepoint, so it never became complete.
    """
    try:
        with mark.system.open_input_stream(mark.path) as stream:
            lines = bytes(stream.read()).decode(errors="replace").split()
    except FileNotFoundError:
        return frozenset()
    except FAILURES as error:
        raise SinkError(f"cannot read {str(mark)!r}: {error}") from error
    return frozenset(filter(_SAVEPOINT.fullmatch, lines))


def _check_size(part: PartFile, place: Place, size_bytes: int) -> None:
    if size_bytes != part.size_bytes:
        raise CommitLostError(
            f"{str(place)!r} has {size_bytes} bytes instead of {part.size_bytes}: another program changed it; "
            "move it away if it is not needed, and restore the job from an older checkpoint"
        )


def _missing(part: PartFile) -> SinkError:
    folder = part.pending.folder
    if folder.system.get_file_info(folder.path).type == fs.FileType.NotFound:
        return RetriableCommitError(f"host {socket.gethostname()} does not see the folder {str(folder)!r}")
    return CommitLostError(
        f"output of a complete checkpoint is lost: neither {str(part.pending)!r} nor {str(part.final)!r} exists; "
        "put one of them back and start the job from its checkpoint again, or from an older one"
    )


def delete(place: Place) -> None:
    """Delete the file if it is there. Raises `SinkError` when that fails."""
    try:
        place.system.delete_file(place.path)
    except FileNotFoundError:
        return
    except FAILURES as error:
        if place.system.get_file_info(place.path).is_file:
            raise SinkError(f"cannot remove {str(place)!r}: {error}") from error
