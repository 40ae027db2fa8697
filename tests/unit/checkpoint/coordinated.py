"""A checkpoint coordinator to drive in tests, with the clock in hand."""

from __future__ import annotations

from typing import Any, TypeVar

from headgate.checkpoint import coordination as c
from headgate.checkpoint.coordinator import CheckpointCoordinator
from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import (
    CheckpointMessage,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
)
from headgate.ids import Attempt, CheckpointId, SubtaskId

SOURCE, SINK = SubtaskId(0, 0), SubtaskId(1, 0)
SUBTASKS = (SOURCE, SINK)
WALL_MS = 1_000_000
STATE = SubtaskState(operators=())
T = TypeVar("T")


class Job:
    """A coordinator of a source and a committing sink, with the clock in hand. Attempt 1 starts at 0 ms."""

    def __init__(self, **settings: Any) -> None:
        values: dict[str, Any] = {"interval_ms": 100, "timeout_ms": 500, **settings}
        self.coordinator = CheckpointCoordinator(
            c.CheckpointSettings(**values),
            frozenset(SUBTASKS),
            frozenset({SINK}),
        )
        self.now_ms = 0.0
        self.attempt = Attempt(1)

    def handle(self, event: c.CoordinatorEvent) -> list[c.CoordinatorEffect]:
        effects = self.coordinator.handle(event)
        self.coordinator.check_invariants()
        wake_ms = self.coordinator.next_wake_ms()
        assert wake_ms is None or wake_ms > self.now_ms
        return effects

    def start(self, attempt: int = 1, *, last_id: int = 0, restored: int | None = None) -> list[c.CoordinatorEffect]:
        self.attempt = Attempt(attempt)
        return self.handle(
            c.AttemptStarted(
                attempt=self.attempt,
                now_ms=self.now_ms,
                wall_ms=WALL_MS + int(self.now_ms),
                last_id=CheckpointId(last_id),
                restored=None if restored is None else CheckpointId(restored),
            )
        )

    def at(self, now_ms: float) -> list[c.CoordinatorEffect]:
        self.now_ms = now_ms
        return self.handle(c.Tick(now_ms=now_ms))

    def receive(self, message: CheckpointMessage) -> list[c.CoordinatorEffect]:
        return self.handle(c.Received(message=message, now_ms=self.now_ms))

    def ack(self, checkpoint_id: int, *subtasks: SubtaskId) -> list[c.CoordinatorEffect]:
        effects: list[c.CoordinatorEffect] = []
        for subtask in subtasks or SUBTASKS:
            id_ = CheckpointId(checkpoint_id)
            effects += self.receive(SubtaskAcked(attempt=self.attempt, checkpoint_id=id_, subtask=subtask, state=STATE))
        return effects

    def decline(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        id_ = CheckpointId(checkpoint_id)
        return self.receive(SubtaskDeclined(attempt=self.attempt, checkpoint_id=id_, subtask=SINK, reason="disk full"))

    def end_data(self, *subtasks: SubtaskId) -> list[c.CoordinatorEffect]:
        effects: list[c.CoordinatorEffect] = []
        for subtask in subtasks or SUBTASKS:
            effects += self.receive(SubtaskEnded(attempt=self.attempt, subtask=subtask))
        return effects

    def commit(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        id_ = CheckpointId(checkpoint_id)
        return self.receive(SubtaskCommitted(attempt=self.attempt, checkpoint_id=id_, subtask=SINK))

    def stored(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        return self.handle(c.ManifestStored(checkpoint_id=CheckpointId(checkpoint_id), now_ms=self.now_ms))

    def refused(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        id_ = CheckpointId(checkpoint_id)
        return self.handle(c.ManifestRefused(checkpoint_id=id_, reason="no space", now_ms=self.now_ms))

    def request(self) -> list[c.CoordinatorEffect]:
        return self.handle(c.CheckpointRequested(now_ms=self.now_ms))

    def end_attempt(self) -> list[c.CoordinatorEffect]:
        return self.handle(c.AttemptEnded(attempt=self.attempt, now_ms=self.now_ms))

    def trigger(self, checkpoint_id: int, *, final: bool = False) -> c.TriggerCheckpoint:
        return c.TriggerCheckpoint(
            attempt=self.attempt,
            checkpoint_id=CheckpointId(checkpoint_id),
            trigger_ms=WALL_MS + int(self.now_ms),
            final=final,
        )

    def notify(self, checkpoint_id: int) -> c.NotifyCompleted:
        return c.NotifyCompleted(attempt=self.attempt, checkpoint_id=CheckpointId(checkpoint_id))

    def discard(self, checkpoint_id: int, attempt: int = 1) -> c.DiscardFiles:
        return c.DiscardFiles(checkpoint_id=CheckpointId(checkpoint_id), attempt=Attempt(attempt))


def keep(*checkpoint_ids: int) -> c.RetainCheckpoints:
    return c.RetainCheckpoints(keep=tuple(CheckpointId(id_) for id_ in checkpoint_ids))


def of_type(effects: list[c.CoordinatorEffect], kind: type[T]) -> list[T]:
    return [effect for effect in effects if isinstance(effect, kind)]
