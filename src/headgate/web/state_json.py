"""The state of a job as JSON: the readable snapshots, the contents of a snapshot, and the rows of a state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from headgate import options
from headgate.checkpoint import paths
from headgate.ids import CheckpointId
from headgate.runtime.monitoring.checkpoint_record import CheckpointRecord, CheckpointStatus
from headgate.runtime.monitoring.statistics import Restore
from headgate.runtime.monitoring.statistics_json import Json
from headgate.snapshots.browser import OperatorOverview
from headgate.snapshots.rows import RowPage
from headgate.web.question import Question, ServedJob, whole_number

LATEST: Final = "latest"
SNAPSHOTS_MAX: Final = 50


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSnapshot:
    """A snapshot that can be read. `shown` is its location without credentials, for users."""

    id: CheckpointId
    is_savepoint: bool
    when_ms: int
    location: str
    shown: str | None

    def to_json(self) -> Json:
        """Return the snapshot as JSON."""
        kind = "savepoint" if self.is_savepoint else "checkpoint"
        return {"id": self.id, "kind": kind, "when": self.when_ms, "location": self.shown}


def snapshots(asked: Question) -> Json:
    """Return the newest readable snapshots, and the reason if no checkpoint is among them."""
    known = known_snapshots(asked.job)
    latest = next((each.id for each in known if not each.is_savepoint), None)
    return {
        "snapshots": [each.to_json() for each in known[:SNAPSHOTS_MAX]],
        "latest": latest,
        "why": why_no_checkpoint(asked.job) if latest is None else None,
    }


def known_snapshots(job: ServedJob) -> list[KnownSnapshot]:
    """Return the known savepoints and the retained checkpoints, newest first."""
    statistics = job.view.progress.statistics
    newest = (statistics.latest.completed, statistics.latest.savepoint)
    found = {record.checkpoint_id: record for record in (*statistics.history(), *newest) if record is not None}
    records = [record for record in found.values() if record.status is CheckpointStatus.COMPLETED]
    known = {each.id: each for each in (*_restored(job, statistics.latest.restored), *_completed(job, records))}
    ordered = sorted(known.values(), key=lambda each: each.id, reverse=True)
    checkpoints = [each.id for each in ordered if not each.is_savepoint]
    retained = checkpoints[: job.view.plan.settings.get(options.CHECKPOINTS_RETAINED)]
    return [each for each in ordered if each.is_savepoint or each.id in retained]


def _completed(job: ServedJob, records: list[CheckpointRecord]) -> Iterator[KnownSnapshot]:
    for record in records:
        savepoint = record.barrier.savepoint
        location = _of_checkpoint(job, record.checkpoint_id) if savepoint is None else savepoint.location
        if location is not None:
            yield KnownSnapshot(
                id=record.checkpoint_id,
                is_savepoint=savepoint is not None,
                when_ms=record.barrier.trigger_ms,
                location=location,
                shown=record.location,
            )


def _restored(job: ServedJob, restore: Restore | None) -> Iterator[KnownSnapshot]:
    """Yield the snapshot from which the job was restored. The location of a checkpoint is the checkpoint's folder."""
    if restore is None or restore.location is None:
        return
    folder = paths.checkpoint_folder(restore.checkpoint_id)
    is_own = not restore.is_savepoint and restore.location.endswith(folder)
    location = _of_checkpoint(job, restore.checkpoint_id) if is_own else restore.location
    if location is not None:
        yield KnownSnapshot(
            id=restore.checkpoint_id,
            is_savepoint=restore.is_savepoint,
            when_ms=restore.wall_ms,
            location=location if is_own or restore.is_savepoint else paths.below(location, folder),
            shown=restore.location,
        )


def _of_checkpoint(job: ServedJob, checkpoint_id: CheckpointId) -> str | None:
    return None if job.folder is None else paths.below(job.folder, paths.checkpoint_folder(checkpoint_id))


def known_snapshot(job: ServedJob, wanted: str) -> KnownSnapshot:
    """Return the snapshot of this id, or the latest checkpoint. Raises a LookupError that says what to do."""
    known = known_snapshots(job)
    if wanted == LATEST:
        found = next((each for each in known if not each.is_savepoint), None)
    else:
        number = whole_number(wanted)
        found = next((each for each in known if each.id == number), None)
    if found is None and wanted == LATEST:
        raise LookupError(why_no_checkpoint(job))
    if found is None:
        ids = ", ".join(str(each.id) for each in known[:SNAPSHOTS_MAX]) or "none"
        raise LookupError(
            f"snapshot {wanted} of job {job.view.job_id} is not known, or not kept any more; there are: {ids}"
        )
    return found


def why_no_checkpoint(job: ServedJob) -> str:
    """Return why no checkpoint can be read, and what to do."""
    plan = job.view.plan
    if job.folder is None:
        return (
            f"job {plan.job_id} keeps its checkpoints in the memory of its driver, where they cannot be shown: set "
            f"{options.CHECKPOINT_DIR.key}, and {options.CHECKPOINT_STORAGE.key} to filesystem; or take a savepoint"
        )
    if not plan.checkpointing:
        return (
            f"job {plan.job_id} makes no checkpoints, so its state cannot be shown: set "
            f"{options.CHECKPOINT_INTERVAL.key}; or take a savepoint"
        )
    return f"job {plan.job_id} has completed no checkpoint yet: wait for the first, or take a savepoint"


def overview(snapshot: KnownSnapshot, operators: list[OperatorOverview]) -> Json:
    """Return the operators of a snapshot with their states."""
    return {"snapshot": snapshot.to_json(), "operators": list(map(_operator, operators))}


def _operator(operator: OperatorOverview) -> Json:
    return {
        "uid": operator.uid,
        "name": operator.name,
        "parallelism": operator.parallelism,
        "maxParallelism": operator.max_parallelism,
        "bytes": operator.size_bytes,
        "trouble": operator.trouble,
        "states": [
            {
                "name": state.name,
                "kind": state.kind,
                "type": state.type,
                "entries": state.entries,
                "counted": state.is_counted,
                "bytes": state.size_bytes,
                "exact": state.is_exact,
            }
            for state in operator.states
        ],
    }


def rows(snapshot: KnownSnapshot, state: tuple[str, str], offset: int, page: RowPage) -> dict[str, Any]:
    """Return a page of rows of a state; `state` is the uid of the operator and the name of the state."""
    return {
        "snapshot": snapshot.to_json(),
        "uid": state[0],
        "state": state[1],
        "kind": page.kind,
        "type": page.type,
        "rows": [
            {
                "subtask": row.subtask,
                "key": row.key,
                "namespace": row.namespace,
                "value": row.value,
                "lastAccess": row.last_access_ms,
            }
            for row in page.rows
        ],
        "more": page.more,
        "nextOffset": offset + len(page.rows) if page.more else None,
        "entriesRead": page.entries_read,
        "groupsRead": page.groups_read,
        "groups": page.groups,
        "complete": page.is_complete,
    }
