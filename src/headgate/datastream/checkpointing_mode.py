"""CheckpointingMode: whether a record changes state exactly once, or at least once."""

from enum import Enum

from headgate import unsupported

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often a record changes state, whatever fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    """Barriers are not aligned: a channel never waits for another one's barrier."""


unsupported.guard(__name__, globals())
