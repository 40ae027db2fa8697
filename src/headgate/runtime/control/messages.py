"""Control messages between the job master and its slots.

Every message carries the attempt (or, before there is one, the launch) that it belongs to; the receiver drops messages
of any other. Delivery is in order on one connection; a message may still be lost with its connection.
"""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, final

import headgate
from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.messages import (
    RestoredOperator,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
    SubtaskRecovered,
)
from headgate.elements import Barrier
from headgate.functions.source import SplitAssignment
from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, JobId, Launch, Lineage, SlotIndex, SubtaskId
from headgate.operators.failure import UserFailure
from headgate.operators.samples import Sample
from headgate.runtime.control.subtask_metrics import SubtaskMetrics


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterSlot:
    """The first message of a slot. `environment` holds facts that the job master compares (host, pid, versions)."""

    launch: Launch
    slot: SlotIndex
    host: str
    port: int
    environment: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotReady:
    """The slot has built and restored its subtasks of `attempt` and listens for its peers."""

    slot: SlotIndex
    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTornDown:
    """The slot holds nothing of `attempt` any more. `unclosed` says why user code could not be closed, if so."""

    slot: SlotIndex
    attempt: Attempt
    unclosed: UserFailure | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailed:
    """A subtask (or the slot itself: `subtask` None) failed in `attempt`. Not `retriable`: a restart cannot help.

    `damaged`: a file of the checkpoint that the attempt starts from is not what was written.
    """

    slot: SlotIndex
    attempt: Attempt
    subtask: SubtaskId | None
    failure: UserFailure | str
    retriable: bool = True
    damaged: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Records for the program that called `execute_and_collect`. `subtask` is the one that they came to.

    `checkpoint_id` is the checkpoint that committed them, `part` their number among those of it; delivery may repeat,
    and the receiver keeps the first. Without a checkpoint (None) they are handed over at once.
    """

    attempt: Attempt
    subtask: SubtaskId
    checkpoint_id: CheckpointId | None
    part: int
    records: bytes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a slot has logged, or that was printed there; `wall_ms` is by the slot's clock."""

    wall_ms: int
    level: str
    text: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counters and metrics of the subtasks of a slot since the attempt began, sent about once a second.

    `log` has the lines since the report before.
    """

    slot: SlotIndex
    attempt: Attempt
    records_in: dict[SubtaskId, int]
    records_out: dict[SubtaskId, int]
    counters: dict[str, int]
    metrics: dict[SubtaskId, SubtaskMetrics] = field(default_factory=dict)
    log: tuple[LogLine, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitsRead:
    """The reader of a source that discovers has read all that it was given in this attempt.

    `given` counts the splits that came in `AddSplits`; those that it was deployed with are not among them.
    """

    attempt: Attempt
    subtask: SubtaskId
    given: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkReported:
    """The subtask of an aligned source has come so far in event time; None: others need not wait for it."""

    attempt: Attempt
    subtask: SubtaskId
    watermark_ms: int | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOutput:
    """Samples of what has left the subtasks of an operator in this slot, as `Tap` asks for."""

    attempt: Attempt
    uid: str
    samples: list[Sample]


FromSlot = (
    RegisterSlot
    | SlotReady
    | SlotTornDown
    | TaskFailed
    | SubtaskAcked
    | SubtaskDeclined
    | SubtaskEnded
    | SubtaskCommitted
    | SubtaskRecovered
    | Collected
    | Progress
    | SplitsRead
    | WatermarkReported
    | LiveOutput
)


# --- job master to slot ------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Deploy:
    """Build the subtasks that `placement` gives this slot, for `attempt`.

    `lineage` is what sinks write under. `checkpoint_id` is what they start from, `restored_job` the job that took it.
    `restored` is keyed by subtask and operator uid, and is empty for a fresh start; `splits` are the source splits of
    a fresh start. `root` is the folder that the paths of restored state are relative to, None: that of the job.
    `in_flight` is what subtasks process before anything else. An attempt that is `finishing` only commits.
    """

    attempt: Attempt
    lineage: Lineage
    placement: Placement
    checkpoint_id: CheckpointId | None
    restored: dict[SubtaskId, dict[str, RestoredOperator]]
    splits: dict[SubtaskId, list[Any]]
    root: str | None = None
    in_flight: dict[SubtaskId, tuple[InFlightState, ...]] = field(default_factory=dict)
    finishing: bool = False
    restored_job: JobId | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """All slots are ready: connect to peers and run."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InjectBarrier:
    """Inject the barrier at the sources of this slot.

    `completed` is the newest completed checkpoint: it makes up for a lost `CheckpointCompleted`.
    """

    attempt: Attempt
    barrier: Barrier
    completed: CheckpointId | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AddSplits:
    """Give sources of this slot splits that were discovered, with their ordinals, or tell that there will be no more.

    A reader gets them behind the barrier triggered last.
    """

    attempt: Attempt
    splits: dict[SubtaskId, SplitAssignment]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AllowWatermarks:
    """Aligned sources may come to these watermarks and no further: `allowed` is keyed by vertex."""

    attempt: Attempt
    allowed: dict[int, int]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndSources:
    """Have the sources of this slot emit nothing more, as if their input had come to its end.

    All checkpoints up to `over` are: it makes up for a lost `CheckpointAborted`, as no barrier follows that would.
    """

    attempt: Attempt
    over: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCompleted:
    """The manifest of the checkpoint is durable: sinks commit everything up to it."""

    attempt: Attempt
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAborted:
    """The checkpoint was given up; what it prepared is committed by the next one that completes.

    `completed` is as in `InjectBarrier`.
    """

    attempt: Attempt
    checkpoint_id: CheckpointId
    completed: CheckpointId | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """Send samples of what leaves the subtasks of an operator, of each at most so many records a second.

    For so long from now on: who still wants them says so again. None at all: stop at once.
    """

    attempt: Attempt
    uid: str
    records_per_s: float
    for_ms: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TearDown:
    """End `attempt`, then answer `SlotTornDown`."""

    attempt: Attempt


@final
@dataclass(frozen=True, slots=True)
class Shutdown:
    """The job is over: end the slot.

    With `abandons_after`, sinks first remove what they have prepared for later checkpoints: no snapshot holds it, and
    the job has been taken over by another driver, which does not know of it.
    """

    abandons_after: CheckpointId | None = None


ToSlot = (
    Deploy
    | Start
    | InjectBarrier
    | AddSplits
    | AllowWatermarks
    | EndSources
    | CheckpointCompleted
    | CheckpointAborted
    | Tap
    | TearDown
    | Shutdown
)


def process_facts() -> dict[str, str]:
    """Return the facts about this process. The job master compares the versions of slots with its own."""
    return {
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": ".".join(platform.python_version_tuple()[:2]),
        "pyarrow": metadata.version("pyarrow"),
        "cloudpickle": metadata.version("cloudpickle"),
        "headgate": headgate.__version__,
    }
