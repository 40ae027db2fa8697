"""How far the subtasks of an attempt are: which have recovered, have ended, and have committed. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate.ids import SubtaskId


@final
@dataclass(slots=True)
class SubtaskProgress:
    """The subtasks of a job, and how far they are in the current attempt. Owned by the coordinator.

    `committing` are those that report commits; `recovering` those that have data in flight still to process.
    """

    subtasks: frozenset[SubtaskId]
    committing: frozenset[SubtaskId]
    recovering: set[SubtaskId] = field(default_factory=set)
    ended: set[SubtaskId] = field(default_factory=set)
    committed: set[SubtaskId] = field(default_factory=set)

    def begin(self, recovering: frozenset[SubtaskId]) -> None:
        """A new attempt begins."""
        self.recovering = set(recovering)
        self.ended.clear()
        self.committed.clear()

    @property
    def all_ended(self) -> bool:
        """Whether no subtask has any data to process."""
        return self.ended == self.subtasks

    @property
    def all_committed(self) -> bool:
        """Whether all that is to be committed is."""
        return self.committing <= self.committed
