"""The newest savepoint of a job that goes on, which a restart may begin from instead of an older checkpoint.

That is for jobs with `execution.checkpointing.prefer-checkpoint-for-recovery: false`, where it is exactly once. The
savepoint is its user's, and may be gone at the restart after: whatever was done when it was restored must do no harm
if the job then goes back to the checkpoint. A sink that had committed would write twice; a source that had
acknowledged would not read again. So such jobs restart from the checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headgate import options
from headgate.checkpoint.restore.resolve import OwnSavepoint, Resolution, savepoint_ahead
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, check_files, open_snapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import RestoreError, StorageError
from headgate.graph.job_graph import JobGraph
from headgate.runtime.job_storage.sink_commits import repeats_output

_log = logging.getLogger(__name__)


def open_savepoint(
    plan: JobGraph,
    savepoint: OwnSavepoint | None,
    found: Resolution,
    open_store: Callable[[str], CheckpointStore],
    *,
    acknowledges: bool,
) -> OpenedSnapshot | None:
    """Return the savepoint if an attempt is to begin from it, None: from what was `found`. Warns when that is older.

    `acknowledges`: sources of the job acknowledge what they have read. Blocks.
    """
    ahead = None if plan.settings.get(options.PREFER_CHECKPOINT) else savepoint_ahead(savepoint, found)
    if ahead is None:
        return None
    obstacle = _obstacle(plan, acknowledges=acknowledges)
    try:
        if obstacle is None:
            return _opened(ahead, open_store)
    except (RestoreError, StorageError) as error:
        obstacle = str(error)
    pass_over(ahead, obstacle)
    return None


def _obstacle(plan: JobGraph, *, acknowledges: bool) -> str | None:
    """Return why no attempt of the job may begin from a savepoint, None if it may."""
    if repeats_output(plan) and not plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT):
        return "a sink of the job commits in two phases, and would commit what the savepoint holds"
    if acknowledges:
        return "a source of the job acknowledges what it has read, and would acknowledge what the savepoint holds"
    return None


def _opened(savepoint: OwnSavepoint, open_store: Callable[[str], CheckpointStore]) -> OpenedSnapshot:
    opened = open_snapshot(savepoint.location, open_store)
    if opened.manifest.checkpoint_id != savepoint.checkpoint_id:
        raise RestoreError(f"another snapshot is there now, of checkpoint {opened.manifest.checkpoint_id}")
    check_files(opened)
    return opened


def pass_over(savepoint: OwnSavepoint, reason: str) -> None:
    """Warn that no attempt begins from the savepoint."""
    _log.warning(
        "the job restarts from its newest checkpoint, though the savepoint %s is newer: %s", savepoint.location, reason
    )
