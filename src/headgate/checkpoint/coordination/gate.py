"""What follows a completion and the end of an attempt: deletions, aborts, and who waits for them. Pure.

retention   one order at a time, as deleting may take long; the next one covers all that were due meanwhile
abort       of what an ended attempt has left behind for commits for all, once nothing is in doubt
restore     begins when nothing is in doubt and no abort is due; only the newest attempt that waits is restored
end         begins when, besides, no retention is under way
"""

from __future__ import annotations

from typing import assert_never, final

from headgate.checkpoint.coordination import vocabulary as c
from headgate.ids import Attempt, CheckpointId


@final
class FollowUp:
    """Orders the clean-up, and begins the restore or the end that waits for it. Owned by the coordinator."""

    def __init__(self) -> None:
        self._to_keep: tuple[CheckpointId, ...] | None = None
        self._retaining = False
        self._to_abort = False
        self._aborting = False
        self._restore: Attempt | None = None
        self._end_awaited = False

    def handle(self, event: c.FollowUpEvent) -> list[c.CoordinatorEffect]:
        """Return what to do at once; `go_on` follows."""
        match event:
            case c.CheckpointsRetained():
                self._retaining = False
                return [] if self._to_keep is None else self.retain(self._to_keep)
            case c.OutputAborted():
                self._aborting = False
            case c.RestoreAwaited(attempt=attempt):
                self._restore = attempt
            case c.EndAwaited():
                self._end_awaited = True
            case _:
                assert_never(event)
        return []

    def retain(self, keep: tuple[CheckpointId, ...]) -> list[c.CoordinatorEffect]:
        """Have only these completed checkpoints kept."""
        if self._retaining:
            self._to_keep = keep
            return []
        self._to_keep, self._retaining = None, True
        return [c.RetainCheckpoints(keep=keep)]

    def abort_output(self) -> None:
        """Have aborted what an ended attempt has left behind, once nothing is in doubt."""
        self._to_abort = True

    def go_on(self) -> list[c.CoordinatorEffect]:
        """Return what may begin, now that nothing is in doubt."""
        effects: list[c.CoordinatorEffect] = []
        if self._to_abort and not self._aborting:
            self._to_abort, self._aborting = False, True
            effects.append(c.AbortOutput())
        if self._restore is not None and not self._aborting:
            effects.append(c.BeginRestore(attempt=self._restore))
            self._restore = None
        if self._end_awaited and not (self._retaining or self._aborting):
            effects.append(c.BeginEnd())
            self._end_awaited = False
        return effects
