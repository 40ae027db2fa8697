"""The exchange inside one process: for slots that are stepped by the same thread, as in `MiniCluster`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Element, Payload
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex

Switchboard = dict[SlotIndex, "MemoryExchange"]
"""All exchanges of one process."""


@final
class MemoryExchange:
    """The exchange of one slot: elements are put straight into the queues of the receiving slot."""

    def __init__(self, slot: SlotIndex, switchboard: Switchboard, batches_max: int) -> None:
        self._switchboard = switchboard
        self._batches_max = batches_max
        self._attempt: Attempt | None = None
        self._inputs: Mapping[ChannelId, InputChannel] = {}
        switchboard[slot] = self

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        self._attempt = attempt
        self._inputs = inputs

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        """Nothing to do: the switchboard knows everybody."""

    def output(self, channel: ChannelPlan, target: SlotIndex) -> OvertakableChannel:
        return _MemoryOutput(self, channel.id, target)

    def end(self) -> None:
        self._attempt = None
        self._inputs = {}

    def receiver(self, sender: MemoryExchange, channel: ChannelId, target: SlotIndex) -> InputChannel | None:
        """Return the receiving end in slot `target`, None when that slot runs another attempt."""
        peer = self._switchboard[target]
        return peer._inputs[channel] if peer._attempt is not None and peer._attempt == sender._attempt else None

    @property
    def batches_max(self) -> int:
        """Batches that may wait in one channel."""
        return self._batches_max


@final
class _MemoryOutput:
    """The sending end of a channel into another slot of this process."""

    __slots__ = ("_channel", "_exchange", "_target")
    sent_bytes = 0

    def __init__(self, exchange: MemoryExchange, channel: ChannelId, target: SlotIndex) -> None:
        self._exchange = exchange
        self._channel = channel
        self._target = target

    @property
    def writable(self) -> bool:
        receiver = self._exchange.receiver(self._exchange, self._channel, self._target)
        return receiver is None or receiver.batches < self._exchange.batches_max

    def send(self, element: Element) -> None:
        receiver = self._exchange.receiver(self._exchange, self._channel, self._target)
        if receiver is not None:
            receiver.push(element)

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """All that was sent is in the receiver's queue."""
        self.send(barrier)
        return []
