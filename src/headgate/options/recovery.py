"""Options of the snapshot that a job starts from, the first time and after a failure."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import BOOLEAN, INTEGER, TEXT, TEXT_PAIRS, one_of

RECOVERY_PATH: Final = Option[str | None](
    "execution.state-recovery.path",
    TEXT,
    None,
    "Savepoint or retained checkpoint (its folder, or the _metadata file in it) that the job starts from, as long "
    "as it has completed no checkpoint of its own.",
    ("execution.savepoint.path",),
)
CLAIM_MODE: Final = Option[str](
    "execution.state-recovery.claim-mode",
    one_of("NO_CLAIM", "CLAIM", refused=("execution.state-recovery.claim-mode=LEGACY",)),
    "NO_CLAIM",
    "NO_CLAIM: the job leaves the snapshot that it starts from as it is. CLAIM: the job deletes it once it has "
    "enough checkpoints of its own.",
    ("execution.savepoint-restore-mode",),
)
IGNORE_UNCLAIMED_STATE: Final = Option[bool](
    "execution.state-recovery.ignore-unclaimed-state",
    BOOLEAN,
    False,
    "Whether state of operators that the program no longer has may be dropped.",
    ("execution.savepoint.ignore-unclaimed-state",),
)
MOVED_CLASSES: Final = Option[dict[str, str]](
    "headgate.state.moved-classes",
    TEXT_PAIRS,
    {},
    "Old names to new names of moved classes whose pickled objects are in stored state; names include the module.",
)
RECOVER_WITHOUT_CHANNEL_STATE: Final = Option[int | None](
    "execution.checkpointing.recover-without-channel-state.checkpoint-id",
    INTEGER,
    None,
    "Id of an unaligned checkpoint: a start from it drops the batches that its barriers had overtaken, and they "
    "are lost.",
)
PREFER_CHECKPOINT: Final = Option[bool](
    "execution.checkpointing.prefer-checkpoint-for-recovery",
    BOOLEAN,
    True,
    "Whether a job that has failed restarts from its newest checkpoint, even if it has completed a savepoint since.",
)
ALLOW_DUPLICATE_OUTPUT: Final = Option[bool](
    "headgate.recovery.allow-duplicate-output",
    BOOLEAN,
    False,
    "Whether a job whose newest checkpoint is damaged goes back to an older one, even if its sinks may then repeat "
    "committed output. Jobs without such sinks go back in any case.",
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
    "Whether subtasks start from the local copies of their state. Not set: wherever a copy exists.",
)
