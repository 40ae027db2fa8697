"""CheckpointingMode: how often each record changes state."""

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often each record changes state, whatever fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
