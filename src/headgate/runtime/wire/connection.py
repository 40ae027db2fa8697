"""One authenticated connection: frames out, frames in, never blocking.

Life of a connection (each phase is one method; an error in any of them ends it):

    connecting -> securing (TLS, if on) -> proving (the job's handshake) -> transferring -> closed

The client begins again when the peer closes the connection before the proof has ended: a process with too many unproven
connections does so. Before the proof, no frame is delivered, and frames that are sent wait. All callbacks are called
within `Poller.poll`, on the thread that polls.
"""

from __future__ import annotations

import enum
import os
import selectors
import socket
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, final

from headgate.errors import NetworkError
from headgate.runtime.wire.config import NetworkConfig
from headgate.runtime.wire.frames import Frame, FrameReader, FrameTooLarge, Sendable, SendQueue, WaitingFrames
from headgate.runtime.wire.handshake import Handshake, Proof
from headgate.runtime.wire.poller import Poller
from headgate.runtime.wire.stream import ByteStream, StreamCut

READ_BYTES_PER_POLL = 1 << 20
TRY_AGAIN_S: Final = 0.05
BEGUN_BYTES_MAX: Final = 1 << 18
"""The number of queued bytes above which frames wait as a whole, so that other frames may be sent ahead of them."""


class CloseCause(enum.Enum):
    """Why a connection ended."""

    CLOSED_HERE = "closed here"
    CLOSED_BY_PEER = "closed by the peer"
    LOST = "lost"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    RULE_BROKEN = "rule broken"


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of a connection: its cause, and a sentence for people that names the peer."""

    cause: CloseCause
    detail: str

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True, slots=True)
class Handlers:
    """The callbacks of a connection: `on_frame` for each frame, in order; `on_closed` exactly once, at the end.

    Both run inside `Poller.poll`. `on_closed` also follows a `close()` by this process.
    """

    on_frame: Callable[[Connection, Frame], None]
    on_closed: Callable[[Connection, Closed], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The steps that open and authenticate a connection. They differ between client and listener.

    `dial` returns a socket that is connecting or connected, and an error text, empty for none. If the socket closes for
    a cause in `tries_again_after`, `dial` is called again, until `timeout_s` is over. `on_proven` gets the client's
    hello, and returns the handlers of the connection, or None to refuse it. `on_failed` replaces `on_closed` until
    then.
    """

    peer: str
    dial: Callable[[], tuple[socket.socket, str]]
    timeout_s: float
    wrap: Callable[[socket.socket], ByteStream]
    prove: Callable[[ByteStream], Handshake]
    on_proven: Callable[[Connection, bytes], Handlers | None]
    on_failed: Callable[[Connection, Closed], None]
    tries_again_after: frozenset[CloseCause] = frozenset()


@final
class Connection:
    """A connection to one peer of this job. Owned by the thread that polls; made by `Wire.connect` or a `Listener`."""

    def __init__(self, poller: Poller, config: NetworkConfig, opening: Opening) -> None:
        self.peer = opening.peer
        self._poller = poller
        self._config = config
        self._opening = opening
        self._on_closed = opening.on_failed
        self._stream: ByteStream | None = None
        self._proof: Proof | None = None
        self._handlers: Handlers | None = None
        self._queue = SendQueue()
        self._waiting = WaitingFrames()
        self._events = 0
        self._closed = False
        self._read_postponed = False
        self._taken_bytes = 0
        self._when_taken: deque[tuple[int, Callable[[], None]]] = deque()
        self._problem = ""
        self._deadline = poller.after(opening.timeout_s, self._give_up)
        self._dial()

    def send(self, *buffers: Sendable) -> None:
        """Send one frame that consists of `buffers`. Never blocks: bytes that the kernel does not take wait.

        Buffers of 64 kB and more are not copied, and must not change before `pending_bytes` is zero; memory views must
        be of bytes. Does nothing on a closed connection, because `on_closed` tells its owner. Raises NetworkError for a
        frame above the limit.
        """
        if self._closed:
            return
        self._check_size(buffers)
        if self._handlers and not self._waiting and self._queue.pending_bytes < BEGUN_BYTES_MAX:
            self._queue.append_frame(buffers)
        else:
            self._waiting.append(buffers)
        if self._handlers and not self._events & selectors.EVENT_WRITE:
            self._flush()

    def send_first(self, *buffers: Sendable) -> None:
        """Send a frame ahead of all frames in `waiting`, as `send` does."""
        if self._closed:
            return
        self._check_size(buffers)
        self._waiting.prepend(buffers)
        if self._handlers and not self._events & selectors.EVENT_WRITE:
            self._flush()

    @property
    def waiting(self) -> Iterable[tuple[Sendable, ...]]:
        """The frames whose transfer has not begun, oldest first, each as its buffers."""
        return self._waiting.frames

    def _check_size(self, buffers: tuple[Sendable, ...]) -> None:
        size = sum(map(len, buffers))
        if size > self._config.frame_bytes_max:
            raise NetworkError(
                f"a frame of {size:,} bytes for {self.peer} is above the limit of "
                f"{self._config.frame_bytes_max:,}; raise the frame limit, or send smaller batches"
            )

    @property
    def pending_bytes(self) -> int:
        """The bytes of sent frames that the kernel has not taken yet."""
        return self._queue.pending_bytes + self._waiting.pending_bytes

    def when_taken(self, call: Callable[[], None]) -> None:
        """Have `call` made once, within `poll`, when the kernel has taken all bytes that are pending now.

        More bytes may be pending by then. The call is never made if the connection closes before.
        """
        self._when_taken.append((self._taken_bytes + self.pending_bytes, call))

    @property
    def is_open(self) -> bool:
        """Whether both sides are authenticated and the connection has not ended."""
        return self._handlers is not None and not self._closed

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended, or was never established."""
        return self._closed

    def close(self) -> None:
        """End the connection now; unsent bytes are dropped. `on_closed` follows in the next `poll`."""
        self._end(CloseCause.CLOSED_HERE, f"the connection to {self.peer} was closed by this process")

    def fail(self, cause: CloseCause, problem: str) -> None:
        """End the connection because of `problem`. `on_closed` reports it with the peer's name."""
        self._end(cause, f"{self.peer}: {problem}")

    def hurry(self, problem: str) -> None:
        """Read the proof as far as it has arrived; end the connection with `problem` if it is not complete."""
        if not self._closed:
            self._phase(0)
        if self._handlers is None:
            self.fail(CloseCause.REFUSED, problem)

    def __repr__(self) -> str:
        return f"<Connection to {self.peer}, {'closed' if self._closed else 'open' if self._handlers else 'opening'}>"

    def _on_ready(self, events: int) -> None:
        self._phase(events)

    # Phases: connecting, securing, proving, transferring.

    def _dial(self) -> None:
        if self._closed:
            return
        self._sock, problem = self._opening.dial()
        self._phase: Callable[[int], None] = self._finish_connecting
        # A socket becomes writable when it is connected; an accepted socket is writable already.
        self._watch(selectors.EVENT_WRITE)
        if problem:
            self.fail(CloseCause.UNREACHABLE, f"cannot connect: {problem}")

    def _finish_connecting(self, _events: int) -> None:
        error = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self._end(CloseCause.UNREACHABLE, f"cannot connect to {self.peer}: {os.strerror(error)}")
            return
        # TLS wraps the socket in another object, so the selector has to learn it again.
        self._watch(0)
        try:
            self._stream = self._opening.wrap(self._sock)
        except OSError as error_of_wrap:
            self.fail(CloseCause.LOST, f"the connection was lost at once: {error_of_wrap.strerror}")
            return
        self._sock = self._stream.sock
        self._phase = self._secure
        self._secure(0)

    def _secure(self, _events: int) -> None:
        assert self._stream is not None
        try:
            secured = self._stream.secure()
        except StreamCut as error:
            self.fail(CloseCause.LOST, str(error))
            return
        except NetworkError as error:
            self.fail(CloseCause.REFUSED, str(error))
            return
        if secured:
            self._proof = Proof(self._opening.prove(self._stream))
            self._queue.append(self._proof.take_outgoing())
            self._phase = self._prove
            self._flush()
            self._prove(0)
        else:
            self._watch_as_needed()

    def _prove(self, _events: int) -> None:
        # The proof is None when the connection has ended, or has begun again.
        while (proof := self._proof) is not None and proof.hello is None:
            space = memoryview(bytearray(proof.missing))
            count = self._receive_into(space)
            if not count:
                break
            try:
                proof.received(space[:count])
            except NetworkError as error:
                self.fail(CloseCause.REFUSED, str(error))
                return
            # Send at once: even if the next bytes refuse the peer, it should have received this.
            self._queue.append(proof.take_outgoing())
            self._flush()
        if proof is not None and proof.hello is not None:
            self._begin_transfer(proof.hello)

    def _begin_transfer(self, hello: bytes) -> None:
        self._proof = None
        self._deadline.cancel()
        handlers = self._opening.on_proven(self, hello)
        if handlers is None:
            self.close()
        if self._closed or handlers is None:
            return
        self._handlers = handlers
        self._reader = FrameReader(self._config.frame_bytes_max)
        self._on_closed = handlers.on_closed
        self._phase = self._transfer
        self._flush()
        self._tell_what_is_taken()
        # The first frames may have arrived with the proof, and under TLS the selector would not report them.
        self._postpone_read()

    def _transfer(self, events: int) -> None:
        if self._queue.pending_bytes:
            self._flush()
            self._tell_what_is_taken()
        if events & selectors.EVENT_READ or (self._stream is not None and self._stream.wants_write):
            self._read()

    def _tell_what_is_taken(self) -> None:
        waiting, taken = self._when_taken, self._taken_bytes
        while waiting and waiting[0][0] <= taken:
            waiting.popleft()[1]()

    # Bytes in, bytes out.

    def _read(self) -> None:
        """Deliver arrived frames, up to a limit, so that other connections get their turn."""
        handlers, stream, reader = self._handlers, self._stream, self._reader
        assert handlers is not None
        assert stream is not None
        allowance = READ_BYTES_PER_POLL
        is_empty = False
        while self._deliver(handlers) and not is_empty:
            if allowance <= 0:
                if stream.hides_data:
                    self._postpone_read()
                return
            space = reader.space()
            count = self._receive_into(space)
            if not count:
                return
            reader.received(count)
            allowance -= count
            is_empty = count < len(space) and not stream.hides_data

    def _postpone_read(self) -> None:
        if not self._read_postponed:
            self._read_postponed = True
            self._poller.soon(self._read_postponed_data)

    def _read_postponed_data(self) -> None:
        self._read_postponed = False
        if self.is_open:
            self._read()

    def _deliver(self, handlers: Handlers) -> bool:
        """Deliver complete frames; return whether more bytes may be read."""
        next_frame, on_frame = self._reader.next_frame, handlers.on_frame
        try:
            while not self._closed and (frame := next_frame()) is not None:
                on_frame(self, frame)
        except FrameTooLarge as error:
            self.fail(CloseCause.RULE_BROKEN, str(error))
        return not self._closed

    def _receive_into(self, space: memoryview) -> int | None:
        """Read bytes and return their number. At the end of the stream, or after an error, end the connection."""
        assert self._stream is not None
        try:
            count = self._stream.receive_into(space)
        except OSError as error:
            self.fail(CloseCause.LOST, f"the connection was lost: {error.strerror or error}{self._where()}")
            return None
        if count == 0:
            self.fail(CloseCause.CLOSED_BY_PEER, f"the peer closed the connection{self._where()}")
            return None
        if self._stream.wants_write:
            self._watch_as_needed()
        return count

    def _where(self) -> str:
        if self._handlers is None:
            return " during the handshake; does it belong to the same job, and use TLS alike?"
        return " in the middle of a frame" if self._reader.in_mid_frame else ""

    def _flush(self) -> None:
        """Write queued bytes until the kernel takes no more."""
        stream, queue = self._stream, self._queue
        assert stream is not None
        try:
            while self._begin_frames():
                taken = stream.send(queue.head())
                if not taken:
                    break
                queue.sent(taken)
                self._taken_bytes += taken
        except OSError as error:
            self.fail(CloseCause.LOST, f"the connection was lost: {error.strerror or error}{self._where()}")
            return
        self._watch_as_needed()

    def _begin_frames(self) -> bool:
        """Queue waiting frames while few bytes are queued; return whether there are bytes to write."""
        queue, waiting = self._queue, self._waiting
        if self._handlers:
            while waiting and queue.pending_bytes < BEGUN_BYTES_MAX:
                queue.append_frame(waiting.popleft())
        return queue.pending_bytes > 0

    # Interest and end.

    def _watch_as_needed(self) -> None:
        if self._closed or self._stream is None:
            return
        must_write = self._queue.pending_bytes > 0 or self._stream.wants_write
        self._watch(selectors.EVENT_READ | (selectors.EVENT_WRITE if must_write else 0))

    def _watch(self, events: int) -> None:
        if events != self._events:
            self._events = events
            self._poller.watch(self._sock, events, self._on_ready)

    def _give_up(self) -> None:
        cause = CloseCause.UNREACHABLE if self._stream is None and not self._problem else CloseCause.REFUSED
        last = f"; at last {self._problem}" if self._problem else ""
        self.fail(
            cause,
            f"no handshake within {self._opening.timeout_s:g} s; is the peer alive, and does it belong to this "
            f"job?{last}",
        )

    def _end(self, cause: CloseCause, detail: str) -> None:
        if self._closed:
            return
        self._watch(0)
        self._sock.close()
        self._queue.clear()
        self._proof = None
        if self._handlers is None and cause in self._opening.tries_again_after:
            self._problem, self._stream = detail, None
            self._poller.after(TRY_AGAIN_S, self._dial)
            return
        self._closed = True
        self._deadline.cancel()
        self._waiting.clear()
        self._when_taken.clear()
        self._poller.soon(lambda: self._on_closed(self, Closed(cause, detail)))
