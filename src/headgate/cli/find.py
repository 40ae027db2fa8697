"""Finds jobs: by the addresses that drivers publish for their user on this machine, and by folders in storage.

A command that names no job gets the only job whose driver may be running, or the job that its user chooses.
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import click

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.address import DriverAddress, RunDirectory, is_alive, read_address
from headgate.checkpoint.seal import is_torn
from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.formatting import moment, print_table
from headgate.ids import CheckpointId, JobId

if TYPE_CHECKING:
    from headgate.checkpoint.drivers.job_records import JobResult
    from headgate.checkpoint.store import CheckpointStore


_JOB_ID: Final = re.compile(r"[0-9a-f]{32}")
_PREFIX: Final = re.compile(r"[0-9a-f]{4,32}")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """A job that has an address on this machine, or a folder in storage: `folder` is the folder's location."""

    job_id: JobId
    address: DriverAddress | None = None
    folder: str | None = None
    result: JobResult | None = None

    @property
    def name(self) -> str | None:
        """The job's name, None if its driver has left no address."""
        return None if self.address is None else self.address.job_name

    def is_lost(self) -> bool:
        """Return whether the driver ran on this machine, and has ended without removing its address."""
        return self.address is not None and self.address.host == socket.gethostname() and not is_alive(self.address)


def find_jobs(storage: str | None) -> list[FoundJob]:
    """Return all jobs with an address on this machine or a folder in storage. Blocks."""
    found = {address.job_id: _of_address(address) for address in RunDirectory.of_user().read()}
    if storage is not None:
        found.update({job.job_id: job for job in _stored(storage)})
    return list(found.values())


def find_job(reference: str, storage: str | None) -> FoundJob:
    """Return the job of this id, unique prefix of an id, or name. Raises CommandFailedError. Blocks."""
    jobs = find_jobs(storage)
    found = [job for job in jobs if job.job_id == reference]
    if not found and _PREFIX.fullmatch(reference):
        found = [job for job in jobs if job.job_id.startswith(reference)]
    if not found:
        named = [job for job in jobs if job.name == reference]
        found = [job for job in named if not job.is_lost()] or named
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandFailedError(
            ExitCode.NO_SUCH_JOB,
            f"{reference!r} matches {len(found)} jobs: {', '.join(job.job_id for job in found)}. Give more of the id",
        )
    raise CommandFailedError(ExitCode.NO_SUCH_JOB, _not_found(reference, storage))


def _not_found(reference: str, storage: str | None) -> str:
    if storage is None:
        where = "on this machine"
        advice = (
            "to find a job of another machine or user, name its storage with --storage DIR; jobs in batch mode "
            "cannot be found"
        )
    else:
        where, advice = f"on this machine or in {storage}", "is it the storage that the job was started with?"
    return f"there is no job {reference!r} {where}. `headgate list --all` shows what there is; {advice}"


def _of_address(address: DriverAddress) -> FoundJob:
    return FoundJob(job_id=address.job_id, address=address, folder=address.storage)


def _stored(storage: str) -> list[FoundJob]:
    from headgate.checkpoint.file_store import FileSystemStore  # noqa: PLC0415  # Arrow takes long to load

    names = FileSystemStore.open_folder(storage).list_folders()
    return [
        _stored_job(JobId(name), paths.job_folder(storage, JobId(name))) for name in names if _JOB_ID.fullmatch(name)
    ]


def _stored_job(job_id: JobId, folder: str) -> FoundJob:
    from headgate.checkpoint.drivers.job_records import read_result  # noqa: PLC0415

    store = open_folder(folder)
    return FoundJob(job_id=job_id, address=read_address(store), folder=folder, result=read_result(store))


def open_folder(location: str) -> CheckpointStore:
    """Return the folder of a job. Raises StorageError."""
    from headgate.checkpoint.file_store import FileSystemStore  # noqa: PLC0415

    return FileSystemStore.open_folder(location)


def complete_checkpoints(folder: str) -> Sequence[CheckpointId]:
    """Return the checkpoints in a job's folder that a job can start from, the oldest first. Blocks."""
    store = open_folder(folder)
    ids = {paths.checkpoint_of(path) for path in store.list_files("")} - {None}
    known = sorted(id_ for id_ in ids if id_ is not None)
    found = [(id_, store.read(paths.metadata(id_))) for id_ in known]
    return [id_ for id_, data in found if data is not None and not is_torn(data)]


def gone(job: FoundJob) -> CommandFailedError:
    """Return the error for a job whose driver has ended without a result."""
    assert job.address is not None
    own = job.address
    last = _last_checkpoint(job)
    advice = "no checkpoint of it is left: start its program again with `headgate run`"
    if last is not None:
        advice = f"its last checkpoint is {last}; start it again with `headgate run -s {last} <its program>`"
    return CommandFailedError(
        ExitCode.UNREACHABLE,
        f"the driver of job {job.job_id} ({job.name}), process {own.pid} on {own.host}, does not answer at {own.url}: "
        f"it ended without a result; {advice}",
    )


def _last_checkpoint(job: FoundJob) -> str | None:
    folder = job.folder
    ids = [] if folder is None else complete_checkpoints(folder)
    return paths.below(str(folder), paths.checkpoint_folder(ids[-1])) if ids else None


def chosen_job(storage: str | None) -> FoundJob:
    """Return the only job whose driver may be running; on a terminal, the user chooses among several. Blocks.

    Raises CommandFailedError when there is no job, or several and no terminal.
    """
    jobs = [job for job in find_jobs(storage) if job.address is not None and job.result is None and not job.is_lost()]
    if len(jobs) == 1:
        return jobs[0]
    if not jobs or not (sys.stdin.isatty() and sys.stdout.isatty()):
        what = "no job runs here" if not jobs else f"{len(jobs)} jobs run here"
        raise CommandFailedError(ExitCode.NO_SUCH_JOB, f"{what}: name one; `headgate list` shows what there is")
    started = [None if job.address is None else moment(job.address.started_ms) for job in jobs]
    rows = [(at + 1, job.job_id, job.name, when) for at, (job, when) in enumerate(zip(jobs, started, strict=True))]
    print_table(["", "ID", "NAME", "STARTED"], rows)
    number: int = click.prompt("Which one?", type=click.IntRange(1, len(jobs)), default=1)
    return jobs[number - 1]
