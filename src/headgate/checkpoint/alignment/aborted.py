"""Checkpoints that the job master has given up before their barriers came."""

from __future__ import annotations

from typing import Final, final

from headgate.ids import CheckpointId

ABORTED_IDS_MAX: Final = 128
"""Ids kept of checkpoints aborted before their barrier; the oldest is forgotten first, which costs one alignment."""


@final
class AbortedAhead:
    """Such ids, all above those that a strategy has dealt with."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: set[CheckpointId] = set()

    def __contains__(self, checkpoint_id: CheckpointId) -> bool:
        return checkpoint_id in self._ids

    def add(self, checkpoint_id: CheckpointId) -> None:
        """Keep an id."""
        self._ids.add(checkpoint_id)
        if len(self._ids) > ABORTED_IDS_MAX:
            self._ids.remove(min(self._ids))

    def advance(self, checkpoint_id: CheckpointId) -> None:
        """Forget all ids up to this one, which has been dealt with."""
        self._ids = {aborted for aborted in self._ids if aborted > checkpoint_id}

    def is_above(self, checkpoint_id: CheckpointId) -> bool:
        """Return whether all ids are above this one."""
        return all(aborted > checkpoint_id for aborted in self._ids)
