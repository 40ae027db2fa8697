"""The simulated network between slots: in order on each connection, with random delays, and fenced by attempt.

A barrier that overtakes gets ahead of some of what is under way: how much has been begun is random, as it is in a
network. Batches arrive as bytes, as they do between processes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol, final

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Batch, Element, Payload
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex
from headgate.testing.sim.process import Process

HOP_MS: Final = (0.05, 3.0)
SLOW_HOP_MS: Final = (5.0, 120.0)


class SimHost(Protocol):
    """The slot that an exchange belongs to."""

    def exchange_broken(self, reason: str) -> None:
        """A peer was lost while the attempt ran."""
        ...


@final
class SimExchange:
    """The exchange of one slot. `find` gives the exchange that listens at an address."""

    def __init__(
        self, process: Process, host: Callable[[], SimHost], find: Callable[[str], SimExchange | None]
    ) -> None:
        self.process = process
        self.attempt: Attempt | None = None
        self.credit_batches = 1
        self._host = host
        self._find = find
        self._inputs: Mapping[ChannelId, InputChannel] = {}
        self._peers: Addresses = {}
        self._flows: dict[SlotIndex, Flow] = {}
        self._senders: list[Flow] = []

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        self.attempt = attempt
        self._inputs = inputs

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        self._peers = peers

    def output(self, channel: ChannelPlan, target: SlotIndex) -> OvertakableChannel:
        return _SimOutput(self, channel.id, target)

    def end(self) -> None:
        self.attempt = None
        self._inputs = {}
        flows, self._flows = [*self._flows.values(), *self._senders], {}
        self._senders = []
        for flow in flows:
            flow.close()

    # --- connections

    def flow_to(self, target: SlotIndex) -> Flow | None:
        """Return the connection to the peer, made when it is used first; None when there is no such peer any more."""
        flow = self._flows.get(target)
        if flow is None and self.attempt is not None:
            peer = self._find(self._peers[target][0])
            flow = self._flows[target] = Flow(self, peer, self.attempt)
            if peer is not None:
                peer._senders.append(flow)
        return flow

    def arrived(self, flow: Flow, channel_id: ChannelId, element: Element, consumed: Callable[[], None]) -> bool:
        """Take an element; return whether it was for the attempt that is running here."""
        if flow.attempt != self.attempt:
            return False
        channel = self._inputs[channel_id]
        channel.on_consumed(lambda _: consumed())
        channel.push(memoryview(element.encode()) if isinstance(element, Batch) else element)
        self.process.wake()
        return True

    def lost(self, flow: Flow, reason: str) -> None:
        """The other end of a connection has closed it."""
        if self.attempt is not None and self.attempt == flow.attempt:
            self._host().exchange_broken(reason)
            self.process.wake()


@final
@dataclass(frozen=True, slots=True)
class _Sent:
    """An element under way, and whom to tell when it was consumed."""

    channel: ChannelId
    element: Element
    credited: Callable[[], None]


@final
class Flow:
    """One connection: elements one way, credit the other, both in order."""

    def __init__(self, sender: SimExchange, receiver: SimExchange | None, attempt: Attempt) -> None:
        self.attempt = attempt
        self._sender = sender
        self._receiver = receiver
        self._world = sender.process.world
        self._arrival_ms = 0.0
        self._open = True
        self._under_way: deque[_Sent] = deque()

    def send(self, channel_id: ChannelId, element: Element, credited: Callable[[], None]) -> None:
        """Have the element arrive, some time after all that was sent before."""
        self._under_way.append(_Sent(channel_id, element, credited))
        self._schedule()

    def overtake(self, channel_id: ChannelId, barrier: Barrier, credited: Callable[[], None]) -> list[Payload]:
        """Have the barrier arrive ahead of what is not begun; return the batches of the channel among that."""
        begun = self._world.rng.randint(0, len(self._under_way))
        behind = list(self._under_way)[begun:]
        self._under_way.insert(begun, _Sent(channel_id, barrier, credited))
        self._schedule()
        own = [sent.element for sent in behind if sent.channel == channel_id]
        return [element.encode() for element in own if isinstance(element, Batch)]

    def _schedule(self) -> None:
        """Have one more element arrive, behind all that are under way."""
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

        def consumed() -> None:
            self._sender.process.on_loop(self._world.now_ms + self._hop_ms(), arrived_back)

        def arrived_back() -> None:
            sent.credited()
            self._sender.process.wake()

        if self._open and not receiver.arrived(self, sent.channel, sent.element, consumed):
            self.close()

    def close(self) -> None:
        """Have both ends learn, some time later, that the connection is gone."""
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
class _SimOutput:
    """The sending end of a channel into another slot."""

    __slots__ = ("_channel", "_exchange", "_target", "_under_way")
    sent_bytes = 0

    def __init__(self, exchange: SimExchange, channel: ChannelId, target: SlotIndex) -> None:
        self._exchange = exchange
        self._channel = channel
        self._target = target
        self._under_way = 0

    @property
    def writable(self) -> bool:
        return self._under_way < self._exchange.credit_batches

    def send(self, element: Element) -> None:
        flow = self._exchange.flow_to(self._target)
        if flow is not None:
            self._under_way += isinstance(element, Batch)
            flow.send(self._channel, element, self._credited)

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Overtake what is under way, except what has been begun."""
        flow = self._exchange.flow_to(self._target)
        return [] if flow is None else flow.overtake(self._channel, barrier, self._credited)

    def _credited(self) -> None:
        self._under_way -= 1
