"""RuntimeExecutionMode: how a program runs."""

from enum import Enum

from headgate import unsupported

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """How a program runs."""

    STREAMING = 0
    """All operators run at once, with checkpoints."""
    BATCH = 1
    """Stages run one after the other, over bounded input, without checkpoints."""
    AUTOMATIC = 2
    """BATCH if every source is bounded, else STREAMING."""


unsupported.guard(__name__, globals())
