"""A checkpoint coordinator to drive in tests, with the clock in hand."""

from __future__ import annotations

from typing import Any, TypeVar

from headgate.checkpoint.coordination import vocabulary as c
from headgate.checkpoint.coordination.coordinator import CheckpointCoordinator
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import (
    CheckpointMessage,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
)
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId

SOURCE, SINK = SubtaskId(0, 0), SubtaskId(1, 0)
SUBTASKS = (SOURCE, SINK)
WALL_MS = 1_000_000
STATE = SubtaskState(operators=())
DECLINED = FailureReason.DECLINED.told(subtask=SINK, why="disk full")
T = TypeVar("T")


class Job:
    """A coordinator of a source and a committing sink, with the clock in hand. Attempt 1 starts at 0 ms.

    `deletes_at_once`: each retention is over as soon as it is ordered.
    """

    def __init__(self, *, deletes_at_once: bool = True, commits_for_all: bool = False, **settings: Any) -> None:
        values: dict[str, Any] = {"interval_ms": 100, "timeout_ms": 500, **settings}
        self.coordinator = CheckpointCoordinator(c.CheckpointSettings(**values))
        self.subtasks = frozenset(SUBTASKS)
        self.committing = frozenset({SINK})
        self.now_ms = 0.0
        self.attempt = Attempt(1)
        self.deletes_at_once = deletes_at_once
        self.commits_for_all = commits_for_all

    def handle(self, event: c.CoordinatorEvent) -> list[c.CoordinatorEffect]:
        effects = self.coordinator.handle(event)
        self.coordinator.check_invariants()
        wake_ms = self.coordinator.next_wake_ms()
        assert wake_ms is None or wake_ms > self.now_ms
        if self.deletes_at_once and of_type(effects, c.RetainCheckpoints):
            effects += self.retained()
        return effects

    def start(self, attempt: int = 1, **rest: Any) -> list[c.CoordinatorEffect]:
        """An attempt starts, as in `started`."""
        self.attempt = Attempt(attempt)
        return self.handle(self.started(**rest))

    def started(
        self,
        *,
        last_id: int = 0,
        restored: int | tuple[int, ...] | None = None,
        finishing: int | None = None,
        recovering: frozenset[SubtaskId] = frozenset(),
    ) -> c.AttemptStarted:
        """`restored` is the checkpoint that the attempt started from, or all complete ones, newest first."""
        complete = () if restored is None else (restored,) if isinstance(restored, int) else restored
        ids = tuple(map(CheckpointId, complete))
        return c.AttemptStarted(
            attempt=self.attempt,
            subtasks=self.subtasks,
            committing=self.committing,
            now_ms=self.now_ms,
            wall_ms=WALL_MS + int(self.now_ms),
            last_id=CheckpointId(last_id),
            restored=ids[0] if ids else None,
            older=ids[1:],
            recovering=recovering,
            finishing=None if finishing is None else CheckpointId(finishing),
            commits_for_all=self.commits_for_all,
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

    def committed_for_all(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        return self.handle(c.CommittedForAll(checkpoint_id=CheckpointId(checkpoint_id), now_ms=self.now_ms))

    def commit_refused(self, checkpoint_id: int, *, retriable: bool = True) -> list[c.CoordinatorEffect]:
        id_ = CheckpointId(checkpoint_id)
        return self.handle(c.CommitRefused(checkpoint_id=id_, reason="gone", retriable=retriable, now_ms=self.now_ms))

    def retained(self) -> list[c.CoordinatorEffect]:
        return self.handle(c.CheckpointsRetained(now_ms=self.now_ms))

    def aborted(self) -> list[c.CoordinatorEffect]:
        return self.handle(c.OutputAborted(now_ms=self.now_ms))

    def request(self, request: c.CheckpointRequest | None = None) -> list[c.CoordinatorEffect]:
        wanted = request or c.CheckpointRequest(number=1)
        return self.handle(c.CheckpointRequested(request=wanted, now_ms=self.now_ms))

    def savepoint(self, number: int) -> list[c.CoordinatorEffect]:
        return self.request(c.CheckpointRequest(number=number, savepoint=order(number)))

    def stop(self, number: int, *, drains: bool = False) -> list[c.CoordinatorEffect]:
        return self.request(c.CheckpointRequest(number=number, savepoint=order(number, stops=True), drains=drains))

    def recorded(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        return self.handle(c.StopRecorded(checkpoint_id=CheckpointId(checkpoint_id), now_ms=self.now_ms))

    def not_recorded(self, checkpoint_id: int) -> list[c.CoordinatorEffect]:
        id_ = CheckpointId(checkpoint_id)
        return self.handle(c.StopRefused(checkpoint_id=id_, reason="no space", now_ms=self.now_ms))

    def end_job(self, *, finished: bool = True, cause: str | None = None) -> list[c.CoordinatorEffect]:
        return self.handle(c.JobEnded(finished=finished, cause=cause, now_ms=self.now_ms))

    def end_attempt(self) -> list[c.CoordinatorEffect]:
        return self.handle(c.AttemptEnded(attempt=self.attempt, now_ms=self.now_ms))

    def trigger(
        self, checkpoint_id: int, *, final: bool = False, savepoint: SavepointOrder | None = None
    ) -> c.TriggerCheckpoint:
        barrier = Barrier(CheckpointId(checkpoint_id), WALL_MS + int(self.now_ms), savepoint=savepoint)
        return c.TriggerCheckpoint(attempt=self.attempt, barrier=barrier, final=final)

    def notify(self, checkpoint_id: int) -> c.NotifyCompleted:
        return c.NotifyCompleted(attempt=self.attempt, checkpoint_id=CheckpointId(checkpoint_id))

    def discard(self, checkpoint_id: int, attempt: int = 1) -> c.DiscardFiles:
        return c.DiscardFiles(checkpoint_id=CheckpointId(checkpoint_id), attempt=Attempt(attempt))


def order(number: int, *, stops: bool = False) -> SavepointOrder:
    """The place that the savepoint of a request goes to."""
    return SavepointOrder(f"/savepoints/{number}", stops=stops)


def keep(*checkpoint_ids: int) -> c.RetainCheckpoints:
    return c.RetainCheckpoints(keep=tuple(CheckpointId(id_) for id_ in checkpoint_ids))


def of_type(effects: list[c.CoordinatorEffect], kind: type[T]) -> list[T]:
    return [effect for effect in effects if isinstance(effect, kind)]
