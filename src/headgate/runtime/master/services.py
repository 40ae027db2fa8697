"""What the host of a job master provides: time, I/O threads, storage, and the ways to slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

from headgate.clock import Clock
from headgate.graph.placement import PlacementPolicy, as_programmed
from headgate.ids import Launch
from headgate.runtime.control import messages
from headgate.runtime.control.messages import ToSlot
from headgate.runtime.io import WaitingIo
from headgate.runtime.job_storage.job_storage import JobStorage


class SlotLink(Protocol):
    """The way to one registered slot."""

    def send(self, message: ToSlot) -> None:
        """Send a message; lost if the slot is. Does not block."""
        ...

    def close(self) -> None:
        """Close the connection: the slot then ends itself."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCount:
    """How many slots a launch could have now, and how many if nothing else ran.

    `limit` says what "in all" means, where that is not all that there is in a cluster; `more` how to have more slots.
    """

    now: int
    in_all: int
    more: str
    limit: str = ""


class Launcher(Protocol):
    """Makes and kills the processes that host slots. Reports the end of a launch to `JobMaster.launch_ended`."""

    def launch(self, launch: Launch, slots: int) -> None:
        """Start hosting so many slots. Does not block.

        Where that takes a while, or there are fewer for a job with an adaptive scheduler, `JobMaster.launch_sized` is
        to be told first.
        """
        ...

    def kill(self, launch: Launch) -> None:
        """End a launch, slots and all. Does not block."""
        ...

    def count_slots(self, held: int) -> SlotCount | None:
        """Return how many slots a launch could have if the `held` ones of the present one ended; None: any number.

        Slots that were told to end count as those of others until they have. Blocks.
        """
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MasterServices:
    """What the host of a job master provides. `collected` takes records for the waiting program.

    `placed` decides how each attempt is placed.
    """

    clock: Clock
    io: WaitingIo
    storage: JobStorage
    launcher: Launcher
    collected: Callable[[messages.Collected], None]
    placed: PlacementPolicy = as_programmed
