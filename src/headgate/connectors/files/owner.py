"""The owner of a folder: a file in the folder names the job, so that two live jobs never write to the same folder."""

from __future__ import annotations

import json
import logging
import os
import socket
import uuid
from dataclasses import asdict, dataclass, fields
from typing import Final, final

from headgate.checkpoint.local_files import LocalFiles
from headgate.clock import SystemClock
from headgate.connectors.files.places import FAILURES, Place, make_folder
from headgate.errors import SinkError
from headgate.functions.sink import SinkIdentity

_log = logging.getLogger(__name__)

OWNER_FILE: Final = ".headgate-owner"

_TRIES: Final = 3
_PROCESS: Final = uuid.uuid4().hex
"""Distinguishes this process from an earlier one with the same id, such as process 1 of a restarted container."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FileOwner:
    """The job that writes to a folder, and the process that drives it."""

    job_id: str
    lineage: str = ""
    """The lineage of the job. It is empty in a file of a release without lineages."""
    host: str
    pid: int
    process: str
    since_ms: int

    @property
    def is_dead(self) -> bool:
        """Whether the process has certainly ended. False for processes on other hosts, whose state is unknown."""
        if self.host != socket.gethostname():
            return False
        return not self._runs

    @property
    def is_alive(self) -> bool:
        """Whether the process certainly runs."""
        return self.host == socket.gethostname() and self._runs

    @property
    def _runs(self) -> bool:
        return self.process == _PROCESS if self.pid == os.getpid() else _is_running(self.pid)

    def is_followed_by(self, other: FileOwner) -> bool:
        """Return whether `other` may take over the folder: it is the same job, started again.

        With other storage, the same job id is another lineage, which may not take over while the first job runs.
        """
        return self.job_id == other.job_id and (self.lineage == other.lineage or not self.is_alive)


def claim(folder: Place, identity: SinkIdentity) -> None:
    """Make the job the owner of the folder, and create the folder if it is missing. Blocks. A job may repeat the call.

    Raises `SinkError` when another job, or another lineage of the job, owns the folder and its process may be alive.
    """
    file = folder.child(OWNER_FILE)
    own = FileOwner(
        job_id=identity.job_id,
        lineage=str(identity.lineage),
        host=socket.gethostname(),
        pid=os.getpid(),
        process=_PROCESS,
        since_ms=SystemClock().wall_ms(),
    )
    try:
        make_folder(folder)
        _claim(folder, file, own)
    except FAILURES as error:
        raise SinkError(f"cannot write to the folder {str(folder)!r}: {error}") from error


def give_up(folder: Place, identity: SinkIdentity) -> None:
    """End the job's ownership of the folder, if the job is the owner. Blocks."""
    file = folder.child(OWNER_FILE)
    try:
        data = _read(file)
        found = None if data is None else _decode(data, file)
        if found is not None and (found.job_id, found.lineage) == (identity.job_id, str(identity.lineage)):
            file.system.delete_file(file.path)
    except FAILURES as error:
        raise SinkError(f"cannot remove {str(file)!r}: {error}; remove it before the next job") from error


def _claim(folder: Place, file: Place, own: FileOwner) -> None:
    for _ in range(_TRIES):
        if _try_create(file, own):
            return
        data = _read(file)
        if data is None:
            continue
        found = _decode(data, file)
        if found is None:
            _log.warning("%s is cut short, so it protects no job: job %s takes the folder over", file, own.job_id)
        elif not found.is_dead and not found.is_followed_by(own):
            raise SinkError(
                f"the folder {str(folder)!r} belongs to job {found.job_id} (lineage {found.lineage or 'unknown'}), "
                f"process {found.pid} on {found.host}; "
                f"choose another folder, or, if that job is dead, remove {str(file)!r}"
            )
        _remove_stale(file, data)
    raise SinkError(f"other jobs are taking the folder {str(folder)!r} right now; give each job a folder of its own")


def _try_create(file: Place, own: FileOwner) -> bool:
    """Create the file unless it exists. Only the local file system does that in one step; nobody sees a part of it."""
    data = json.dumps(asdict(own)).encode()
    if file.root:
        if file.system.get_file_info(file.path).is_file:
            return False
        with file.system.open_output_stream(file.path) as stream:
            stream.write(data)
        return _read(file) == data
    try:
        LocalFiles(file.folder.path).write(file.path, [data])
    except FileExistsError:
        return False
    return True


def _remove_stale(file: Place, stale: bytes) -> None:
    """Remove the file of a dead owner, unless another process has replaced the file meanwhile."""
    aside = Place(file.root, f"{file.path}-{uuid.uuid4().hex}")
    try:
        file.system.move(file.path, aside.path)
    except FileNotFoundError:
        return
    if _read(aside) in (stale, None):
        aside.system.delete_file(aside.path)
    else:
        aside.system.move(aside.path, file.path)


def _read(file: Place) -> bytes | None:
    """Return what the file holds, None if there is no file."""
    try:
        with file.system.open_input_stream(file.path) as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None


def _decode(data: bytes, file: Place) -> FileOwner | None:
    """Return the owner that the file names, or None if the file is cut short.

    A file is cut short by a loss of power, or by the kill of an earlier release while it wrote. No job depends on such
    a file: its writer wrote nothing else. Fields that a later release added are ignored. Raises `SinkError` for a file
    of another program.
    """
    try:
        found = json.loads(data)
    except ValueError:
        return None
    known = {field.name for field in fields(FileOwner)}
    if not isinstance(found, dict) or not known - {"lineage"} <= found.keys() or not isinstance(found["pid"], int):
        raise SinkError(f"{str(file)!r} does not name a job and its process; remove it if no job writes there")
    return FileOwner(**{name: found[name] for name in known & found.keys()})


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
