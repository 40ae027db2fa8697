"""The vocabulary of the supervisor: its states, events and effects.

The job master performs the effects in the order given. Their docstrings say what else it must do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, Launch, SlotIndex
from headgate.job_status import JobStatus
from headgate.runtime.monitoring.outcome import FailureOrigin

_NO_ATTEMPT: Final = Attempt(0)


@final
class SupervisorState(Enum):
    """The supervisor's state; see its theory of operation."""

    CREATED = "created"
    LAUNCHING = "launching"
    RESOLVING = "resolving"
    DEPLOYING = "deploying"
    RUNNING = "running"
    RESCALING = "rescaling"
    SUSPENDING = "suspending"
    CLOSING = "closing"
    TEARING_DOWN = "tearing down"
    WAITING = "waiting"
    RELAUNCHING = "relaunching"
    FINISHING = "finishing"
    ENDED = "ended"

    def rescale_refusal(self, *, has_run: bool) -> str:
        """Return why a job in this state cannot be rescaled. `has_run`: an attempt of the job has run."""
        if self in (SupervisorState.CLOSING, SupervisorState.FINISHING, SupervisorState.ENDED):
            return "it has ended"
        if self is SupervisorState.SUSPENDING:
            return (
                "its driver is leaving it: start the program again, and it goes on at the parallelism that the "
                "program sets"
            )
        return f"it {'is starting again' if has_run else 'is not running yet'}: ask again when it runs"


_S = SupervisorState
RUNS: Final = frozenset({_S.RUNNING, _S.RESCALING})
"""States in which all subtasks of the newest attempt run."""
HAS_ATTEMPT: Final = frozenset({_S.DEPLOYING, _S.SUSPENDING}) | RUNS
"""States in which the newest attempt was deployed and has not ended."""
LIVE: Final = frozenset({_S.LAUNCHING, _S.RESOLVING, _S.CLOSING}) | HAS_ATTEMPT
"""States in which the loss of a slot is a failure of the job."""
BETWEEN: Final = frozenset({_S.TEARING_DOWN, _S.WAITING})
"""States between two attempts on the slots of one launch."""
COUNTS_AS_RUNNING: Final = frozenset({_S.SUSPENDING, _S.CLOSING, _S.FINISHING, _S.ENDED}) | RUNS
"""States in which the status of the job is RUNNING."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The job is to run. `last_attempt` is the highest attempt of earlier drivers; new attempts are higher."""

    now_ms: float
    last_attempt: Attempt = _NO_ATTEMPT


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSized:
    """`launch` begins with `slots` slots, perhaps fewer than ordered. No slot has registered yet."""

    launch: Launch
    slots: int
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchUnfit:
    """A slot of `launch` can never run the job, for example because of its versions."""

    launch: Launch
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRegistered:
    """A slot of `launch` has connected and is fit to run: its versions and storage agree with the driver's."""

    launch: Launch
    slot: SlotIndex
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLost:
    """The connection or the heartbeat of a slot of `launch` has ended."""

    launch: Launch
    slot: SlotIndex
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchEnded:
    """The stage has ended and holds no slot any more. `error` is None when it ended without an error.

    `for_good`: the host of stages is gone, so this driver can make no other launch. `refused`: another launch would end
    in the same way, because the cluster refuses it or its Python cannot start.
    """

    launch: Launch
    error: str | None
    now_ms: float
    for_good: bool = False
    refused: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResolved:
    """The checkpoint for `attempt` is found and can be read. `checkpoint_id` None: it starts from the beginning."""

    attempt: Attempt
    checkpoint_id: CheckpointId | None
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFailed:
    """`attempt` cannot start: the snapshot is damaged or does not fit the job, or (`retriable`) storage has failed."""

    attempt: Attempt
    reason: str
    now_ms: float
    retriable: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotIsReady:
    """The slot has built and restored its subtasks of `attempt`."""

    slot: SlotIndex
    attempt: Attempt
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotIsTornDown:
    """The slot has ended `attempt`. `unclosed` is the failure of user code to close, None for none."""

    slot: SlotIndex
    attempt: Attempt
    now_ms: float
    unclosed: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed:
    """User code, a slot or the coordinator failed `attempt`. Not `retriable`: a restart cannot help."""

    attempt: Attempt
    cause: str
    retriable: bool
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobDone:
    """`attempt` has processed and committed everything. Only its user code has to be closed."""

    attempt: Attempt
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """A user cancels the job."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendRequested:
    """This driver must end, but the job must not: it has `grace_ms` for a last checkpoint."""

    grace_ms: float
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOver:
    """The checkpoint ordered from `attempt` has ended. `failure` is None if the checkpoint is complete."""

    attempt: Attempt
    failure: str | None
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleRequested:
    """The job is to continue in another placement. `number` identifies the request.

    The job can have `slots_max` slots; None: any number.
    """

    number: int
    placement: Placement
    now_ms: float
    slots_max: int | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorTick:
    """Time has passed."""

    now_ms: float


LaunchEvent = SlotRegistered | SlotLost | LaunchEnded | LaunchSized | LaunchUnfit
AttemptEvent = RestoreResolved | RestoreFailed | SlotIsReady | SlotIsTornDown | AttemptFailed | JobDone | CheckpointOver

SupervisorEvent = (
    Submitted | LaunchEvent | AttemptEvent | CancelRequested | SuspendRequested | RescaleRequested | SupervisorTick
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The consequence of a failure: a restart after `restart_delay_ms`; None: the job has failed for good."""

    cause: str
    restart_delay_ms: float | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSlots:
    """Submit a stage with `slots` slots. Report `LaunchEnded` when it has ended, in any way.

    If the start takes long, or fewer slots are enough, report `LaunchSized` before any slot registers.
    """

    launch: Launch
    slots: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KillLaunch:
    """Cancel the stage, and ignore its slots. `LaunchEnded` follows."""

    launch: Launch


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseSlot:
    """Close the connection of this registration: its launch is over, or its index is taken. The slot ends itself."""

    launch: Launch
    slot: SlotIndex


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRestore:
    """Find the checkpoint that `attempt` starts from, and assign its state to the subtasks of the placement.

    Settle manifest writes in doubt before.
    """

    attempt: Attempt
    placement: Placement


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeployAttempt:
    """Tell every slot to build its subtasks of `attempt` from the checkpoint."""

    attempt: Attempt
    checkpoint_id: CheckpointId | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StartAttempt:
    """Tell all slots to start the attempt, then the checkpoint coordinator: every slot listens."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TakeCheckpoint:
    """Take a checkpoint of `attempt`; `CheckpointOver` follows."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndAttempt:
    """Drop messages of `attempt` from now on, and tell the checkpoint coordinator.

    Comes exactly once for each deployed attempt, before all other effects of its end.
    """

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TearDownAttempt:
    """Tell every slot to end `attempt` and to confirm it."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSlots:
    """Tell these slots to end themselves: the running attempt does not need them. The stage continues."""

    slots: frozenset[SlotIndex]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleOver:
    """Answer the request: the job runs in the new placement, or `failure` says why it does not."""

    number: int
    failure: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShutDownSlots:
    """Tell every slot to end itself. Then the stage ends."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndJob:
    """End the job, which holds no slot. `cause` says why it is not FINISHED.

    Write the durable result before any checkpoint is deleted. Delete no checkpoint while a manifest write is in doubt.
    For SUSPENDED, write no result and delete nothing.
    """

    status: JobStatus
    cause: str | None


SupervisorEffect = (
    LaunchSlots
    | KillLaunch
    | RefuseSlot
    | ResolveRestore
    | DeployAttempt
    | StartAttempt
    | TakeCheckpoint
    | ReleaseSlots
    | RescaleOver
    | EndAttempt
    | TearDownAttempt
    | ShutDownSlots
    | EndJob
)


def origin_of_event(event: SupervisorEvent) -> FailureOrigin:
    """Return the origin of a failure that no slot reports."""
    return FailureOrigin(slot=event.slot) if isinstance(event, SlotLost) else FailureOrigin()
