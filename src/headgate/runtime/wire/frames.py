"""Frames on a byte stream: a length of four bytes, then so many bytes. Only buffers, no sockets.

Small frames are cut from one receive buffer. For sending they are copied into one buffer, so that one system call sends
many. Large frames are received into and sent from memory of their own, and never moved.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING, final

from headgate.errors import NetworkError

if TYPE_CHECKING:
    from collections.abc import Sequence

Frame = bytes | memoryview
"""A received frame: `bytes`, or, for a large frame, a read-only view of memory of its own."""

Sendable = bytes | bytearray | memoryview

LENGTH = struct.Struct("!I")
LARGE_BYTES = 64 * 1024
RECEIVE_BUFFER_BYTES = 2 * LARGE_BYTES
BUFFERS_PER_WRITE_MAX = 64


class FrameTooLarge(NetworkError):
    """The peer announced a frame above this process's limit."""


@final
class FrameReader:
    """Cuts a stream into frames: fill `space`, call `received`, then call `next_frame` until it returns None."""

    __slots__ = ("_buffer", "_end", "_frame_bytes_max", "_large", "_large_filled", "_start", "_view")

    def __init__(self, frame_bytes_max: int) -> None:
        self._frame_bytes_max = frame_bytes_max
        self._buffer = bytearray(RECEIVE_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._large: memoryview | None = None
        self._large_filled = 0

    def space(self) -> memoryview:
        """Return the buffer for the next bytes of the stream; never empty once `next_frame` has returned None."""
        if self._large is not None:
            return self._large[self._large_filled :]
        if self._start:
            unread = self._end - self._start
            self._view[:unread] = self._view[self._start : self._end]
            self._start, self._end = 0, unread
        return self._view[self._end :]

    def received(self, count: int) -> None:
        """Note that the first `count` bytes of `space` have been filled."""
        if self._large is not None:
            self._large_filled += count
        else:
            self._end += count

    @property
    def in_mid_frame(self) -> bool:
        """Whether part of a frame has arrived."""
        return self._large is not None or self._end > self._start

    def next_frame(self) -> Frame | None:
        """Return the next complete frame, or None. Raises FrameTooLarge for a frame above the limit."""
        if self._large is not None:
            return self._finish_large()
        body = self._start + LENGTH.size
        if self._end < body:
            return None
        (size,) = LENGTH.unpack_from(self._buffer, self._start)
        if size >= LARGE_BYTES:
            self._begin_large(size)
            return self._finish_large()
        if self._end < body + size:
            return None
        self._start = body + size
        return bytes(self._view[body : body + size])

    def _begin_large(self, size: int) -> None:
        if size > self._frame_bytes_max:
            raise FrameTooLarge(
                f"a frame of {size:,} bytes was announced, the limit is {self._frame_bytes_max:,}; "
                "raise the frame limit of this process, or send smaller batches"
            )
        body = self._start + LENGTH.size
        filled = min(size, self._end - body)
        self._large = memoryview(bytearray(size))
        self._large[:filled] = self._view[body : body + filled]
        self._large_filled = filled
        self._start = body + filled

    def _finish_large(self) -> Frame | None:
        large = self._large
        if large is None or self._large_filled < len(large):
            return None
        self._large = None
        return large.toreadonly()


@final
class SendQueue:
    """Bytes that the kernel has not taken yet, in order."""

    __slots__ = ("_chunks", "_tail", "pending_bytes")

    def __init__(self) -> None:
        self._chunks: deque[memoryview] = deque()
        self._tail = bytearray()
        self.pending_bytes = 0

    def append(self, buffer: Sendable) -> None:
        """Queue a buffer: a copy of a small one, a large one itself (which must not change until it is sent)."""
        size = len(buffer)
        self.pending_bytes += size
        if size < LARGE_BYTES:
            self._tail += buffer
            if len(self._tail) >= LARGE_BYTES:
                self._seal()
        else:
            self._seal()
            self._chunks.append(memoryview(buffer))

    def append_frame(self, buffers: tuple[Sendable, ...]) -> None:
        """Queue a frame made of `buffers`."""
        self.append(LENGTH.pack(sum(map(len, buffers))))
        for buffer in buffers:
            self.append(buffer)

    def head(self) -> Sequence[memoryview]:
        """Return the next buffers to write, few enough for one system call. They stay queued until `sent`."""
        self._seal()
        if len(self._chunks) <= BUFFERS_PER_WRITE_MAX:
            return tuple(self._chunks)
        return tuple(self._chunks[at] for at in range(BUFFERS_PER_WRITE_MAX))

    def sent(self, count: int) -> None:
        """Remove the first `count` bytes: they are sent."""
        self.pending_bytes -= count
        while count:
            first = self._chunks[0]
            if count < len(first):
                self._chunks[0] = first[count:]
                return
            count -= len(first)
            self._chunks.popleft()

    def clear(self) -> None:
        """Forget everything."""
        self._chunks.clear()
        self._tail = bytearray()
        self.pending_bytes = 0

    def _seal(self) -> None:
        """Close the buffer that collects small frames, because a buffer that is being written must not grow."""
        if self._tail:
            self._chunks.append(memoryview(self._tail))
            self._tail = bytearray()


@final
class WaitingFrames:
    """Frames of which no byte is in a `SendQueue` yet, oldest first, each as its buffers."""

    __slots__ = ("frames", "pending_bytes")

    def __init__(self) -> None:
        self.frames: deque[tuple[Sendable, ...]] = deque()
        self.pending_bytes = 0

    def __bool__(self) -> bool:
        return bool(self.frames)

    def append(self, frame: tuple[Sendable, ...]) -> None:
        """Add a frame after the others."""
        self.frames.append(frame)
        self.pending_bytes += _wire_bytes(frame)

    def prepend(self, frame: tuple[Sendable, ...]) -> None:
        """Add a frame ahead of the others."""
        self.frames.appendleft(frame)
        self.pending_bytes += _wire_bytes(frame)

    def popleft(self) -> tuple[Sendable, ...]:
        """Remove the first frame and return it."""
        frame = self.frames.popleft()
        self.pending_bytes -= _wire_bytes(frame)
        return frame

    def clear(self) -> None:
        """Forget everything."""
        self.frames.clear()
        self.pending_bytes = 0


def _wire_bytes(frame: tuple[Sendable, ...]) -> int:
    return LENGTH.size + sum(map(len, frame))
