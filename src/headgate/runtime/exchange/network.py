"""The exchange over the network: one connection from each slot to each peer that it sends to.

Elements travel in one direction of the connection, credit in the other. The receiver always reads arriving elements and
queues them by channel. So a channel that is not read holds back only its own sender. Batches stay bytes until they are
read. A barrier that overtakes is sent ahead of all frames that wait for the connection.

Frame: u32 channel, u8 kind, payload; in frames of batches, u32 records before the payload. The hello of the connection
names sender and attempt, so frames do not.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, final

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Batch, Element, Payload, Watermark, WriteTyped
from headgate.graph.placement import Addresses, ChannelPlan
from headgate.ids import Attempt, ChannelId, SlotIndex
from headgate.runtime.exchange.credit import Credit, CreditedOutput, CreditGiver, CreditWindow
from headgate.runtime.wire import Address, Closed, Connection, Frame, Handlers, Poller, Wire

_HEAD: Final = struct.Struct("<IB")
_BATCH_HEAD: Final = struct.Struct("<IBI")
_CREDIT: Final = struct.Struct("<IQQQ")
_BATCH, _CONTROL, _CREDIT_BACK = 0, 1, 2


@final
class RemoteOutput(CreditedOutput):
    """The sending end of a channel into another slot."""

    __slots__ = ("_connection_of", "_held", "_id", "_target")

    def __init__(
        self,
        channel_id: ChannelId,
        target: SlotIndex,
        window: CreditWindow,
        connection_of: Callable[[SlotIndex], Connection],
        write: WriteTyped | None,
    ) -> None:
        super().__init__(window, write)
        self._id = channel_id
        self._target = target
        self._connection_of = connection_of
        self._held: Watermark | None = None

    def send(self, element: Element) -> None:
        """Send an element. Raises `UserCodeError` naming a record that cannot be pickled.

        A watermark is held until the connection has sent all earlier bytes, and a newer watermark replaces it. So
        watermarks do not pile up while the peer does not read.
        """
        connection = self._connection_of(self._target)
        if type(element) is Watermark and connection.pending_bytes:
            if self._held is None:
                connection.when_taken(self.release)
            self._held = element
            return
        if self._held is not None:
            self.release()
        if not isinstance(element, Batch):
            connection.send(_HEAD.pack(self._id, _CONTROL), pickle.dumps(element, 5))
            return
        for payload, records in self._encoded(element):
            connection.send(_BATCH_HEAD.pack(self._id, _BATCH, records), payload)

    def release(self) -> None:
        """Send the held watermark, if there is one."""
        held, self._held = self._held, None
        if held is not None:
            self._connection_of(self._target).send(_HEAD.pack(self._id, _CONTROL), pickle.dumps(held, 5))

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Send the barrier ahead of waiting batches, and return these. A held watermark stays behind the batches."""
        connection = self._connection_of(self._target)
        own, size = _HEAD.pack(self._id, _BATCH), _HEAD.size
        overtaken: list[Payload] = [bytes(payload) for head, payload in connection.waiting if head[:size] == own]
        connection.send_first(_HEAD.pack(self._id, _CONTROL), pickle.dumps(barrier, 5))
        return overtaken


@final
class NetworkExchange:
    """The exchange of one slot process. Owned by the slot's loop, which polls `poller`."""

    def __init__(
        self, slot: SlotIndex, wire: Wire, poller: Poller, window: CreditWindow, on_broken: Callable[[str], None]
    ) -> None:
        self._slot = slot
        self._wire = wire
        self._poller = poller
        self._window = window
        self._on_broken = on_broken
        self._attempt: Attempt | None = None
        self._inputs: Mapping[ChannelId, InputChannel] = {}
        self._outputs: dict[ChannelId, RemoteOutput] = {}
        self._peers: Addresses = {}
        self._outgoing: dict[SlotIndex, Connection] = {}
        self._incoming: list[Connection] = []
        self._listener = wire.listen(poller, self._accept)

    @property
    def address(self) -> Address:
        """The address at which peers reach this slot."""
        return self._listener.address

    def listen(self, attempt: Attempt, inputs: Mapping[ChannelId, InputChannel]) -> None:
        self._attempt = attempt
        self._inputs = inputs

    def connect(self, attempt: Attempt, peers: Addresses) -> None:
        """Remember the peers. A connection is made when the first element is sent to a peer."""
        self._peers = peers

    def output(self, channel: ChannelPlan, target: SlotIndex, write: WriteTyped | None = None) -> OvertakableChannel:
        end = RemoteOutput(channel.id, target, self._window, self._connection_to, write)
        self._outputs[channel.id] = end
        return end

    def end(self) -> None:
        connections = [*self._outgoing.values(), *self._incoming]
        self._attempt = None
        self._inputs, self._outputs, self._outgoing, self._incoming = {}, {}, {}, []
        for connection in connections:
            connection.close()

    def close(self) -> None:
        """End all connections and the listener."""
        self.end()
        self._listener.close()

    # --- connections

    def _connection_to(self, target: SlotIndex) -> Connection:
        connection = self._outgoing.get(target)
        if connection is None:
            hello = struct.pack("<II", self._slot, self._attempt or 0)
            handlers = Handlers(self._on_credit, self._closing(target, self._attempt))
            connection = self._wire.connect(self._poller, Address(*self._peers[target]), hello, handlers)
            self._outgoing[target] = connection
        return connection

    def _accept(self, connection: Connection, hello: bytes) -> Handlers | None:
        slot, attempt = struct.unpack("<II", hello)
        if self._attempt is None or attempt != self._attempt:
            return None
        self._incoming.append(connection)
        known: set[ChannelId] = set()
        inputs = self._inputs

        def on_frame(connection: Connection, frame: Frame) -> None:
            channel_id, kind = _HEAD.unpack_from(frame)
            channel = inputs[channel_id]
            if channel.id not in known:
                known.add(channel.id)
                channel.on_consumed(CreditGiver(self._window, partial(_give_back, connection, channel.id)).consumed)
            if kind == _BATCH:
                _, _, records = _BATCH_HEAD.unpack_from(frame)
                channel.push_bytes(memoryview(frame)[_BATCH_HEAD.size :], records)
            else:
                # From an authenticated peer.
                channel.push(pickle.loads(memoryview(frame)[_HEAD.size :]))  # noqa: S301

        return Handlers(on_frame, self._closing(slot, self._attempt))

    def _on_credit(self, connection: Connection, frame: Frame) -> None:
        channel_id, _kind = _HEAD.unpack_from(frame)
        output = self._outputs.get(channel_id)
        if output is not None:
            output.credited(Credit(*_CREDIT.unpack_from(frame, _HEAD.size)))

    def _closing(self, slot: SlotIndex, attempt: Attempt | None) -> Callable[[Connection, Closed], None]:
        def on_closed(connection: Connection, closed: Closed) -> None:
            if attempt is not None and attempt == self._attempt:
                self._on_broken(f"the connection to slot {slot} has ended: {closed}")

        return on_closed


def _give_back(connection: Connection, channel_id: ChannelId, credit: Credit) -> None:
    connection.send(_HEAD.pack(channel_id, _CREDIT_BACK), _CREDIT.pack(*credit))
