"""The simulated network between slots: in order on each connection, with random delays, and fenced by attempt.

A barrier that overtakes passes a random number of the elements in transit: as in a network, the sending of some has
begun. Batches are encoded and counted as on the network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Batch, Control, Element, Payload, WriteTyped
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex
from headgate.runtime.exchange.credit import Credit, CreditedOutput, CreditGiver, CreditWindow, Encoded
from headgate.runtime.slot.slot import Slot
from headgate.testing.sim.process import Process

HOP_MS: Final = (0.05, 3.0)
SLOW_HOP_MS: Final = (5.0, 120.0)


@final
class SimExchange:
    """The exchange of one slot. `find` returns the exchange that listens at an address."""

    def __init__(
        self,
        process: Process,
        host: Callable[[], Slot],
        find: Callable[[str], SimExchange | None],
        window: CreditWindow,
    ) -> None:
        self.process = process
        self.attempt: Attempt | None = None
        self.window = window
        self._host = host
        self._find = find
        self._inputs: Mapping[ChannelId, InputChannel] = {}
        self._peers: Addresses = {}
        self._flows: dict[SlotIndex, SimConnection] = {}
        self._senders: list[SimConnection] = []

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        self.attempt = attempt
        self._inputs = inputs

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        self._peers = peers

    def output(self, channel: ChannelPlan, target: SlotIndex, write: WriteTyped | None = None) -> OvertakableChannel:
        return _SimOutput(self, channel.id, target, self.window, write)

    def end(self) -> None:
        self.attempt = None
        self._inputs = {}
        flows, self._flows = [*self._flows.values(), *self._senders], {}
        self._senders = []
        for flow in flows:
            flow.close()

    # --- connections

    def flow_to(self, target: SlotIndex) -> SimConnection | None:
        """Return the connection to the peer, made at its first use; None when the peer no longer exists."""
        flow = self._flows.get(target)
        if flow is None and self.attempt is not None:
            peer = self._find(self._peers[target][0])
            flow = self._flows[target] = SimConnection(self, peer, self.attempt)
            if peer is not None:
                peer._senders.append(flow)
        return flow

    def arrived(self, flow: SimConnection, sent: InTransit) -> bool:
        """Take an element; return whether it belongs to the attempt that runs here."""
        if flow.attempt != self.attempt:
            return False
        channel = self._inputs[sent.channel]
        channel.on_consumed(flow.giver(sent).consumed)
        if isinstance(sent.element, Encoded):
            channel.push_bytes(memoryview(sent.element.payload), sent.element.records)
        else:
            channel.push(sent.element)
        self.process.wake()
        return True

    def lost(self, flow: SimConnection, reason: str) -> None:
        """Handle a connection that the other end has closed."""
        if self.attempt is not None and self.attempt == flow.attempt:
            self._host().exchange_broken(reason)
            self.process.wake()


@final
@dataclass(frozen=True, slots=True)
class InTransit:
    """An element in transit, a batch as bytes, and the function to call when it is consumed."""

    channel: ChannelId
    element: Control | Encoded
    credited: Callable[[Credit], None]


@final
class SimConnection:
    """One connection: elements one way, credit the other, both in order."""

    def __init__(self, sender: SimExchange, receiver: SimExchange | None, attempt: Attempt) -> None:
        self.attempt = attempt
        self._sender = sender
        self._receiver = receiver
        self._world = sender.process.world
        self._arrival_ms = 0.0
        self._open = True
        self._under_way: deque[InTransit] = deque()
        self._givers: dict[ChannelId, CreditGiver] = {}

    def send(self, sent: InTransit) -> None:
        """Have the element arrive, some time after all elements sent before it."""
        self._under_way.append(sent)
        self._schedule()

    def overtake(self, barrier: InTransit) -> list[Payload]:
        """Have the barrier overtake elements that are not being sent yet; return the channel's batches among them."""
        begun = self._world.rng.randint(0, len(self._under_way))
        behind = list(self._under_way)[begun:]
        self._under_way.insert(begun, barrier)
        self._schedule()
        own = [sent.element for sent in behind if sent.channel == barrier.channel]
        return [element.payload for element in own if isinstance(element, Encoded)]

    def giver(self, sent: InTransit) -> CreditGiver:
        """Return the giver that returns credit for the element's channel, after a hop."""
        giver = self._givers.get(sent.channel)
        if giver is None:

            def give(credit: Credit) -> None:
                self._sender.process.on_loop(self._world.now_ms + self._hop_ms(), lambda: arrive(credit))

            def arrive(credit: Credit) -> None:
                sent.credited(credit)
                self._sender.process.wake()

            giver = self._givers[sent.channel] = CreditGiver(self._sender.window, give)
        return giver

    def _schedule(self) -> None:
        """Plan the arrival of one more element, after all elements in transit."""
        receiver = self._receiver
        if not self._open:
            return
        if receiver is None:
            self.close()
            return
        free_ms = self._arrival_ms + self._world.frame_gap_ms
        self._arrival_ms = max(free_ms, self._world.now_ms + self._hop_ms())
        receiver.process.on_loop(self._arrival_ms, partial(self._arrive, receiver))

    def _arrive(self, receiver: SimExchange) -> None:
        sent = self._under_way.popleft()
        if self._open and not receiver.arrived(self, sent):
            self.close()

    def close(self) -> None:
        """Have both ends notice, some time later, that the connection is gone."""
        if not self._open:
            return
        self._open = False
        reason = "the connection to a peer slot has ended (simulated)"
        for end in (self._sender, self._receiver):
            if end is not None:
                end.process.on_loop(self._world.now_ms + self._hop_ms(), partial(end.lost, self, reason))

    def _hop_ms(self) -> float:
        rng = self._world.rng
        return rng.uniform(*(SLOW_HOP_MS if rng.random() < self._world.slow_hops else HOP_MS))


@final
class _SimOutput(CreditedOutput):
    """The sending end of a channel into another slot."""

    __slots__ = ("_channel", "_exchange", "_target")

    def __init__(
        self,
        exchange: SimExchange,
        channel: ChannelId,
        target: SlotIndex,
        window: CreditWindow,
        write: WriteTyped | None,
    ) -> None:
        super().__init__(window, write)
        self._channel = channel
        self._exchange = exchange
        self._target = target

    def send(self, element: Element) -> None:
        flow = self._exchange.flow_to(self._target)
        if flow is None:
            return
        for each in self._encoded(element) if isinstance(element, Batch) else (element,):
            flow.send(InTransit(self._channel, each, self.credited))

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Overtake the elements in transit, except those whose sending has begun."""
        flow = self._exchange.flow_to(self._target)
        return [] if flow is None else flow.overtake(InTransit(self._channel, barrier, self.credited))
