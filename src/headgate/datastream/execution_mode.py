"""RuntimeExecutionMode: how a program runs."""

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """How a program runs: as a pipelined stream with checkpoints, or stage after stage over bounded input."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
