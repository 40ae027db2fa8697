"""Options of when checkpoints are made, and of when they fail."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, SIZE_BYTES, one_of

CHECKPOINT_INTERVAL: Final = Option[int | None](
    "execution.checkpointing.interval", DURATION_MS, None, "Time between checkpoints. Not set: no checkpoints.", (), 10
)
CHECKPOINT_MODE: Final = Option[str](
    "execution.checkpointing.mode",
    one_of("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "EXACTLY_ONCE",
    "How often each record changes state. AT_LEAST_ONCE: no channel waits for the barrier of another.",
)
CHECKPOINT_TIMEOUT: Final = Option[int](
    "execution.checkpointing.timeout", DURATION_MS, 600_000, "A checkpoint that takes longer fails.", (), 10
)
CHECKPOINT_MIN_PAUSE: Final = Option[int](
    "execution.checkpointing.min-pause",
    DURATION_MS,
    0,
    "Least time from the end of a checkpoint to the start of the next.",
)
CHECKPOINT_MAX_CONCURRENT: Final = Option[int](
    "execution.checkpointing.max-concurrent-checkpoints",
    INTEGER,
    1,
    "Maximum number of checkpoints at a time. Unaligned checkpoints allow 1 only.",
    (),
    1,
)
CHECKPOINT_TOLERABLE_FAILURES: Final = Option[int](
    "execution.checkpointing.tolerable-failed-checkpoints",
    INTEGER,
    0,
    "Failed checkpoints in a row that the job survives. -1, from older releases, means not set.",
    (),
    -1,
)
CHECKPOINT_FAIL_ON_ERRORS: Final = Option[bool](
    "headgate.checkpoint.fail-on-errors",
    BOOLEAN,
    True,
    "Setting of older releases, for when the number of tolerable failures is not set. true: a failed checkpoint "
    "fails the job. false: the job survives any number.",
)
CHECKPOINT_FORCED: Final = Option[bool](
    "headgate.checkpoint.forced",
    BOOLEAN,
    False,
    "Whether checkpoints start when they are due, even while others run or the minimum pause lasts. Unaligned "
    "checkpoints never do.",
)
CHECKPOINTS_AFTER_TASKS_FINISH: Final = Option[bool](
    "execution.checkpointing.checkpoints-after-tasks-finish",
    BOOLEAN,
    True,
    "Whether checkpoints are made after some subtasks have processed all their input. The final one is always made.",
    ("execution.checkpointing.checkpoints-after-tasks-finish.enabled",),
)
UNALIGNED: Final = Option[bool](
    "execution.checkpointing.unaligned.enabled",
    BOOLEAN,
    False,
    "Whether barriers overtake batches; the checkpoint then contains these batches.",
    ("execution.checkpointing.unaligned",),
)
ALIGNED_TIMEOUT: Final = Option[int](
    "execution.checkpointing.aligned-checkpoint-timeout",
    DURATION_MS,
    0,
    "For unaligned checkpoints: how long after the trigger barriers begin to overtake. 0: at once.",
    ("execution.checkpointing.alignment-timeout",),
)
MAX_IN_FLIGHT_SIZE: Final = Option[int](
    "headgate.checkpoint.max-in-flight-size",
    SIZE_BYTES,
    256 * 2**20,
    "An unaligned checkpoint is declined if one subtask would store more overtaken batches than this.",
    (),
    1,
)
UNALIGNED_FORCED: Final = Option[bool](
    "execution.checkpointing.unaligned.forced",
    BOOLEAN,
    False,
    "Changes nothing. In Flink, allows unaligned checkpoints with iterations and custom partitioners.",
)
CHECKPOINTS_HISTORY: Final = Option[int](
    "web.checkpoints.history", INTEGER, 10, "Number of newest checkpoints that the statistics list one by one.", (), 1
)
COMMITTER_RETRIES: Final = Option[int](
    "sink.committer.retries",
    INTEGER,
    10,
    "How often a sink retries a commit that its target cannot make now, before the job restarts. The first retry "
    "comes after 100 ms, later ones after at most 10 s.",
    (),
    0,
)
