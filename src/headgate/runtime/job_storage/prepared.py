"""What sinks have prepared for commits in one step for all subtasks, as far as the driver has heard of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from headgate.checkpoint.handles import ListStateHandle
from headgate.checkpoint.messages import SubtaskAcked
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.sink import COMMITTABLES_STATE

Prepared = Mapping[tuple[str, SubtaskId], ListStateHandle]
"""The committables of subtasks that are not final, by the uid of the sink."""


@final
class PreparedOutput:
    """The newest committables of each subtask, which hold the older ones that are not final. Owned by the loop."""

    def __init__(self) -> None:
        self._attempt: Attempt | None = None
        self._wanted = CheckpointId(0)
        self._acked: dict[SubtaskId, CheckpointId] = {}
        self._prepared: dict[tuple[str, SubtaskId], ListStateHandle] = {}

    def begin(self, attempt: Attempt, restored: CheckpointId | None) -> None:
        """An attempt starts from a snapshot of this id, if from any: what that holds is committed."""
        self._attempt = attempt
        self._wanted = restored or CheckpointId(0)
        self._acked, self._prepared = {}, {}

    def acked(self, message: SubtaskAcked) -> None:
        """A subtask has acknowledged a checkpoint: it says what it has prepared up to it."""
        if message.attempt != self._attempt or message.checkpoint_id < self._acked.get(message.subtask, 0):
            return
        self._acked[message.subtask] = message.checkpoint_id
        for operator in message.state.operators:
            if COMMITTABLES_STATE in operator.lists:
                self._prepared[operator.uid, message.subtask] = operator.lists[COMMITTABLES_STATE]

    def saving(self, checkpoint_id: CheckpointId) -> None:
        """The manifest of a savepoint is being written: who starts from it may commit what it holds, at any time."""
        self._wanted = max(self._wanted, checkpoint_id)

    def take(self, completed: CheckpointId | None) -> tuple[CheckpointId, Prepared]:
        """Return what the attempt, which has ended, has prepared, and after which checkpoint that is of no use.

        `completed` is the newest complete checkpoint. What was prepared up to it, or up to a savepoint, is committed or
        may be; what was prepared for later ones is in no snapshot.
        """
        prepared, self._prepared = self._prepared, {}
        return max(self._wanted, completed or CheckpointId(0)), prepared
