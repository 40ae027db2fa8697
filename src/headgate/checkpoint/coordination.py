"""The vocabulary of the checkpoint coordinator: its settings, what happens to it, and what it orders.

Effects are performed in the order given; the docstrings say what else the performer owes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.checkpoint.handles import SubtaskState
from headgate.checkpoint.messages import CheckpointMessage
from headgate.ids import Attempt, CheckpointId, SubtaskId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSettings:
    """When checkpoints start and how many failures are borne. `interval_ms` None: only final and requested ones."""

    interval_ms: int | None = None
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    num_retained: int = 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted:
    """All subtasks of `attempt` run.

    `last_id` is the highest checkpoint id ever used for this job, complete or not (0: none); `restored` the one that
    the attempt started from. `wall_ms` is the wall clock at `now_ms`: trigger times are reckoned from it, and so never
    step back within an attempt.
    """

    attempt: Attempt
    now_ms: float
    wall_ms: int
    last_id: CheckpointId
    restored: CheckpointId | None


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
class CheckpointRequested:
    """Somebody asks for a checkpoint now. Ignored between attempts."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded:
    """Nothing of `attempt` counts any more. An attempt that never started is ignored."""

    attempt: Attempt
    now_ms: float


CoordinatorEvent = (
    AttemptStarted | Tick | Received | ManifestStored | ManifestRefused | CheckpointRequested | AttemptEnded
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerCheckpoint:
    """Have all source subtasks inject the barrier. `trigger_ms` is wall clock, in milliseconds."""

    attempt: Attempt
    checkpoint_id: CheckpointId
    trigger_ms: int
    final: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StoreManifest:
    """Write the manifest; answer `ManifestStored` or `ManifestRefused`, after settling any doubt.

    Until the answer: no restore, and no clean-up of this checkpoint's files.
    """

    checkpoint_id: CheckpointId
    attempt: Attempt
    states: dict[SubtaskId, SubtaskState]
    trigger_ms: int
    final: bool


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
class RetainCheckpoints:
    """Keep these completed checkpoints; delete the older ones of this job, but no file that a kept manifest names."""

    keep: tuple[CheckpointId, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailAttempt:
    """Too many checkpoints failed in a row: the attempt has failed."""

    attempt: Attempt
    reason: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FinishJob:
    """All input is processed, the final checkpoint is complete and every sink has committed it."""

    attempt: Attempt


CoordinatorEffect = (
    TriggerCheckpoint
    | StoreManifest
    | NotifyCompleted
    | NotifyAborted
    | DiscardFiles
    | RetainCheckpoints
    | FailAttempt
    | FinishJob
)
