"""Channels inside a slot: queues between a sending and a receiving subtask, bounded by credit.

A channel has an `InputChannel` at the receiver and an `OutputChannel` at the sender. Sending never blocks and never
fails: a subtask checks credit *before* it begins a piece of work, so the output of one piece may exceed the credit.
Credit limits batches, and records: as many as the receiver takes within a target time (see `pace`). Control elements
need no credit. A newer watermark replaces an unread one, so that watermarks cannot pile up.

A barrier that may overtake batches is announced as soon as it is in the queue. The subtask can then record, for the
snapshot, the batches that wait before the barrier, and batches that arrive before barriers of other channels.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, final

from headgate.elements import Barrier, Batch, Element, Payload, ReadTyped, Watermark
from headgate.ids import ChannelId, CheckpointId
from headgate.types import typed_batches

NO_LIMIT: Final = sys.maxsize
"""Records that a channel may have in flight when only the credit for batches limits them."""


class OutputChannel(Protocol):
    """The sending end."""

    @property
    def writable(self) -> bool:
        """Whether the receiver has room for another batch."""
        ...

    @property
    def records_max(self) -> int:
        """The most records that should be in flight, as far as the sender knows."""
        ...

    @property
    def sent_bytes(self) -> int:
        """Bytes of all batches that were sent over the network; 0 inside a slot, where batches stay objects."""
        ...

    def send(self, element: Element) -> None:
        """Send an element, which the sender must not use afterwards. Does not block."""
        ...


class OvertakableChannel(OutputChannel, Protocol):
    """The sending end of a channel on which a barrier may overtake batches."""

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Send a barrier ahead of all batches that were not sent yet, and return these batches. Does not block."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAddress:
    """The name of a channel in checkpoints, where channels have no numbers. The fields are as in `InFlightState`."""

    channel: ChannelId
    uid: str
    input_index: int
    source_uid: str
    source: int
    target: int
    keyed: bool


def _nothing(size_bytes: int, records: int, records_max: int) -> None:
    """Do nothing: the sender of a channel inside a slot reads the queue itself, so no credit is returned."""


@final
class InputChannel:
    """The receiving end: a queue of elements. Batches from the network are queued as bytes, a `memoryview`.

    `consumed` is called for each batch that is taken out, so that a channel between slots can return credit. Its
    arguments are the batch's bytes (0 inside a slot), its records, and `records_max`. `read_bytes` is the sum of the
    bytes.
    """

    __slots__ = (
        "_announce",
        "_barrier",
        "_consumed",
        "_read",
        "_record",
        "_recorded_id",
        "batches",
        "blocked",
        "ended",
        "id",
        "pushed",
        "queue",
        "read_bytes",
        "records_max",
        "waiting",
    )

    def __init__(
        self, channel_id: ChannelId, records_max: int = NO_LIMIT, read: ReadTyped = typed_batches.read
    ) -> None:
        """`read` reads batches that arrive in their typed form."""
        self.id = channel_id
        self._read = read
        self.queue: deque[Element | memoryview] = deque()
        self.batches = 0
        self.waiting = 0
        """Records that wait in the queue."""
        self.records_max = records_max
        """Records that may wait in the queue."""
        self.pushed = 0
        """Records that have arrived in all."""
        self.read_bytes = 0
        self.blocked = False
        self.ended = False
        self._barrier: tuple[Barrier, int] | None = None
        self._consumed: Callable[[int, int, int], None] = _nothing
        self._announce: Callable[[Barrier], None] | None = None
        self._record: Callable[[Batch | memoryview], None] | None = None
        self._recorded_id = CheckpointId(0)

    def on_consumed(self, consumed: Callable[[int, int, int], None]) -> None:
        """Call `consumed` for each batch that is taken out from now on."""
        self._consumed = consumed

    def on_barrier(self, announce: Callable[[Barrier], None]) -> None:
        """Call `announce` when a barrier arrives that may overtake batches."""
        self._announce = announce

    @property
    def has_batch_next(self) -> bool:
        """Whether the oldest element is a batch. The queue must not be empty."""
        kind = type(self.queue[0])
        return kind is Batch or kind is memoryview

    def push_bytes(self, payload: memoryview, records: int) -> None:
        """Add a batch of `records` records that arrived as bytes."""
        self._add_batch(payload, records)
        self.queue.append(payload)

    def _add_batch(self, batch: Batch | memoryview, records: int) -> None:
        self.batches += 1
        self.waiting += records
        self.pushed += records
        if self._record is not None:
            self._record(batch)

    def push(self, element: Element) -> None:
        """Add an element that arrived. A watermark replaces a watermark at the end of the queue."""
        queue = self.queue
        if type(element) is Batch:
            self._add_batch(element, len(element))
        elif type(element) is Watermark:
            if queue and type(queue[-1]) is Watermark:
                queue.pop()
        elif type(element) is Barrier:
            self._arrived(element)
        queue.append(element)

    def _arrived(self, barrier: Barrier) -> None:
        self._barrier = barrier, self.pushed
        if barrier.checkpoint_id >= self._recorded_id:
            self._record = None
        if self._announce is not None and barrier.unaligned_after_ms is not None:
            self._announce(barrier)

    def pop(self) -> Element:
        """Remove and return the oldest element.

        Raises the error of a record's class when a record is unpickled, and DamagedBatchError for a damaged batch.
        """
        element = self.queue.popleft()
        if type(element) is memoryview:
            batch = Batch.decode(element, read=self._read)
            self.read_bytes += len(element)
            self._taken(len(element), len(batch))
            return batch
        if type(element) is Batch:
            self._taken(0, len(element))
        elif type(element) is Barrier and self._barrier is not None and element is self._barrier[0]:
            self._barrier = None
        assert not isinstance(element, memoryview)
        return element

    def _taken(self, size_bytes: int, records: int) -> None:
        self.batches -= 1
        self.waiting -= records
        self._consumed(size_bytes, records, self.records_max)

    @property
    def before_barrier(self) -> tuple[Barrier, int] | None:
        """The newest barrier in the queue, and the number of records that wait before it; None without a barrier."""
        if self._barrier is None:
            return None
        barrier, pushed = self._barrier
        return barrier, max(0, self.waiting - (self.pushed - pushed))

    def record(self, checkpoint_id: CheckpointId, take: Callable[[Batch | memoryview], None]) -> None:
        """Call `take` with each batch before the checkpoint's barrier: queued batches now, later batches on arrival.

        `take` must not keep or change a `Batch`, because the subtask still processes it.
        """
        for element in self.queue:
            if type(element) is Barrier and element.checkpoint_id >= checkpoint_id:
                return
            if type(element) is Batch or type(element) is memoryview:
                take(element)
        self._record, self._recorded_id = take, checkpoint_id

    def stop_recording(self) -> None:
        """Stop calling `take` for batches that arrive."""
        self._record = None


@final
class LocalOutput:
    """The sending end of a channel whose receiver is in the same slot."""

    __slots__ = ("_batches_max", "_target")
    sent_bytes = 0

    def __init__(self, target: InputChannel, batches_max: int) -> None:
        self._target = target
        self._batches_max = batches_max

    @property
    def writable(self) -> bool:
        target = self._target
        return target.batches < self._batches_max and target.waiting < target.records_max

    @property
    def records_max(self) -> int:
        return self._target.records_max

    def send(self, element: Element) -> None:
        self._target.push(element)

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Return no batches: all batches that were sent are in the receiver's queue."""
        self._target.push(barrier)
        return []
