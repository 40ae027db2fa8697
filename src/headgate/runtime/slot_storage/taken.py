"""What a subtask hands over of a snapshot, to be walked and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.elements import Barrier
from headgate.ids import SubtaskId
from headgate.operators.base import Operator, OperatorSnapshot
from headgate.runtime.slot_storage.in_flight import Gathering


@final
@dataclass(slots=True, kw_only=True)
class TakenSnapshot:
    """The synchronous part of a subtask's snapshot is done; what remains is to walk keyed state and to write.

    `in_flight` is there for an unaligned one; `alignment_ms` and `processed_bytes` are known once that has ended.
    `pending` is as in `SubtaskState`.
    """

    subtask: SubtaskId
    barrier: Barrier
    parts: list[tuple[Operator, OperatorSnapshot]]
    sync_ms: float
    alignment_ms: float
    start_delay_ms: float = 0.0
    processed_bytes: int = 0
    pending: int = 0
    in_flight: Gathering | None = None
    async_since_ms: float = 0.0

    @property
    def head_uid(self) -> str:
        """The uid of the first operator: `parts` begins with the last one's."""
        return self.parts[-1][1].uid
