"""The vocabulary of the supervisor: its states, what happens to a job, and what it orders.

Effects are performed in the order given; the docstrings say what else the performer owes.
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
    """What the supervisor waits for; see its theory of operation."""

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
        """Return why a job in this state cannot be rescaled now. `has_run`: an attempt of it has run."""
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
"""All subtasks of the newest attempt run."""
HAS_ATTEMPT: Final = frozenset({_S.DEPLOYING, _S.SUSPENDING}) | RUNS
"""The newest attempt was deployed, and has not ended."""
LIVE: Final = frozenset({_S.LAUNCHING, _S.RESOLVING, _S.CLOSING}) | HAS_ATTEMPT
"""The loss of a slot is a failure of the job."""
BETWEEN: Final = frozenset({_S.TEARING_DOWN, _S.WAITING})
"""One attempt has ended, and the next one has not begun, on the slots of one launch."""
COUNTS_AS_RUNNING: Final = frozenset({_S.SUSPENDING, _S.CLOSING, _S.FINISHING, _S.ENDED}) | RUNS
"""The status of the job is RUNNING."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The job is to run. `last_attempt` is the highest attempt of drivers before this one; new ones are higher."""

    now_ms: float
    last_attempt: Attempt = _NO_ATTEMPT


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSized:
    """`launch` begins with so many slots, which may be fewer than were ordered; none of them has registered yet."""

    launch: Launch
    slots: int
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchUnfit:
    """A slot of `launch` is not fit to run."""

    launch: Launch
    reason: str
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRegistered:
    """A slot of `launch` has connected and is fit to run (versions and storage agree)."""

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
    """The stage is over and holds no slot any more. `error` is None when it ended without one.

    `for_good`: what hosts stages is gone with it, so that this driver can launch no other. `refused`: another one would
    end in the same way, as the cluster refuses it, or its Python cannot start.
    """

    launch: Launch
    error: str | None
    now_ms: float
    for_good: bool = False
    refused: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreResolved:
    """The checkpoint that `attempt` starts from is known (None: from the beginning), and its state can be read."""

    attempt: Attempt
    checkpoint_id: CheckpointId | None
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreFailed:
    """`attempt` cannot start: what is in storage is damaged or does not fit the job, or (`retriable`) storage fails."""

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
    """The slot holds nothing of `attempt` any more. `unclosed` says why user code could not be closed, if so."""

    slot: SlotIndex
    attempt: Attempt
    now_ms: float
    unclosed: str | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed:
    """User code, a slot or the coordinator failed `attempt`. `retriable` False: starting again cannot help."""

    attempt: Attempt
    cause: str
    retriable: bool
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobDone:
    """`attempt` has processed and committed everything; only its user code is still to be closed."""

    attempt: Attempt
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """Somebody wants the job to end."""

    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendRequested:
    """This driver has to end, but the job has not: within `grace_ms` it takes a last checkpoint, if it can."""

    grace_ms: float
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOver:
    """The checkpoint that was ordered of `attempt` is complete; `failure` says why there is none."""

    attempt: Attempt
    failure: str | None
    now_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleRequested:
    """Somebody wants the job to go on in another placement. `number` tells the request from others.

    There are `slots_max` slots for it; None: any number.
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
    """What came of a failure: the job starts again after `restart_delay_ms`, or (None) has failed for good."""

    cause: str
    restart_delay_ms: float | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSlots:
    """Submit the stage that hosts so many slots; report `LaunchEnded` when it is over, however it ended.

    Where it takes a while until they can start, or fewer will do, report `LaunchSized` before any of them registers.
    """

    launch: Launch
    slots: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KillLaunch:
    """Cancel the stage; `LaunchEnded` follows. Listen to its slots no more."""

    launch: Launch


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseSlot:
    """Close the connection of this registration: its launch or its place is taken. The slot then ends itself."""

    launch: Launch
    slot: SlotIndex


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRestore:
    """Find the checkpoint that `attempt` starts from, and what of it each subtask of the placement gets.

    Not before a manifest write in doubt is settled.
    """

    attempt: Attempt
    placement: Placement


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DeployAttempt:
    """Have every slot build its subtasks of `attempt`, from the checkpoint."""

    attempt: Attempt
    checkpoint_id: CheckpointId | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StartAttempt:
    """Every slot listens: have all start, then tell the checkpoint coordinator."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TakeCheckpoint:
    """Have a checkpoint of `attempt` taken; `CheckpointOver` follows."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndAttempt:
    """Nothing of `attempt` counts any more: drop its messages and tell the checkpoint coordinator.

    Comes exactly once for each attempt that was deployed, before anything else that follows from its end.
    """

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TearDownAttempt:
    """Have every slot end `attempt` and confirm it."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSlots:
    """Have these slots end themselves, in good order: the attempt that runs does not need them. The stage goes on."""

    slots: frozenset[SlotIndex]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RescaleOver:
    """The request is answered: the job runs in the new placement; `failure` says why it does not."""

    number: int
    failure: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ShutDownSlots:
    """Have every slot end itself, in good order; the stage then ends."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndJob:
    """The job is over and holds no slot. `cause` says why it is not FINISHED.

    Write the durable result before any checkpoint is deleted; delete none while a manifest write is in doubt. With
    SUSPENDED write no result, and delete nothing.
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
    """Return where a failure that no slot reports came from."""
    return FailureOrigin(slot=event.slot) if isinstance(event, SlotLost) else FailureOrigin()
