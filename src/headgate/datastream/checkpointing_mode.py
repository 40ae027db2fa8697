"""CheckpointingMode: whether a record changes state exactly once, or at least once."""

from enum import Enum

from headgate import unsupported

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often a record changes state when the job fails and restarts."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    """Barriers are not aligned: a channel never waits for the barrier of another channel."""


unsupported.guard(__name__, globals())
