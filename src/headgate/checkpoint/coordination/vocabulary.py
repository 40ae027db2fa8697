"""The vocabulary of the checkpoint coordinator: its settings, what happens to it, and what it orders.

Effects are performed in the order given; the docstrings say what else the performer owes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import CheckpointMessage
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSettings:
    """When checkpoints start and how many failures are borne. `interval_ms` None: only final and requested ones.

    `unaligned_after_ms` is as in `Barrier`. `forced`: checkpoints start when they are due, however many are under way
    and whatever the pause. Without `after_tasks_ended` none but the final one starts once a subtask has ended.
    """

    interval_ms: int | None = None
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    num_retained: int = 1
    unaligned_after_ms: int | None = None
    forced: bool = False
    after_tasks_ended: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequest:
    """Somebody wants a checkpoint, or a savepoint. `number` is the asker's, for the answer.

    A savepoint that stops the job may drain it: its sources end first, as if their input had.
    """

    number: int
    savepoint: SavepointOrder | None = None
    drains: bool = False

    @property
    def stops(self) -> bool:
        """Whether the job ends with it."""
        return self.savepoint is not None and self.savepoint.stops


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted:
    """All subtasks of `attempt` run.

    `last_id` is the highest checkpoint id ever used for this job, complete or not (0: none); `restored` the one among
    the job's own checkpoints that the attempt started from, `older` those before its start that are complete, too.
    `wall_ms` is the wall clock at `now_ms`: trigger times are reckoned from it, and so never step back within an
    attempt. No checkpoint starts before the `recovering` subtasks have recovered. `finishing` is the savepoint that the
    job was stopped with: the attempt only commits what it holds.
    """

    attempt: Attempt
    now_ms: float
    wall_ms: int
    last_id: CheckpointId
    restored: CheckpointId | None
    older: tuple[CheckpointId, ...] = ()
    recovering: frozenset[SubtaskId] = frozenset()
    finishing: CheckpointId | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Time has passed."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A subtask sent `message`."""

    message: CheckpointMessage
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestStored:
    """The manifest is durable and can be read back."""

    checkpoint_id: CheckpointId
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestRefused:
    """The manifest is certainly not stored and never will be. A write in doubt is settled before this is said."""

    checkpoint_id: CheckpointId
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRecorded:
    """That the job is to end with this savepoint is durable: every later attempt only commits what it holds."""

    checkpoint_id: CheckpointId
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRefused:
    """That the job is to end with this savepoint is certainly not in storage and never will be."""

    checkpoint_id: CheckpointId
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested:
    """Somebody asks. `RequestCompleted` or `RequestFailed` answers, once: at the latest when the job has ended."""

    request: CheckpointRequest
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded:
    """Nothing of `attempt` counts any more. An attempt that never started is ignored."""

    attempt: Attempt
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """The job is over, finished or not (`cause` says why, None: it was cancelled). Nothing follows."""

    finished: bool
    cause: str | None
    now_ms: float


CoordinatorEvent = (
    AttemptStarted
    | Tick
    | Received
    | ManifestStored
    | ManifestRefused
    | StopRecorded
    | StopRefused
    | CheckpointRequested
    | AttemptEnded
    | JobEnded
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerCheckpoint:
    """Have all source subtasks inject the barrier."""

    attempt: Attempt
    barrier: Barrier
    final: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndSources:
    """Have all sources put out nothing more, as if their input had come to its end.

    All checkpoints up to `over` are: a subtask that still waits for barriers of one has missed that it was given up.
    """

    attempt: Attempt
    over: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StoreManifest:
    """Write the manifest; answer `ManifestStored` or `ManifestRefused`, after settling any doubt.

    Until the answer: no restore, and no clean-up of this checkpoint's files. That of a savepoint goes to its location.
    """

    checkpoint_id: CheckpointId
    attempt: Attempt
    states: dict[SubtaskId, SubtaskState]
    trigger_ms: int
    final: bool
    savepoint: SavepointOrder | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStop:
    """Note in the job's folder that the job ends with this savepoint; answer `StopRecorded` or `StopRefused`.

    Any doubt is settled before, and no attempt starts before the answer.
    """

    checkpoint_id: CheckpointId
    savepoint: SavepointOrder


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyCompleted:
    """Tell all subtasks of the attempt that the manifest is durable. May be lost: the next one covers it."""

    attempt: Attempt
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyAborted:
    """Tell all subtasks of the attempt that the checkpoint was given up."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    reason: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardFiles:
    """Delete what `attempt` wrote for the checkpoint, which has no manifest and never will. Best effort."""

    checkpoint_id: CheckpointId
    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardSavepoint:
    """Delete the folder of a savepoint that has no manifest and never will. Best effort."""

    checkpoint_id: CheckpointId
    savepoint: SavepointOrder


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RetainCheckpoints:
    """Keep these completed checkpoints; delete the older ones of this job, but no file that a kept manifest names."""

    keep: tuple[CheckpointId, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailAttempt:
    """Too many checkpoints failed in a row, or sources have stopped for a savepoint that failed."""

    attempt: Attempt
    reason: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """All input is processed, or the job is stopped; the last checkpoint or savepoint is complete and committed."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCompleted:
    """Tell the asker that the checkpoint is complete; a job that was to be stopped with it has ended."""

    request: CheckpointRequest
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed:
    """Tell the asker why there is no such checkpoint, or why the job did not end with it."""

    request: CheckpointRequest
    reason: str


CoordinatorEffect = (
    TriggerCheckpoint
    | EndSources
    | StoreManifest
    | RecordStop
    | NotifyCompleted
    | NotifyAborted
    | DiscardFiles
    | DiscardSavepoint
    | RetainCheckpoints
    | FailAttempt
    | FinishJob
    | RequestCompleted
    | RequestFailed
)
