"""Options of the location, contents and retention of checkpoints and savepoints."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, INTEGER, LOCATION, SIZE_BYTES, one_of

CHECKPOINT_DIR: Final = Option[str | None](
    "execution.checkpointing.dir",
    LOCATION,
    None,
    "Where checkpoints are; the driver and every slot must see it. Not set: headgate.storage.dir.",
    ("state.checkpoints.dir",),
)
SAVEPOINT_DIR: Final = Option[str | None](
    "execution.checkpointing.savepoint-dir",
    LOCATION,
    None,
    "Folder of savepoints whose request names no folder; the driver and every slot must see it.",
    ("state.savepoints.dir",),
)
CHECKPOINT_STORAGE: Final = Option[str | None](
    "execution.checkpointing.storage",
    one_of("jobmanager", "filesystem", refused=("execution.checkpointing.storage=custom",)),
    None,
    "jobmanager: checkpoints in the memory of the driver, for small state. Not set: filesystem.",
    ("state.checkpoint-storage",),
)
MAX_STATE_SIZE: Final = Option[int](
    "headgate.checkpoint.max-state-size",
    SIZE_BYTES,
    5 * 2**20,
    "With execution.checkpointing.storage=jobmanager: the largest size of one state of a subtask.",
    (),
    1,
)
CHECKPOINT_INLINE_THRESHOLD: Final = Option[int](
    "execution.checkpointing.data-inline-threshold",
    SIZE_BYTES,
    20 * 2**10,
    "State smaller than this is stored inside the metadata file of the checkpoint.",
    ("state.storage.fs.memory-threshold",),
)
CHECKPOINT_INCREMENTAL: Final = Option[bool](
    "execution.checkpointing.incremental",
    BOOLEAN,
    False,
    "Whether a checkpoint writes only what has changed since the last completed one, on either backend.",
    ("state.backend.incremental",),
)
CHECKPOINTS_RETAINED: Final = Option[int](
    "execution.checkpointing.num-retained",
    INTEGER,
    1,
    "Number of completed checkpoints that are kept.",
    ("state.checkpoints.num-retained",),
    1,
)
CHECKPOINT_RETENTION: Final = Option[str](
    "execution.checkpointing.externalized-checkpoint-retention",
    one_of("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "What happens to the last checkpoint when the job is cancelled. When the job fails for good, the checkpoint stays.",
)
