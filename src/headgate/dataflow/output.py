"""The output of a subtask over one edge: it gathers records into batches and sends them.

A batch is sent when it is full, when the buffer timeout has passed since its first record, or when the slot's loop has
no other work (`flush`). So under load records never travel one by one, and without load they never wait. For a slow
receiver a batch is full sooner: with a quarter of the records that the receiver allows in flight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from headgate.dataflow.channel import ChannelAddress, OutputChannel, OvertakableChannel
from headgate.dataflow.partition import StreamPartitioner
from headgate.elements import Barrier, Batch, Control, Payload
from headgate.operators.outputs import OutputType


@final
class Output:
    """The channels of one edge that begin at one subtask. Owned by the slot's loop. No method blocks."""

    __slots__ = (
        "_batch_records",
        "_channels",
        "_partitioner",
        "_pending",
        "_since_ms",
        "_timeout_ms",
        "overtakable",
        "records_max",
        "records_out",
        "tag",
        "tag_type",
    )

    def __init__(
        self,
        channels: Sequence[OutputChannel],
        partitioner: StreamPartitioner,
        batch_records: int,
        timeout_ms: int,
        tag: str | None = None,
    ) -> None:
        """`tag` is the id of the side output that this edge carries; None: the main output."""
        self.tag = tag
        self.tag_type: OutputType | None = None
        """The type that records of the side output are converted to; None: no conversion."""
        self.overtakable: Sequence[tuple[ChannelAddress, OvertakableChannel]] = ()
        """The channels with their addresses, if barriers may overtake their batches; else empty."""
        self._channels = channels
        self._partitioner = partitioner
        self._batch_records = batch_records
        self._timeout_ms = timeout_ms
        self._pending: dict[int, Batch] = {}
        self._since_ms: float | None = None
        self.records_max = partitioner.spread * min(map(self._full, range(len(channels))), default=batch_records)
        """The most records that one piece of work should emit: a full batch for each channel that gets a part."""
        self.records_out = 0

    @property
    def writable(self) -> bool:
        """Whether every channel has room."""
        for channel in self._channels:  # noqa: SIM110  # asked around each piece of work: a generator costs more
            if not channel.writable:
                return False
        return True

    @property
    def sent_bytes(self) -> int:
        """Bytes that were sent over the network."""
        return sum(channel.sent_bytes for channel in self._channels)

    def emit(self, batch: Batch, now_ms: float) -> None:
        """Divide a batch among the channels. Send full parts, and keep the rest for `flush`."""
        self.records_out += len(batch)
        least = self._batch_records
        for index, part in self._partitioner.split(batch):
            full = self._full(index)
            if full < least:
                least = full
            self._add(index, part, full)
        self.records_max = least * self._partitioner.spread
        if self._timeout_ms == 0:
            self.flush()
        elif self._pending and self._since_ms is None:
            self._since_ms = now_ms

    def _full(self, index: int) -> int:
        """Return the size of a full batch for a channel: at most a quarter of the records it may have in flight."""
        quarter = self._channels[index].records_max >> 2
        return self._batch_records if quarter >= self._batch_records else quarter or 1

    def _add(self, index: int, part: Batch, full: int) -> None:
        pending = self._pending.get(index)
        if pending is not None and pending.append(part):
            part = pending
        elif pending is not None:
            self._channels[index].send(pending)
        if len(part) < full:
            self._pending[index] = part
        else:
            self._pending.pop(index, None)
            self._send(index, part, full)

    def _send(self, index: int, part: Batch, size: int) -> None:
        """Send a part in batches of at most twice the full size, so that the receiver's pieces of work stay bounded."""
        channel = self._channels[index]
        start = 0
        while len(part) - start > 2 * size:
            channel.send(part.piece(start, start + size))
            start += size
        channel.send(part.piece(start, len(part)) if start else part)

    def is_due(self, now_ms: float) -> bool:
        """Return whether records have waited for the buffer timeout. A negative timeout never passes."""
        return self._since_ms is not None and 0 <= self._timeout_ms <= now_ms - self._since_ms

    def flush(self) -> bool:
        """Send all gathered records; return whether there were any."""
        self._since_ms = None
        if not self._pending:
            return False
        pending, self._pending = self._pending, {}
        for index, part in pending.items():
            self._channels[index].send(part)
        return True

    def broadcast(self, element: Control) -> None:
        """Send a control element on every channel, after all gathered records."""
        self.flush()
        for channel in self._channels:
            channel.send(element)

    def overtake(self, barrier: Barrier) -> Iterator[tuple[ChannelAddress, list[Payload]]]:
        """Send a barrier ahead of the batches that were not sent yet, if overtaking is allowed.

        Yield the overtaken batches by channel.
        """
        if not self.overtakable:
            self.broadcast(barrier)
            return
        self.flush()
        for address, channel in self.overtakable:
            yield address, channel.overtake(barrier)
