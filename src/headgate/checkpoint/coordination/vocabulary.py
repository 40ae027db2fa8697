"""The vocabulary of the checkpoint coordinator: its settings, events and effects.

The job master performs the effects in the order given. Their docstrings say what else it must do.
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
    """The coordinator's phase; see its theory of operation."""

    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    RECORDING = "recording"
    FAILING = "failing"
    COMMITTING = "committing"
    DONE = "done"

    @property
    def refusal(self) -> CheckpointFailure:
        """Why a checkpoint that is requested in this phase cannot start."""
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
    """When checkpoints start, and how many failures in a row the job tolerates.

    `interval_ms` None: only final and requested checkpoints start. `unaligned_after_ms` is as in `Barrier`. `forced`:
    checkpoints start when they are due, without regard to `max_concurrent` and pause. Without `after_tasks_ended`
    only the final checkpoint starts once a subtask has ended.
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
    """A request for a checkpoint, or for a savepoint. `number` identifies it in the answer.

    A savepoint that stops the job may drain it: the sources end first, as if their input had ended.
    """

    number: int
    savepoint: SavepointOrder | None = None
    drains: bool = False

    @property
    def stops(self) -> bool:
        """Whether the job ends with the savepoint."""
        return self.savepoint is not None and self.savepoint.stops


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted:
    """All `subtasks` of `attempt` run; the subtasks in `committing` report commits.

    `last_id` is the highest checkpoint id ever used for this job, complete or not; 0 for none. `restored` is the job's
    own checkpoint that the attempt started from, `older` are earlier complete checkpoints. `wall_ms` is the wall clock
    at `now_ms`: trigger times are computed from it, so they never step back within an attempt. No checkpoint starts
    before the `recovering` subtasks have recovered. `finishing` is the savepoint that the job was stopped with: the
    attempt only commits what that savepoint holds. `commits_for_all`: the driver commits each complete checkpoint for
    all subtasks before they hear of it, and aborts output that an ended attempt has left behind.
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
    """A subtask has sent `message`."""

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
    """The manifest is not in storage and never will be. A write in doubt was settled before."""

    checkpoint_id: CheckpointId
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedForAll:
    """The output that all subtasks prepared together is committed, for a checkpoint or for the job's last savepoint."""

    checkpoint_id: CheckpointId
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """The output that all subtasks prepared together cannot be committed. `retriable`: a restart may commit it."""

    checkpoint_id: CheckpointId
    reason: str
    retriable: bool
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsRetained:
    """`RetainCheckpoints` is done, or has failed."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputAborted:
    """`AbortOutput` is done, or has failed."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRecorded:
    """The job's folder says that the job ends with this savepoint: later attempts only commit what it holds."""

    checkpoint_id: CheckpointId
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRefused:
    """The job's folder does not say that the job ends with this savepoint, and never will."""

    checkpoint_id: CheckpointId
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested:
    """A checkpoint is requested. `RequestCompleted` or `RequestFailed` answers once, at the latest at the job's end."""

    request: CheckpointRequest
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded:
    """The attempt has ended: its messages do not count any more. `cause` is one line, None if it did not fail.

    An attempt that never started is ignored.
    """

    attempt: Attempt
    now_ms: float
    cause: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """The job has ended: no event follows. `cause` says why it failed or is suspended, None for any other end."""

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
    """Tell all source subtasks to inject the barrier."""

    attempt: Attempt
    barrier: Barrier
    final: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndAllSources:
    """Tell all sources to emit nothing more, as if their input had ended.

    All checkpoints up to `over` are complete or given up. A subtask that still waits for barriers of such a checkpoint
    has missed that it was given up.
    """

    attempt: Attempt
    over: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StoreManifest:
    """Write the manifest; answer `ManifestStored` or `ManifestRefused`, after settling any doubt.

    Until the answer, begin no restore and delete none of this checkpoint's files. The manifest of a savepoint goes to
    the savepoint's location.
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
    """Record in the job's folder that the job ends with this savepoint; answer `StopRecorded` or `StopRefused`.

    Settle any doubt before the answer, and start no attempt until then.
    """

    checkpoint_id: CheckpointId
    savepoint: SavepointOrder


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CommitForAll:
    """Commit the output that all subtasks prepared together for the checkpoint, then have sources acknowledge.

    `order` names the checkpoint's state. Answer `CommittedForAll` or `CommitRefused`, after settling any doubt. Until
    the answer, begin no restore.
    """

    order: StoreManifest


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyCompleted:
    """Tell all subtasks of the attempt that the checkpoint is complete. A lost message is covered by the next one."""

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
    """Delete the files that `attempt` wrote for a checkpoint without a manifest, which never gets one. Best effort."""

    checkpoint_id: CheckpointId
    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardSavepoint:
    """Delete the folder of a savepoint without a manifest, which never gets one. Best effort."""

    checkpoint_id: CheckpointId
    savepoint: SavepointOrder


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RetainCheckpoints:
    """Keep these completed checkpoints. Delete the job's older ones, but no file that a kept manifest names.

    Best effort; answer `CheckpointsRetained`.
    """

    keep: tuple[CheckpointId, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AbortOutput:
    """Abort output that the ended attempt prepared for commits for all and that no complete checkpoint holds.

    Best effort; answer `OutputAborted`.
    """


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailAttempt:
    """Fail the attempt: too many checkpoints failed, sources stopped for a savepoint that failed, or a commit failed.

    `retriable`: another attempt may succeed.
    """

    attempt: Attempt
    failure: CheckpointFailure
    retriable: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """Finish the job: all input is processed, or a savepoint stops it, and the last snapshot is committed."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCompleted:
    """Tell the asker that the checkpoint is complete. A job that the savepoint stops has ended."""

    request: CheckpointRequest
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed:
    """Tell the asker why the checkpoint failed, or why the job did not end with the savepoint."""

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
