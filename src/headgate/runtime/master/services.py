"""What the host of a job master provides: time, I/O threads, storage, launches, and the connections to slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, final

from headgate.clock import Clock
from headgate.graph.placement import Addresses, PlacementPolicy, as_programmed
from headgate.ids import Launch, SlotIndex, SubtaskId
from headgate.runtime.control import messages
from headgate.runtime.control.messages import RegisterSlot, ToSlot
from headgate.runtime.io import WaitingIo
from headgate.runtime.job_storage.job_storage import JobStorage


class SlotLink(Protocol):
    """The connection to one registered slot."""

    def send(self, message: ToSlot) -> None:
        """Send a message; lost if the slot is. Does not block."""
        ...

    def close(self) -> None:
        """Close the connection: the slot then ends itself."""
        ...


@final
@dataclass(frozen=True, slots=True)
class SendToAll:
    """Send a message to every slot."""

    message: ToSlot


@final
@dataclass(frozen=True, slots=True)
class SendToSubtask:
    """Send a message to the slot that hosts a subtask."""

    subtask: SubtaskId
    message: ToSlot


@final
class SlotLinks:
    """The connections to the registered slots of the newest launch. Owned by the job master's loop."""

    def __init__(self) -> None:
        self._links: dict[SlotIndex, SlotLink] = {}
        self._addresses: dict[SlotIndex, tuple[str, int]] = {}

    def __contains__(self, slot: SlotIndex) -> bool:
        return slot in self._links

    def add(self, message: RegisterSlot, link: SlotLink) -> None:
        """A slot has registered."""
        self._links[message.slot] = link
        self._addresses[message.slot] = (message.host, message.port)

    def addresses(self, slots: int) -> Addresses:
        """Return the addresses at which other slots reach the first `slots` slots."""
        return {slot: address for slot, address in self._addresses.items() if slot < slots}

    def drop(self, slot: SlotIndex) -> None:
        """Close the connection to a slot: the slot then ends itself, if it still runs."""
        del self._addresses[slot]
        self._links.pop(slot).close()

    def drop_all(self) -> None:
        """Close the connections to all slots."""
        for slot in list(self._links):
            self.drop(slot)

    def release(self, slots: Iterable[SlotIndex]) -> None:
        """Order slots to end themselves, and forget them."""
        for slot in slots:
            if slot in self._links:
                self._links.pop(slot).send(messages.Shutdown())
                del self._addresses[slot]

    def send(self, slot: SlotIndex, message: ToSlot) -> None:
        """Send a message to a slot, if the slot is registered."""
        if slot in self._links:
            self._links[slot].send(message)

    def send_all(self, message: ToSlot) -> None:
        """Send a message to every slot."""
        for link in list(self._links.values()):
            link.send(message)


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
