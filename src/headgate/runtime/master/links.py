"""The ways to the slots of the newest launch that have registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from headgate.graph.placement import Addresses
from headgate.ids import SlotIndex
from headgate.runtime.control import messages
from headgate.runtime.control.messages import RegisterSlot, ToSlot
from headgate.runtime.master.services import SlotLink


@final
class SlotLinks:
    """Owned by the job master's loop."""

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
        """Return where the first so many slots are reached by others."""
        return {slot: address for slot, address in self._addresses.items() if slot < slots}

    def drop(self, slot: SlotIndex) -> None:
        """Close the connection to a slot: it ends itself, if it still runs."""
        del self._addresses[slot]
        self._links.pop(slot).close()

    def drop_all(self) -> None:
        """Close the connections to all slots."""
        for slot in list(self._links):
            self.drop(slot)

    def release(self, slots: Iterable[SlotIndex]) -> None:
        """Have slots end themselves, and take no notice of them from now on."""
        for slot in slots:
            if slot in self._links:
                self._links.pop(slot).send(messages.Shutdown())
                del self._addresses[slot]

    def send(self, slot: SlotIndex, message: ToSlot) -> None:
        """Send a message to a slot, if it is there."""
        if slot in self._links:
            self._links[slot].send(message)

    def send_all(self, message: ToSlot) -> None:
        """Send a message to every slot."""
        for link in list(self._links.values()):
            link.send(message)
