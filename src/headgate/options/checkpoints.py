"""Options of checkpoints and savepoints, and of what a job starts from."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, DURATION_MS, INTEGER, LOCATION, SIZE_BYTES, TEXT, one_of

CHECKPOINT_INTERVAL: Final = Option[int | None](
    "execution.checkpointing.interval", DURATION_MS, None, "Time between checkpoints; not set: none are made.", (), 10
)
CHECKPOINT_MODE: Final = Option[str](
    "execution.checkpointing.mode",
    one_of("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    "EXACTLY_ONCE",
    "How often each record changes state; AT_LEAST_ONCE: no channel waits for another one's barrier.",
)
UNALIGNED: Final = Option[bool](
    "execution.checkpointing.unaligned.enabled",
    BOOLEAN,
    False,
    "Whether barriers overtake batches, which then are part of the checkpoint.",
    ("execution.checkpointing.unaligned",),
)
ALIGNED_TIMEOUT: Final = Option[int](
    "execution.checkpointing.aligned-checkpoint-timeout",
    DURATION_MS,
    0,
    "With unaligned checkpoints, the time from the trigger after which barriers overtake; 0: at once.",
    ("execution.checkpointing.alignment-timeout",),
)
UNALIGNED_FORCED: Final = Option[bool](
    "execution.checkpointing.unaligned.forced",
    BOOLEAN,
    False,
    "Allows unaligned checkpoints with iterations and custom partitioners. There are none: it changes nothing.",
)
MAX_IN_FLIGHT_SIZE: Final = Option[int](
    "headgate.checkpoint.max-in-flight-size",
    SIZE_BYTES,
    256 * 2**20,
    "An unaligned checkpoint that would hold more bytes of overtaken batches of one subtask is declined.",
    (),
    1,
)
RECOVER_WITHOUT_CHANNEL_STATE: Final = Option[int | None](
    "execution.checkpointing.recover-without-channel-state.checkpoint-id",
    INTEGER,
    None,
    "A start from the checkpoint of this id drops the batches that its barriers had overtaken: they are lost.",
)
CHECKPOINT_TIMEOUT: Final = Option[int](
    "execution.checkpointing.timeout", DURATION_MS, 600_000, "A checkpoint that takes longer is given up.", (), 10
)
CHECKPOINT_MIN_PAUSE: Final = Option[int](
    "execution.checkpointing.min-pause", DURATION_MS, 0, "Least time from the end of a checkpoint to the next."
)
CHECKPOINT_MAX_CONCURRENT: Final = Option[int](
    "execution.checkpointing.max-concurrent-checkpoints", INTEGER, 1, "Checkpoints under way at one time.", (), 1
)
CHECKPOINT_TOLERABLE_FAILURES: Final = Option[int](
    "execution.checkpointing.tolerable-failed-checkpoints",
    INTEGER,
    0,
    "Failed checkpoints in a row that the job survives; -1, as of older releases: not set.",
    (),
    -1,
)
CHECKPOINT_FAIL_ON_ERRORS: Final = Option[bool](
    "headgate.checkpoint.fail-on-errors",
    BOOLEAN,
    True,
    "Whether a failed checkpoint fails the job when the number of tolerable ones is not set; else the job survives "
    "any number. The setting of older releases.",
)
PREFER_CHECKPOINT: Final = Option[bool](
    "execution.checkpointing.prefer-checkpoint-for-recovery",
    BOOLEAN,
    True,
    "Whether a job that has failed restarts from its newest checkpoint, also when it has completed a newer savepoint.",
)
CHECKPOINT_FORCED: Final = Option[bool](
    "headgate.checkpoint.forced",
    BOOLEAN,
    False,
    "Whether checkpoints start when they are due, however many are under way and whatever the pause. Unaligned ones "
    "never do.",
)
CHECKPOINTS_AFTER_TASKS_FINISH: Final = Option[bool](
    "execution.checkpointing.checkpoints-after-tasks-finish",
    BOOLEAN,
    True,
    "Whether checkpoints go on when some subtasks have processed all their input. The final one is made always.",
    ("execution.checkpointing.checkpoints-after-tasks-finish.enabled",),
)
SAVEPOINT_DIR: Final = Option[str | None](
    "execution.checkpointing.savepoint-dir",
    LOCATION,
    None,
    "Folder or URI for savepoints whose asker names none, seen by the driver and every slot.",
    ("state.savepoints.dir",),
)
CHECKPOINTS_RETAINED: Final = Option[int](
    "execution.checkpointing.num-retained",
    INTEGER,
    1,
    "Completed checkpoints kept.",
    ("state.checkpoints.num-retained",),
    1,
)
CHECKPOINTS_HISTORY: Final = Option[int](
    "web.checkpoints.history", INTEGER, 10, "Newest checkpoints that the statistics show one by one.", (), 1
)
CHECKPOINT_RETENTION: Final = Option[str](
    "execution.checkpointing.externalized-checkpoint-retention",
    one_of("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "What becomes of the last checkpoint when the job is cancelled. When it fails for good, the checkpoint stays.",
)
CHECKPOINT_INCREMENTAL: Final = Option[bool](
    "execution.checkpointing.incremental",
    BOOLEAN,
    False,
    "Write only what has changed since the last completed checkpoint, on either backend.",
    ("state.backend.incremental",),
)
CHANGELOG: Final = Option[bool](
    "state.changelog.enabled",
    BOOLEAN,
    False,
    "Write changes of keyed state ahead of the barriers, so that checkpoints are short.",
    ("state.backend.changelog.enabled",),
)
CHANGELOG_MATERIALIZATION_INTERVAL: Final = Option[int](
    "state.changelog.periodic-materialize.interval",
    DURATION_MS,
    600_000,
    "Time between whole snapshots of the state under a changelog; 0: none but those that a long log asks for.",
    ("state.backend.changelog.periodic-materialize.interval",),
)
CHANGELOG_CUT_INTERVAL: Final = Option[int](
    "headgate.changelog.cut-interval",
    DURATION_MS,
    1000,
    "Time between two parts of the changelog that are written ahead of a barrier.",
    (),
    1,
)
CHECKPOINT_DIR: Final = Option[str | None](
    "execution.checkpointing.dir",
    LOCATION,
    None,
    "Folder or URI for checkpoints, seen by the driver and every slot; not set: the job's storage.",
    ("state.checkpoints.dir",),
)
CHECKPOINT_STORAGE: Final = Option[str | None](
    "execution.checkpointing.storage",
    one_of("jobmanager", "filesystem", refused=("execution.checkpointing.storage=custom",)),
    None,
    "jobmanager: in the driver's memory, for small state; filesystem: in files; not set: in files.",
    ("state.checkpoint-storage",),
)
MAX_STATE_SIZE: Final = Option[int](
    "headgate.checkpoint.max-state-size",
    SIZE_BYTES,
    5 * 2**20,
    "With execution.checkpointing.storage: jobmanager, the most that one state of a subtask may take.",
    (),
    1,
)
LOCAL_BACKUP: Final = Option[bool](
    "execution.checkpointing.local-backup.enabled",
    BOOLEAN,
    False,
    "Whether slots keep a copy of their state on their own disk, to start from after a failure that they survive.",
    ("state.backend.local-recovery",),
)
RECOVER_FROM_LOCAL: Final = Option[bool | None](
    "execution.state-recovery.from-local",
    BOOLEAN,
    None,
    "Whether subtasks start from such copies; not set: where there are some.",
)
RECOVERY_PATH: Final = Option[str | None](
    "execution.state-recovery.path",
    TEXT,
    None,
    "Savepoint or retained checkpoint (its folder, or the _metadata file in it) to start from, while the job has "
    "completed no checkpoint of its own.",
    ("execution.savepoint.path",),
)
CLAIM_MODE: Final = Option[str](
    "execution.state-recovery.claim-mode",
    one_of("NO_CLAIM", "CLAIM", refused=("execution.state-recovery.claim-mode=LEGACY",)),
    "NO_CLAIM",
    "NO_CLAIM: what the job starts from stays as it is; CLAIM: the job deletes it once it has enough checkpoints of "
    "its own.",
    ("execution.savepoint-restore-mode",),
)
IGNORE_UNCLAIMED_STATE: Final = Option[bool](
    "execution.state-recovery.ignore-unclaimed-state",
    BOOLEAN,
    False,
    "Allow that state of operators which the program no longer has is left behind.",
    ("execution.savepoint.ignore-unclaimed-state",),
)
COMMITTER_RETRIES: Final = Option[int](
    "sink.committer.retries",
    INTEGER,
    10,
    "How often a commit that a sink's target cannot make now is tried again, 100 ms later at first and 10 s at most, "
    "before the job restarts.",
    (),
    0,
)
ALLOW_DUPLICATE_OUTPUT: Final = Option[bool](
    "headgate.recovery.allow-duplicate-output",
    BOOLEAN,
    False,
    "Go back to an older retained checkpoint when the newest is damaged, though sinks may then repeat what they have "
    "committed. Jobs without such sinks go back in any case.",
)
LOCAL_DIRS: Final = Option[str | None](
    "io.tmp.dirs",
    TEXT,
    None,
    "Folders for the local files of slots, separated by commas; not set: those of Spark (spark.local.dir), else where "
    "the system keeps temporary files.",
)
CHECKPOINT_INLINE_THRESHOLD: Final = Option[int](
    "execution.checkpointing.data-inline-threshold",
    SIZE_BYTES,
    20 * 2**10,
    "State smaller than this is kept inside the checkpoint's metadata file.",
    ("state.storage.fs.memory-threshold",),
)
