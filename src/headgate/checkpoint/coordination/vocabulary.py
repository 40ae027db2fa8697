"""The vocabulary of the checkpoint coordinator: its settings, what happens to it, and what it orders.

Effects are performed in the order given; the docstrings say what else the performer owes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

from headgate.checkpoint.coordination.failures import CheckpointFailure, FailureReason
from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import CheckpointMessage
from headgate.elements import Barrier, SavepointOrder
from headgate.ids import Attempt, CheckpointId, SubtaskId


@final
class Phase(Enum):
    """What the coordinator is doing; see its theory of operation."""

    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    RECORDING = "recording"
    FAILING = "failing"
    COMMITTING = "committing"
    DONE = "done"

    @property
    def refusal(self) -> CheckpointFailure:
        """Why no checkpoint that is asked for now can start."""
        match self:
            case Phase.IDLE | Phase.FAILING:
                return FailureReason.NOT_RUNNING.told()
            case Phase.STOPPING | Phase.RECORDING:
                return FailureReason.STOPPING.told()
            case _:
                return FailureReason.ENDING.told()


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
    """All `subtasks` of `attempt` run; those in `committing` report commits.

    `last_id` is the highest checkpoint id ever used for this job, complete or not (0: none); `restored` the one among
    the job's own checkpoints that the attempt started from, `older` those before its start that are complete, too.
    `wall_ms` is the wall clock at `now_ms`: trigger times are reckoned from it, and so never step back within an
    attempt. No checkpoint starts before the `recovering` subtasks have recovered. `finishing` is the savepoint that the
    job was stopped with: the attempt only commits what it holds. `commits_for_all`: each complete checkpoint is to be
    committed for all subtasks before subtasks hear of it, and what an attempt has left behind is to be aborted.
    """

    attempt: Attempt
    subtasks: frozenset[SubtaskId]
    committing: frozenset[SubtaskId]
    now_ms: float
    wall_ms: int
    last_id: CheckpointId
    restored: CheckpointId | None
    older: tuple[CheckpointId, ...] = ()
    recovering: frozenset[SubtaskId] = frozenset()
    finishing: CheckpointId | None = None
    commits_for_all: bool = False


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
class CommittedForAll:
    """What the checkpoint, or the savepoint that ends the job, holds for all subtasks together is committed."""

    checkpoint_id: CheckpointId
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """What the checkpoint holds for all subtasks together cannot be committed now; `retriable`: later it may."""

    checkpoint_id: CheckpointId
    reason: str
    retriable: bool
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsRetained:
    """`RetainCheckpoints` is done, as far as it could be."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputAborted:
    """`AbortOutput` is done, as far as it could be."""

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
    """Nothing of `attempt` counts any more; `cause` says in a line why it failed, None: it did not.

    An attempt that never started is ignored.
    """

    attempt: Attempt
    now_ms: float
    cause: str | None = None


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
    | CommittedForAll
    | CommitRefused
    | StopRecorded
    | StopRefused
    | CheckpointsRetained
    | OutputAborted
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
class EndAllSources:
    """Have all sources emit nothing more, as if their input had come to its end.

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
class CommitForAll:
    """Commit what the checkpoint with this manifest holds for all subtasks together, and have sources acknowledge it.

    Answer `CommittedForAll` or `CommitRefused`, after settling any doubt. Until the answer no restore begins.
    """

    order: StoreManifest


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
    failure: CheckpointFailure


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
    """Keep these completed checkpoints; delete the older ones of this job, but no file that a kept manifest names.

    Best effort; answer `CheckpointsRetained`.
    """

    keep: tuple[CheckpointId, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AbortOutput:
    """Abort what the ended attempt has prepared for commits for all, and no complete checkpoint holds.

    Best effort; answer `OutputAborted`.
    """


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailAttempt:
    """Too many checkpoints failed, sources have stopped for a savepoint that failed, or a commit did.

    `retriable`: another attempt may do better.
    """

    attempt: Attempt
    failure: CheckpointFailure
    retriable: bool = True


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
    failure: CheckpointFailure


StorageEffect = (
    StoreManifest | RecordStop | CommitForAll | DiscardFiles | DiscardSavepoint | RetainCheckpoints | AbortOutput
)

CoordinatorEffect = (
    StorageEffect
    | TriggerCheckpoint
    | EndAllSources
    | NotifyCompleted
    | NotifyAborted
    | FailAttempt
    | FinishJob
    | RequestCompleted
    | RequestFailed
)
