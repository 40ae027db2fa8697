"""Channels inside a slot: queues between a sending and a receiving subtask, bounded by credit.

A channel's two ends are an `InputChannel` and something with the methods of `OutputChannel`. Sending never blocks and
is never refused: credit is asked for *before* a subtask begins a piece of work, so what one piece emits may overdraw
it. Credit is for batches, and for the records that the receiver takes within a target time (`debloat`). Control
elements need no credit; watermarks that are not read yet are replaced by newer ones, so that they cannot pile up.

A barrier that may overtake is announced as soon as it is in the queue. What waits before it there can then be taken
for the snapshot, and what still comes before a barrier that is not there yet.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, final

from headgate.elements import Barrier, Batch, Element, Payload, Watermark
from headgate.ids import ChannelId, CheckpointId

NO_LIMIT: Final = sys.maxsize
"""Records that a channel may have under way where nothing but the credit for batches limits them."""


class OutputChannel(Protocol):
    """The sending end."""

    @property
    def writable(self) -> bool:
        """Whether the receiver has room for another batch."""
        ...

    @property
    def records_max(self) -> int:
        """Records that should be under way at most, as far as is known here."""
        ...

    @property
    def sent_bytes(self) -> int:
        """Bytes of all batches that were sent over the network; 0 where they stay objects."""
        ...

    def send(self, element: Element) -> None:
        """Hand over an element; the sender does not touch it afterwards. Does not block."""
        ...


class OvertakableChannel(OutputChannel, Protocol):
    """The sending end of a channel on which a barrier may overtake batches."""

    def overtake(self, barrier: Barrier) -> list[Payload]:
        """Send a barrier ahead of all batches that have not left yet, and return those. Does not block."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAddress:
    """What a channel is called in checkpoints, where channels have no numbers. The fields are as in `InFlightState`."""

    channel: ChannelId
    uid: str
    input_index: int
    source_uid: str
    source: int
    target: int
    keyed: bool


def _nothing(size_bytes: int, records: int, records_max: int) -> None:
    """Return no credit: a channel inside a slot looks at the queue itself."""


@final
class InputChannel:
    """The receiving end: a queue of elements. What came over the network is queued as bytes, a `memoryview`.

    `consumed` is called for each batch that is taken out, so that a channel between slots can give credit back. It gets
    the bytes, 0 for a batch that never was bytes, the records, and `records_max`. `read_bytes` is the sum of the bytes.
    """

    __slots__ = (
        "_announce",
        "_barrier",
        "_consumed",
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

    def __init__(self, channel_id: ChannelId, records_max: int = NO_LIMIT) -> None:
        self.id = channel_id
        self.queue: deque[Element | memoryview] = deque()
        self.batches = 0
        self.waiting = 0
        """Records that wait."""
        self.records_max = records_max
        """Records that may wait."""
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
        """Have `consumed` called for each batch taken out from now on."""
        self._consumed = consumed

    def on_barrier(self, announce: Callable[[Barrier], None]) -> None:
        """Have `announce` called for each barrier that may overtake, when it arrives."""
        self._announce = announce

    @property
    def has_batch_next(self) -> bool:
        """Whether the oldest element, which must be there, is a batch."""
        kind = type(self.queue[0])
        return kind is Batch or kind is memoryview

    def push_bytes(self, payload: memoryview, records: int) -> None:
        """Add a batch that arrived as bytes, of so many records."""
        self._add_batch(payload, records)
        self.queue.append(payload)

    def _add_batch(self, batch: Batch | memoryview, records: int) -> None:
        self.batches += 1
        self.waiting += records
        self.pushed += records
        if self._record is not None:
            self._record(batch)

    def push(self, element: Element) -> None:
        """Add an element that arrived. A watermark takes the place of one that is the last in the queue."""
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
        """Take the oldest element out. Raises whatever the class of a record raises when it is unpickled."""
        element = self.queue.popleft()
        if type(element) is memoryview:
            batch = Batch.decode(element)
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
        """The newest barrier that waits here, and how many records wait before it."""
        if self._barrier is None:
            return None
        barrier, pushed = self._barrier
        return barrier, max(0, self.waiting - (self.pushed - pushed))

    def record(self, checkpoint_id: CheckpointId, take: Callable[[Batch | memoryview], None]) -> None:
        """Give `take` each batch before the barrier of the checkpoint: those that wait, and those still to come.

        It must not keep or change a `Batch`, which is still to be processed.
        """
        for element in self.queue:
            if type(element) is Barrier and element.checkpoint_id >= checkpoint_id:
                return
            if type(element) is Batch or type(element) is memoryview:
                take(element)
        self._record, self._recorded_id = take, checkpoint_id

    def stop_recording(self) -> None:
        """Record no more."""
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
        """All that was sent is in the receiver's queue."""
        self._target.push(barrier)
        return []
