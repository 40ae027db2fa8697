"""What the checkpoint coordinator is doing, and what it tells those who ask for a checkpoint meanwhile."""

from __future__ import annotations

from enum import Enum
from typing import final


@final
class Phase(Enum):
    """What the coordinator is doing; see its theory of operation."""

    IDLE = "idle"
    RUNNING = "running"
    STOPPING = "stopping"
    RECORDING = "recording"
    FAILING = "failing"
    COMMITTING = "committing"
    DONE = "done"

    @property
    def refusal(self) -> str:
        """Why no checkpoint that is asked for now can start."""
        match self:
            case Phase.IDLE | Phase.FAILING:
                return "the job does not run at the moment: ask again when it does"
            case Phase.STOPPING | Phase.RECORDING:
                return "the job is being stopped with a savepoint"
            case _:
                return "the job is ending"
