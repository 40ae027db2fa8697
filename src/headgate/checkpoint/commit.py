"""Commits of one sink subtask: which committables are pending, which may be committed, and which are being committed.

Theory of operation
-------------------
At each barrier the sink prepares committables. They are part of the checkpoint, and stay *pending* here. A completed
checkpoint permits the commit of everything that was prepared up to it. Its manifest names the committables and is
durable, so a restore will commit them again. An aborted checkpoint removes nothing: its committables are committed with
the next checkpoint that completes. Committing twice is harmless, committing early is not.

    state       meaning                                            legal edges
    IDLE        nothing is being committed                        CheckpointConfirmed, CommitsRestored -> COMMITTING, if
                                                                   commits up to the checkpoint are pending; else the
                                                                   checkpoint is reported at once
    COMMITTING  one checkpoint's committables are being committed  CommitSucceeded -> COMMITTING (the next oldest), or
                                                                   reported -> IDLE
                                                                   CommitPutOff -> COMMITTING, the same commit later,
                                                                   or FAILED after too many retries
                                                                   CommitFailed -> FAILED
    FAILED      the task was told to fail                          everything is ignored

Commits go oldest first, and one checkpoint is committed as a whole before the next begins. Completions may come late,
twice or never: a later completion covers earlier ones. Completions of another attempt are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, assert_never, final

from headgate.event_history import EventHistory
from headgate.ids import Attempt, CheckpointId

RETRIES_MAX: Final = 10
"""The number of retries of a commit, as in Flink's `sink.committer.retries`."""
_DELAY_MIN_MS: Final = 100.0
_DELAY_MAX_MS: Final = 10_000.0


def retry_delay_ms(retries: int) -> float:
    """Return the milliseconds to wait before the next retry of a commit that was retried `retries` times.

    >>> [retry_delay_ms(retries) for retries in (0, 1, 2, 20)]
    [100.0, 200.0, 400.0, 10000.0]
    """
    return min(_DELAY_MIN_MS * 2.0 ** min(retries, 30), _DELAY_MAX_MS)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCommit:
    """Committables that were prepared for a checkpoint. Snapshots contain such objects."""

    checkpoint_id: CheckpointId
    committables: tuple[Any, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The sink has prepared these committables at the barrier of the checkpoint."""

    checkpoint_id: CheckpointId
    committables: tuple[Any, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsRestored:
    """The subtask started from the completed checkpoint, which contained these pending commits."""

    checkpoint_id: CheckpointId
    pending: tuple[PendingCommit, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointConfirmed:
    """The checkpoint of `attempt` is complete: its manifest is durable."""

    checkpoint_id: CheckpointId
    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSucceeded:
    """All committables of the last `Commit` are committed."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPutOff:
    """The last `Commit` failed and may be retried. Some of its committables may be committed."""

    checkpoint_id: CheckpointId
    reason: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFailed:
    """The last `Commit` failed. Some committables may be committed. `lost`: the rest can never be committed."""

    checkpoint_id: CheckpointId
    reason: str
    lost: bool = False


CommitEvent = Prepared | CommitsRestored | CheckpointConfirmed | CommitSucceeded | CommitPutOff | CommitFailed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPermit:
    """The permission to commit everything prepared up to `completed_id`. Only a durable manifest gives it."""

    attempt: Attempt
    completed_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Commit these committables on an I/O thread after `delay_ms`, then answer with one of the events above."""

    permit: CommitPermit
    checkpoint_id: CheckpointId
    committables: tuple[Any, ...]
    delay_ms: float = 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCommitted:
    """Tell the job master that everything up to the checkpoint is committed."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailTask:
    """Fail the subtask: a commit failed. A restore commits the pending committables again, unless they are `lost`."""

    reason: str
    lost: bool = False


CommitEffect = Commit | ReportCommitted | FailTask


@final
class CommitTracker:
    """Tracks the commits of one sink subtask in one attempt. Pure; owned by the slot's loop."""

    def __init__(self, attempt: Attempt, retries_max: int = RETRIES_MAX) -> None:
        """`retries_max` is the number of retries of one commit before the subtask fails."""
        self._attempt = attempt
        self._retries_max = retries_max
        self._retries = 0
        self._pending: dict[CheckpointId, tuple[Any, ...]] = {}
        self._permit: CommitPermit | None = None
        self._committing: CheckpointId | None = None
        self._failed = False
        self._history = EventHistory("commit tracker")

    def pending(self) -> tuple[PendingCommit, ...]:
        """Return the commits that are not known to be final, oldest first: a snapshot must contain them."""
        return tuple(PendingCommit(checkpoint_id=id_, committables=some) for id_, some in self._pending.items())

    def handle(self, event: CommitEvent) -> list[CommitEffect]:
        """Return the effects of the event, in the order to perform them.

        Raises InternalError for an event that the protocol rules out.
        """
        self._history.add(event)
        if self._failed:
            return []
        match event:
            case Prepared(checkpoint_id=checkpoint_id, committables=committables):
                self._add(checkpoint_id, committables)
                return []
            case CommitsRestored(checkpoint_id=checkpoint_id, pending=pending):
                return self._on_restored(checkpoint_id, pending)
            case CheckpointConfirmed(checkpoint_id=checkpoint_id, attempt=attempt):
                return self._on_completed(checkpoint_id) if attempt == self._attempt else []
            case CommitSucceeded(checkpoint_id=checkpoint_id):
                self._settle(checkpoint_id)
                del self._pending[checkpoint_id]
                return self._next()
            case CommitPutOff(checkpoint_id=checkpoint_id, reason=reason):
                return self._try_again(checkpoint_id, reason)
            case CommitFailed(checkpoint_id=checkpoint_id, reason=reason, lost=lost):
                return self._fail(checkpoint_id, reason, lost=lost)
            case _:
                assert_never(event)

    def _add(self, checkpoint_id: CheckpointId, committables: tuple[Any, ...]) -> None:
        newest = next(reversed(self._pending), None)
        completed_id = None if self._permit is None else self._permit.completed_id
        if checkpoint_id <= max(newest or 0, completed_id or 0):
            raise self._history.broken(f"committables of checkpoint {checkpoint_id} were prepared too late")
        if committables:
            self._pending[checkpoint_id] = committables

    def _on_restored(self, checkpoint_id: CheckpointId, pending: Iterable[PendingCommit]) -> list[CommitEffect]:
        if self._pending or self._permit is not None:
            raise self._history.broken("a tracker that is in use cannot be restored")
        merged: dict[CheckpointId, list[Any]] = {}
        for part in sorted(pending, key=lambda part: part.checkpoint_id):
            merged.setdefault(part.checkpoint_id, []).extend(part.committables)
        self._pending = {id_: tuple(some) for id_, some in merged.items()}
        return self._on_completed(checkpoint_id)

    def _on_completed(self, checkpoint_id: CheckpointId) -> list[CommitEffect]:
        if self._permit is not None and checkpoint_id <= self._permit.completed_id:
            return []
        self._permit = CommitPermit(attempt=self._attempt, completed_id=checkpoint_id)
        return [] if self._committing is not None else self._next()

    def _next(self) -> list[CommitEffect]:
        assert self._permit is not None
        oldest = next(iter(self._pending), None)
        if oldest is None or oldest > self._permit.completed_id:
            return [ReportCommitted(checkpoint_id=self._permit.completed_id)]
        self._retries = 0
        return self._commit(oldest)

    def _try_again(self, checkpoint_id: CheckpointId, reason: str) -> list[CommitEffect]:
        if self._retries == self._retries_max:
            return self._fail(checkpoint_id, f"{reason} (tried {self._retries + 1} times)")
        self._settle(checkpoint_id)
        delay_ms = retry_delay_ms(self._retries)
        self._retries += 1
        return self._commit(checkpoint_id, delay_ms)

    def _fail(self, checkpoint_id: CheckpointId, reason: str, *, lost: bool = False) -> list[CommitEffect]:
        self._settle(checkpoint_id)
        self._failed = True
        return [FailTask(reason=f"commit of checkpoint {checkpoint_id} failed: {reason}", lost=lost)]

    def _commit(self, checkpoint_id: CheckpointId, delay_ms: float = 0.0) -> list[CommitEffect]:
        assert self._permit is not None
        self._committing = checkpoint_id
        committables = self._pending[checkpoint_id]
        return [Commit(permit=self._permit, checkpoint_id=checkpoint_id, committables=committables, delay_ms=delay_ms)]

    def _settle(self, checkpoint_id: CheckpointId) -> None:
        if checkpoint_id != self._committing:
            raise self._history.broken(f"checkpoint {checkpoint_id} is not being committed")
        self._committing = None

    def check_invariants(self) -> None:
        """Raise InternalError if the state contradicts itself."""
        if list(self._pending) != sorted(self._pending):
            raise self._history.broken("pending commits are out of order")
        if self._committing is not None and (
            self._permit is None
            or self._committing > self._permit.completed_id
            or self._committing not in self._pending
        ):
            raise self._history.broken(f"checkpoint {self._committing} is being committed without a permit")
