"""The gate that an attempt must pass before it restores from storage, and the job before it ends. Pure.

    in doubt    a manifest, the record of a stop or a commit for all was ordered, and its outcome is not known
    abort       aborts output that an ended attempt prepared for commits for all; begins when nothing is in doubt
    retention   deletes checkpoints, which may take long: one order at a time; the next order covers all that became due

The gate is open for a restore when nothing is in doubt and no abort is due or under way. It is open for the end of the
job when, in addition, no retention is under way. The job master asks the gate after each event, and waits while it is
shut.
"""

from __future__ import annotations

from typing import final

from headgate.checkpoint.coordination import vocabulary as c
from headgate.ids import CheckpointId


@final
class Gate:
    """Knows what is in doubt, and orders aborts and retentions. Owned by the coordinator.

    >>> gate = Gate()
    >>> gate.retain((CheckpointId(1),))
    [RetainCheckpoints(keep=(1,))]
    >>> gate.storing = CheckpointId(2)
    >>> gate.in_doubt, gate.is_open_for_restore
    (2, False)
    >>> gate.storing = None
    >>> gate.is_open_for_restore, gate.is_open_for_end
    (True, False)
    """

    def __init__(self) -> None:
        self.storing: CheckpointId | None = None
        """The checkpoint whose manifest or commit for all is in doubt."""
        self.recording: CheckpointId | None = None
        """The savepoint that the job is to end with, while its record or its commit for all is in doubt."""
        self._to_keep: tuple[CheckpointId, ...] | None = None
        self._retaining = False
        self._to_abort = False
        self._aborting = False

    @property
    def in_doubt(self) -> CheckpointId | None:
        """The checkpoint whose manifest, stop or commit for all has been ordered and is unanswered."""
        return self.storing or self.recording

    @property
    def is_open_for_restore(self) -> bool:
        """Whether an attempt may look for the checkpoint that it starts from."""
        return self.in_doubt is None and not (self._to_abort or self._aborting)

    @property
    def is_open_for_end(self) -> bool:
        """Whether the result of the job may be written."""
        return self.is_open_for_restore and not self._retaining

    def retain(self, keep: tuple[CheckpointId, ...]) -> list[c.CoordinatorEffect]:
        """Order the deletion of all complete checkpoints except `keep`, or remember it while one is under way."""
        if self._retaining:
            self._to_keep = keep
            return []
        self._to_keep, self._retaining = None, True
        return [c.RetainCheckpoints(keep=keep)]

    def retained(self) -> list[c.CoordinatorEffect]:
        """Note that a retention is done. Order the next one, if it became due meanwhile."""
        self._retaining = False
        return [] if self._to_keep is None else self.retain(self._to_keep)

    def abort_output(self) -> None:
        """Note that the output of an ended attempt is to be aborted. `due` orders it once nothing is in doubt."""
        self._to_abort = True

    def output_aborted(self) -> None:
        """Note that the abort is done."""
        self._aborting = False

    def due(self) -> list[c.CoordinatorEffect]:
        """Return the abort that may begin now, if one is due."""
        if self.in_doubt is not None or self._aborting or not self._to_abort:
            return []
        self._to_abort, self._aborting = False, True
        return [c.AbortOutput()]
