"""ExternalizedCheckpointRetention: what becomes of the last checkpoint when a job ends."""

from enum import Enum

from headgate import unsupported

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """What becomes of the last checkpoint when the job is cancelled or fails for good."""

    DELETE_ON_CANCELLATION = 0
    """It is kept when the job fails, and deleted when it is cancelled."""
    RETAIN_ON_CANCELLATION = 1
    """It is kept."""
    NO_EXTERNALIZED_CHECKPOINTS = 2
    """It is deleted."""


unsupported.guard(__name__, globals())
