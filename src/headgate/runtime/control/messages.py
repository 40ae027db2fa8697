"""Control messages between the job master and its slots.

Every message carries the attempt (or, before the first attempt, the launch) that it belongs to. The receiver drops
messages of other attempts and launches. One connection delivers messages in order; a message may be lost with its
connection.
"""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, final

import headgate
from headgate import native
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
    """The slot has ended `attempt`. `unclosed` is the failure of user code to close, None for none."""

    slot: SlotIndex
    attempt: Attempt
    unclosed: UserFailure | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailed:
    """A subtask failed in `attempt`, or, if `subtask` is None, the slot itself. Not `retriable`: a restart cannot help.

    `damaged`: a file of the restored checkpoint is damaged.
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
    """Records of `subtask` for the program that called `execute_and_collect`.

    `checkpoint_id` is the checkpoint that committed them, and `part` numbers the messages of this checkpoint. A message
    may be repeated; the receiver keeps the first. With None the records are delivered at once, without a checkpoint.
    """

    attempt: Attempt
    subtask: SubtaskId
    checkpoint_id: CheckpointId | None
    part: int
    records: bytes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a slot has logged or printed. `wall_ms` is the slot's wall clock."""

    wall_ms: int
    level: str
    text: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counters and metrics of a slot's subtasks since the attempt began, sent about once a second.

    `log` has the lines since the previous report.
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
    """The reader of a source that discovers splits has read all splits that it was given in this attempt.

    `given` is the number of splits that came in `AddSplits`, without those that it was deployed with.
    """

    attempt: Attempt
    subtask: SubtaskId
    given: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkReported:
    """The watermark of a subtask of an aligned source; None: the subtask holds no other subtask back."""

    attempt: Attempt
    subtask: SubtaskId
    watermark_ms: int | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOutput:
    """Samples of the records that have left an operator's subtasks in this slot, as ordered by `Tap`."""

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
    """Build the subtasks of `attempt` that `placement` gives this slot.

    `lineage` is the lineage that sinks write under. `checkpoint_id` is the restored checkpoint, `restored_job` the job
    that took it. `restored` is the state by subtask and operator uid, empty for a start from the beginning. `splits`
    are the splits of sources that read from the beginning. Paths of restored state are relative to `root`, None: to the
    job's folder. Subtasks process the data in `in_flight` first. A `finishing` attempt only commits.
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
    """Give discovered splits, with their ordinals, to sources of this slot, or say that no more splits follow.

    A reader gets them after the barrier that was triggered last.
    """

    attempt: Attempt
    splits: dict[SubtaskId, SplitAssignment]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AllowWatermarks:
    """Let aligned sources read up to these watermarks. `allowed` is keyed by vertex."""

    attempt: Attempt
    allowed: dict[int, int]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndSources:
    """End the data of all sources of this slot, as if their input had ended.

    All checkpoints up to `over` are complete or given up. This replaces a lost `CheckpointAborted`, because no later
    barrier does.
    """

    attempt: Attempt
    over: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCompleted:
    """The checkpoint is complete: sinks commit everything prepared up to it."""

    attempt: Attempt
    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAborted:
    """The checkpoint was given up. The next checkpoint that completes commits its output.

    `completed` is as in `InjectBarrier`.
    """

    attempt: Attempt
    checkpoint_id: CheckpointId
    completed: CheckpointId | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """Send samples of the records that leave an operator, at most `records_per_s` of each subtask.

    The tap ends after `for_ms` unless it is renewed. With 0 it ends at once.
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
    """End the slot: the job is over.

    With `abandons_after`, sinks first remove output prepared for later checkpoints. It is in no snapshot, and another
    driver, which does not know of it, has taken over the job.
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
        "native": native.describe(),
    }
