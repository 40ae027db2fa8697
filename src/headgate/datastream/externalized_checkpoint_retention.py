"""ExternalizedCheckpointRetention: whether the last checkpoint is kept when a job ends."""

from enum import Enum

from headgate import unsupported

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Whether the last checkpoint is kept when the job is cancelled or fails for good."""

    DELETE_ON_CANCELLATION = 0
    """Keep the checkpoint when the job fails; delete it when the job is cancelled."""
    RETAIN_ON_CANCELLATION = 1
    """Keep the checkpoint when the job fails and when it is cancelled."""
    NO_EXTERNALIZED_CHECKPOINTS = 2
    """Delete the checkpoint when the job fails and when it is cancelled."""


unsupported.guard(__name__, globals())
