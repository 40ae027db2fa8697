"""A slot's two connections to the job master: control messages, and heartbeats.

A slot makes two connections to the master. The first belongs to the slot's loop: control messages travel both ways, and
`RegisterSlot` is the first. The second belongs to a thread of its own and carries heartbeats, so that a slot counts as
alive however long user code blocks its loop. The hello of each connection names its purpose, the launch and the slot.
"""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, final

from headgate.errors import NetworkError
from headgate.runtime.control.messages import FromSlot, ToSlot
from headgate.runtime.wire import Address, BlockingConnection, Closed, Connection, Frame, Handlers, Poller, Wire


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a connection: the slot that connects, and the purpose of the connection."""

    purpose: Literal["control", "heartbeat"]
    launch: int
    slot: int

    def encode(self) -> bytes:
        """Return the hello as bytes for the wire."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Hello:
        """Return the hello from the bytes of `encode`."""
        return cls(**json.loads(data))


@final
class ControlClient:
    """The slot's end of its control connection. Owned by the thread that polls."""

    def __init__(
        self, wire: Wire, poller: Poller, master: Address, hello: Hello, receive: Callable[[ToSlot], None]
    ) -> None:
        self.lost: str | None = None
        """Why the connection to the master is lost; None while it lasts."""
        self._receive = receive
        self._connection = wire.connect(poller, master, hello.encode(), Handlers(self._on_frame, self._on_closed))

    def send(self, message: FromSlot) -> None:
        """Send a message, which is lost if the connection is lost. Does not block."""
        self._connection.send(pickle.dumps(message, 5))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _on_frame(self, connection: Connection, frame: Frame) -> None:
        self._receive(pickle.loads(frame))  # noqa: S301  # from the authenticated job master

    def _on_closed(self, connection: Connection, closed: Closed) -> None:
        self.lost = str(closed)


BEAT = b"\x01"
"""The frame of one heartbeat. The peer answers with the same frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatConfig:
    """The interval of heartbeats, and the silence after which the peer counts as lost, both in seconds."""

    interval_s: float = 1.0
    silence_s_max: float = 30.0


@final
class HeartbeatThread:
    """Sends heartbeats until it is stopped or the peer is lost. A daemon thread.

    `on_lost` is called once, on this thread, with a sentence that says why: the peer could not be reached, closed the
    connection, or has been silent for too long. It is not called after `stop`.
    """

    def __init__(
        self, wire: Wire, address: Address, hello: bytes, config: HeartbeatConfig, on_lost: Callable[[str], None]
    ) -> None:
        self._wire = wire
        self._address = address
        self._hello = hello
        self._config = config
        self._on_lost = on_lost
        self._stopping = threading.Event()
        self._connection: BlockingConnection | None = None
        self._thread = threading.Thread(target=self._run, name="headgate-heartbeat", daemon=True)

    def start(self) -> None:
        """Start the heartbeats. Does not block."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and its connection. Blocks until the thread has ended, at most about a handshake timeout."""
        self._stopping.set()
        connection = self._connection
        if connection is not None:
            connection.interrupt()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._connection = self._wire.blocking_connect(self._address, self._hello)
            try:
                self._beat(self._connection)
            finally:
                self._connection.close()
        except NetworkError as error:
            if not self._stopping.is_set():
                self._on_lost(str(error))

    def _beat(self, connection: BlockingConnection) -> None:
        heard_s = time.monotonic()
        while not self._stopping.is_set():
            connection.send(BEAT)
            next_beat_s = time.monotonic() + self._config.interval_s
            while (left_s := next_beat_s - time.monotonic()) > 0:
                if connection.recv(left_s) is not None:
                    heard_s = time.monotonic()
            silence_s = time.monotonic() - heard_s
            if silence_s > self._config.silence_s_max:
                raise NetworkError(f"{connection.peer}: no answer to a heartbeat for {silence_s:.1f} s")
