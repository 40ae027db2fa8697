"""The newest savepoint of a job that goes on, which a restart may begin from instead of an older checkpoint.

That is for jobs with `execution.checkpointing.prefer-checkpoint-for-recovery: false`, where it is exactly once. The
savepoint is its user's, and may be gone at the restart after: whatever was done when it was restored must do no harm
if the job then goes back to the checkpoint. A sink that had committed would write twice; a source that had
acknowledged would not read again. So such jobs restart from the checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import final

from headgate import options
from headgate.checkpoint.restore.resolve import OwnSavepoint, Resolution, savepoint_ahead
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, check_files, open_snapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import RestoreError, StorageError
from headgate.graph.physical import JobPlan
from headgate.ids import CheckpointId
from headgate.runtime.master.sinks import repeats_output

_log = logging.getLogger(__name__)


@final
class NewestSavepoint:
    """What one driver knows of the savepoints that it has completed. `open` blocks."""

    def __init__(self) -> None:
        self.acknowledges = False
        """Whether sources of the job acknowledge what they have read."""
        self._known: OwnSavepoint | None = None

    def completed(self, checkpoint_id: CheckpointId, location: str) -> None:
        """A savepoint is complete, which the job is not to end with."""
        if self._known is None or self._known.checkpoint_id < checkpoint_id:
            self._known = OwnSavepoint(location, checkpoint_id)

    def is_damaged(self, location: str | None, reason: str) -> bool:
        """Return whether an attempt that failed on a damaged file had begun from it. None does again."""
        if self._known is None or self._known.location != location:
            return False
        _passed_over(self._known, reason)
        self._known = None
        return True

    def open(
        self, plan: JobPlan, found: Resolution, open_store: Callable[[str], CheckpointStore]
    ) -> OpenedSnapshot | None:
        """Return it if an attempt is to begin from it, None: from what was `found`. Warns when that is older."""
        ahead = None if plan.settings.get(options.PREFER_CHECKPOINT) else savepoint_ahead(self._known, found)
        if ahead is None:
            return None
        obstacle = self._obstacle(plan)
        try:
            if obstacle is None:
                return _opened(ahead, open_store)
        except (RestoreError, StorageError) as error:
            obstacle = str(error)
        _passed_over(ahead, obstacle)
        return None

    def _obstacle(self, plan: JobPlan) -> str | None:
        """Return why no attempt of the job may begin from a savepoint, None if it may."""
        if repeats_output(plan) and not plan.settings.get(options.ALLOW_DUPLICATE_OUTPUT):
            return "a sink of the job commits in two phases, and would commit what the savepoint holds"
        if self.acknowledges:
            return "a source of the job acknowledges what it has read, and would acknowledge what the savepoint holds"
        return None


def _opened(savepoint: OwnSavepoint, open_store: Callable[[str], CheckpointStore]) -> OpenedSnapshot:
    opened = open_snapshot(savepoint.location, open_store)
    if opened.manifest.checkpoint_id != savepoint.checkpoint_id:
        raise RestoreError(f"another snapshot is there now, of checkpoint {opened.manifest.checkpoint_id}")
    check_files(opened)
    return opened


def _passed_over(savepoint: OwnSavepoint, reason: str) -> None:
    _log.warning(
        "the job restarts from its newest checkpoint, though the savepoint %s is newer: %s", savepoint.location, reason
    )
