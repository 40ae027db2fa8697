"""Collect: sends records to the program that called `execute_and_collect`.

With checkpoints, the operator keeps the records before a barrier in the snapshot until the checkpoint is complete. Then
it sends them. After a restore it sends them again, and the receiver drops parts that it already has. At another
parallelism the parts of one subtask stay together and keep the subtask's index. Without checkpoints the operator sends
records at once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

from headgate.elements import Barrier, Batch, sendable
from headgate.errors import SerializationError
from headgate.ids import CheckpointId
from headgate.operators.base import Operator, OperatorContext, OperatorSnapshot, UserCodeError
from headgate.operators.sink import CommittingFactory
from headgate.state.operator.list_elements import ListElements
from headgate.types.typed_key import key_hash_code

UNSENT_STATE: Final = "unsent"

Unsent = tuple[CheckpointId, int, int, bytes]
"""A part of the records before a checkpoint's barrier: checkpoint, subtask, number of the part, and pickled records.

`subtask` received the records, and numbers its own parts. Each batch is pickled when it arrives, so that neither a
barrier nor the sending is one large piece of work.
"""


@final
class CollectOperator(Operator):
    """Sends records to the waiting program, at once or when a checkpoint is complete."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._parts: list[bytes] = []
        self._unsent: list[Unsent] = context.restored.values(UNSENT_STATE)
        if context.restored.checkpoint_id is not None:
            self.notify_completed(context.restored.checkpoint_id)

    def process(self, batch: Batch) -> Batch:
        if self.context.checkpointing:
            self._parts.append(_pickled(batch, pickle.dumps))
        else:
            self.context.services.collect(self.context.subtask, None, 0, _pickled(batch, sendable))
        return Batch([])

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        own = self.context.subtask
        self._unsent += [(barrier.checkpoint_id, own, number, part) for number, part in enumerate(self._parts)]
        self._parts = []
        elements = ListElements.by_key(self._unsent, [key_hash_code(origin) for _, origin, _, _ in self._unsent])
        return OperatorSnapshot(uid=self.context.uid, lists={UNSENT_STATE: elements})

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        self._send_up_to(checkpoint_id)
        self.context.services.committed(checkpoint_id)

    def _send_up_to(self, checkpoint_id: CheckpointId) -> None:
        for of_id, origin, number, records in self._unsent:
            if of_id <= checkpoint_id:
                self.context.services.collect(origin, of_id, number, records)
        self._unsent = [entry for entry in self._unsent if entry[0] > checkpoint_id]


def _pickled(batch: Batch, dumps: Callable[[Any], bytes]) -> bytes:
    try:
        return dumps(batch.records)
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        raise UserCodeError(record=batch.culprit(dumps)) from SerializationError(
            f"a record cannot be sent to the program: {error}; checkpoints keep it until it is sent, so define its "
            "class, and functions that it holds, at the top level of a module or of the main script"
        )


@final
@dataclass(frozen=True, slots=True)
class CollectFactory(CommittingFactory):
    """Makes a `CollectOperator`."""

    def create(self) -> CollectOperator:
        return CollectOperator()
