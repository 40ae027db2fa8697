"""Records in the job's folder: the attempts that drivers have begun, the lineage of the sinks, the job's result.

Sinks write under a *lineage*. The driver records it before a sink writes anything outside the job. A driver that
continues from a checkpoint of the folder keeps the checkpoint's lineage. Every other start, from the beginning or from
another job's snapshot, begins the new lineage that was drawn for the driver's submission. So output that an earlier run
has marked as committed does not count for this run. The record is the file's name, so it cannot be torn. The record of
the driver with the highest epoch counts.

All functions block, and raise StorageError when storage fails.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.seal import is_torn, seal, unseal
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import DamagedFileError, StorageError
from headgate.ids import Attempt, Lineage
from headgate.job_status import JobStatus


def begin_attempt(store: CheckpointStore, attempt: Attempt) -> None:
    """Record that the attempt was begun, so that no later driver of the job reuses its number."""
    store.write(paths.attempt_marker(attempt), [b""])


def last_attempt(store: CheckpointStore) -> Attempt:
    """Return the highest attempt that any driver of the job has begun; 0 for none."""
    markers = store.list_files(paths.ATTEMPTS)
    return max(map(paths.attempt_of_marker, markers), default=Attempt(0))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """The end of a job: its status, the cause if it failed, and the wall clock in milliseconds.

    `owner` is the driver that wrote the result.

    `kept`: the job's checkpoints stay. A later driver that finds the result then deletes nothing, whatever its own
    settings say.
    """

    status: JobStatus
    cause: str | None
    ended_ms: int
    owner: str = ""
    kept: bool = True


def write_result(store: CheckpointStore, result: JobResult) -> None:
    """Write the durable result of the job, before its checkpoints are deleted. A repeated call is harmless."""
    existing = store.read(paths.RESULT)
    if existing is not None and not is_torn(existing) and result.owner in ("", _result_of(existing, store).owner):
        return
    store.delete([paths.RESULT])
    store.write(paths.RESULT, [seal(asdict(result) | {"status": result.status.word})])


def read_result(store: CheckpointStore) -> JobResult | None:
    """Return the result of the job, None if it has not ended. Raises DamagedFileError when the result has changed.

    A torn result counts as none while the folder has a driver's epoch: the driver was writing the result, and the job
    continues. Without an epoch the result was whole once, because epochs are deleted after it.
    """
    data = store.read(paths.RESULT)
    if data is None:
        return None
    if not is_torn(data):
        return _result_of(data, store)
    if store.list_files(paths.EPOCHS):
        return None
    raise DamagedFileError(
        f"{store.locate(paths.RESULT)} is empty or cut short, but the job had ended: nothing else is left of it. "
        "Bring the file back, or delete it if the job is to run again from the beginning"
    )


def _result_of(data: bytes, store: CheckpointStore) -> JobResult:
    document = unseal(data, store.locate(paths.RESULT))
    try:
        status = JobStatus.of_word(document["status"])
    except ValueError:
        raise StorageError(
            f"{store.locate(paths.RESULT)} says that the job is {document['status']!r}, which this release does not "
            "know: use the release that wrote it"
        ) from None
    return JobResult(
        status=status,
        cause=document["cause"],
        ended_ms=document["ended_ms"],
        owner=document.get("owner", ""),
        kept=document.get("kept", True),
    )


_NAME: Final = re.compile(r"([0-9]+)-([0-9a-z]*)-([0-9]+)-([0-9a-f]{32})")


def read_lineage(store: CheckpointStore) -> Lineage | None:
    """Return the lineage that the job's drivers have recorded last, None for none."""
    recorded = _recorded(store)
    return recorded[max(recorded)] if recorded else None


def record_lineage(store: CheckpointStore, own: EpochOwner, lineage: Lineage) -> None:
    """Record the lineage that `own` begins. Check the lease before anything is written under the lineage."""
    store.write(_path(own, lineage), [b""])


def earlier_records(store: CheckpointStore) -> list[str]:
    """Return the files of all lineage records except the record that counts."""
    recorded = _recorded(store)
    newest = max(recorded, default=None)
    return [_path(owner, lineage) for owner, lineage in recorded.items() if owner != newest]


def _recorded(store: CheckpointStore) -> dict[EpochOwner, Lineage]:
    names = (_NAME.fullmatch(path.rpartition("/")[2]) for path in store.list_files(paths.LINEAGES))
    return {EpochOwner(int(name[1]), name[2]): Lineage(name[4], int(name[3])) for name in names if name is not None}


def _path(owner: EpochOwner, lineage: Lineage) -> str:
    return paths.lineage(str(owner), lineage.began_ms, lineage.digits)
