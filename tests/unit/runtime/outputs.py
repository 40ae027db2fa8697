"""Channels that note what is sent, for the tests."""

from __future__ import annotations

from typing import Any

from headgate.dataflow.channel import NO_LIMIT
from headgate.elements import Barrier, Batch, Element, Payload


class NotingChannel:
    """The sending end of a channel that goes nowhere."""

    sent_bytes = 0
    records_max = NO_LIMIT

    def __init__(self, room: int = 10**9) -> None:
        self.sent: list[Element] = []
        self.room = room

    @property
    def writable(self) -> bool:
        return len(self.batches) < self.room

    def send(self, element: Element) -> None:
        self.sent.append(element)

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Have nothing begun: the barrier is ahead of everything."""
        overtaken: list[Payload] = [batch.encode() for batch in self.batches]
        self.sent.insert(0, barrier)
        return overtaken

    @property
    def batches(self) -> list[Batch]:
        return [element for element in self.sent if isinstance(element, Batch)]

    @property
    def records(self) -> list[Any]:
        return [record for batch in self.batches for record in batch.records]

    def told(self) -> list[Any]:
        """What was sent: records as a list, control elements as they are."""
        return [element.records if isinstance(element, Batch) else element for element in self.sent]
