"""The exchange inside one process: for slots that are stepped by the same thread, as in `MiniCluster`.

Batches are encoded and counted as on the network. So slots share no object, and records that cannot be sent fail here,
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Batch, Element, Payload, WriteTyped
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex
from headgate.runtime.exchange.credit import CreditedOutput, CreditGiver, CreditWindow

Switchboard = dict[SlotIndex, "MemoryExchange"]
"""All exchanges of one process."""


@final
class MemoryExchange:
    """The exchange of one slot: puts elements directly into the queues of the receiving slot."""

    def __init__(self, slot: SlotIndex, switchboard: Switchboard, window: CreditWindow) -> None:
        self._switchboard = switchboard
        self._window = window
        self._attempt: Attempt | None = None
        self._inputs: Mapping[ChannelId, InputChannel] = {}
        switchboard[slot] = self

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        self._attempt = attempt
        self._inputs = inputs

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        """Nothing to do: the switchboard knows everybody."""

    def output(self, channel: ChannelPlan, target: SlotIndex, write: WriteTyped | None = None) -> OvertakableChannel:
        return _MemoryOutput(self, channel.id, target, self._window, write)

    def end(self) -> None:
        self._attempt = None
        self._inputs = {}

    def receiver(self, channel: ChannelId, target: SlotIndex) -> InputChannel | None:
        """Return the receiving end in slot `target`, None when that slot runs another attempt."""
        peer = self._switchboard[target]
        return peer._inputs[channel] if peer._attempt is not None and peer._attempt == self._attempt else None


@final
class _MemoryOutput(CreditedOutput):
    """The sending end of a channel into another slot of this process."""

    __slots__ = ("_channel", "_exchange", "_giver", "_target")

    def __init__(
        self,
        exchange: MemoryExchange,
        channel: ChannelId,
        target: SlotIndex,
        window: CreditWindow,
        write: WriteTyped | None,
    ) -> None:
        super().__init__(window, write)
        self._exchange = exchange
        self._channel = channel
        self._target = target
        self._giver = CreditGiver(window, self.credited)

    def send(self, element: Element) -> None:
        """Send an element. Raises `UserCodeError` naming a record that cannot be pickled."""
        receiver = self._exchange.receiver(self._channel, self._target)
        if receiver is None:
            return
        if not isinstance(element, Batch):
            receiver.push(element)
            return
        receiver.on_consumed(self._giver.consumed)
        for payload, records in self._encoded(element):
            receiver.push_bytes(memoryview(payload), records)

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Send the barrier; return nothing, because all batches are in the receiver's queue."""
        self.send(barrier)
        return []
