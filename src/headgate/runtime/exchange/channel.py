"""Channels inside a slot: queues between a sending and a receiving subtask, bounded by credit.

A channel's two ends are an `InputChannel` and something with the methods of `OutputChannel`. Sending never blocks and
is never refused: credit is asked for *before* a subtask begins a piece of work, so what one piece puts out may overdraw
it. Control elements need no credit; watermarks that nobody has read yet are replaced by newer ones, so that they cannot
pile up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, final

from headgate.elements import Batch, Element, Watermark
from headgate.ids import ChannelId


class OutputChannel(Protocol):
    """The sending end."""

    @property
    def writable(self) -> bool:
        """Whether the receiver has room for another batch."""
        ...

    def send(self, element: Element) -> None:
        """Hand over an element; the sender does not touch it afterwards. Does not block."""
        ...


def _nothing(size_bytes: int) -> None:
    """Return no credit: a channel inside a slot looks at the queue itself."""


@final
class InputChannel:
    """The receiving end: a queue of elements.

    `consumed` is called with the size of each batch that is taken out, so that a network channel can give credit back.
    """

    __slots__ = ("_consumed", "_sizes", "batches", "blocked", "ended", "id", "queue")

    def __init__(self, channel_id: ChannelId) -> None:
        self.id = channel_id
        self.queue: deque[Element] = deque()
        self.batches = 0
        self.blocked = False
        self.ended = False
        self._sizes: deque[int] = deque()
        self._consumed: Callable[[int], None] = _nothing

    def on_consumed(self, consumed: Callable[[int], None]) -> None:
        """Have `consumed` called for each batch taken out from now on."""
        self._consumed = consumed

    def push(self, element: Element, size_bytes: int = 0) -> None:
        """Add an element that arrived. A watermark takes the place of one that is the last in the queue."""
        queue = self.queue
        if type(element) is Batch:
            self.batches += 1
            self._sizes.append(size_bytes)
        elif type(element) is Watermark and queue and type(queue[-1]) is Watermark:
            queue.pop()
        queue.append(element)

    def pop(self) -> Element:
        """Take the oldest element out."""
        element = self.queue.popleft()
        if type(element) is Batch:
            self.batches -= 1
            self._consumed(self._sizes.popleft())
        return element


@final
class LocalOutput:
    """The sending end of a channel whose receiver is in the same slot."""

    __slots__ = ("_batches_max", "_target")

    def __init__(self, target: InputChannel, batches_max: int) -> None:
        self._target = target
        self._batches_max = batches_max

    @property
    def writable(self) -> bool:
        return self._target.batches < self._batches_max

    def send(self, element: Element) -> None:
        self._target.push(element)
