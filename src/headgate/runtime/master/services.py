"""The services that the host of a job master provides: time, I/O threads, storage, launches, connections to slots."""

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
        """Send a message, which is lost if the slot is lost. Does not block."""
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
        """Add the connection to a slot that has registered."""
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
        """Tell slots to end themselves, and drop their connections."""
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
    """The number of slots that a launch could have now, and the number if nothing else ran (`in_all`).

    `limit` explains, for messages, a limit below the size of the cluster. `more` advises how to get more slots.
    """

    now: int
    in_all: int
    more: str
    limit: str = ""


class Launcher(Protocol):
    """Makes and kills the processes that host slots. Reports the end of a launch to `JobMaster.launch_ended`."""

    def launch(self, launch: Launch, slots: int) -> None:
        """Start processes for `slots` slots. Does not block.

        If the start takes long, or an adaptive job gets fewer slots, call `JobMaster.launch_sized` first.
        """
        ...

    def kill(self, launch: Launch) -> None:
        """End a launch with its slots. Does not block."""
        ...

    def count_slots(self, held: int) -> SlotCount | None:
        """Return the slots that a launch could have if the `held` slots of this launch ended; None: any number.

        Slots that were told to end count as occupied until they have ended. Blocks.
        """
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MasterServices:
    """The services that the host of a job master provides.

    `collected` takes records for the waiting program. `placed` decides the placement of each attempt.
    """

    clock: Clock
    io: WaitingIo
    storage: JobStorage
    launcher: Launcher
    collected: Callable[[messages.Collected], None]
    placed: PlacementPolicy = as_programmed
