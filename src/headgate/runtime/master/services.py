"""The services that the host of a job master provides: time, I/O threads, storage, launches, connections to slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, final

from headgate import native, options
from headgate.clock import Clock
from headgate.config import Settings
from headgate.graph.placement import Placement, PlacementPolicy, as_programmed
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


def typed_batches(settings: Settings, facts: Iterable[Mapping[str, str]]) -> bool:
    """Return whether the slots of a launch send batches in their typed form, by the facts of their processes.

    All must have the compiled module: reading the typed form in Python takes longer than unpickling.

    >>> typed_batches(Settings({}), [{"native": "compiled"}, {"native": "Python (...)"}])
    False
    """
    return settings.get(options.NATIVE) != "off" and all(own.get("native") == native.COMPILED for own in facts)


@final
class SlotLinks:
    """The connections to the registered slots of the newest launch. Owned by the job master's loop."""

    def __init__(self) -> None:
        self._links: dict[SlotIndex, SlotLink] = {}
        self._addresses: dict[SlotIndex, tuple[str, int]] = {}
        self._facts: dict[SlotIndex, Mapping[str, str]] = {}

    def __contains__(self, slot: SlotIndex) -> bool:
        return slot in self._links

    def add(self, message: RegisterSlot, link: SlotLink) -> None:
        """Add the connection to a slot that has registered."""
        self._links[message.slot] = link
        self._addresses[message.slot] = (message.host, message.port)
        self._facts[message.slot] = message.environment

    def placed(self, placement: Placement, settings: Settings) -> Placement:
        """Return the placement with what its slots need to know about each other."""
        facts = [own for slot, own in self._facts.items() if slot < placement.slots]
        return replace(
            placement,
            addresses={slot: address for slot, address in self._addresses.items() if slot < placement.slots},
            typed_batches=typed_batches(settings, facts),
        )

    def drop(self, slot: SlotIndex) -> None:
        """Close the connection to a slot: the slot then ends itself, if it still runs."""
        del self._addresses[slot], self._facts[slot]
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
                del self._addresses[slot], self._facts[slot]

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
