"""Small troubles of a simulated cluster: messages that are lost or repeated, and slots that are slow for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.ids import SlotIndex


@final
@dataclass(slots=True)
class Troubles:
    """The probabilities of small troubles, until the faults stop."""

    repeated_message: float = 0.0
    lost_notification: float = 0.0
    lost_trigger: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Crawl:
    """Slots that are slow for a while, so that batches queue up in front of them."""

    slots: frozenset[SlotIndex] = frozenset()
    piece_ms: float = 0.0
    until_ms: float = 0.0

    def is_slow(self, slot: SlotIndex, now_ms: float) -> bool:
        """Return whether the slot is slow now."""
        return now_ms < self.until_ms and slot in self.slots
