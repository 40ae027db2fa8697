"""The control connection between the job master and its slots, over the wire: the hello, and the end at the slot.

A slot makes two connections to the master. On the first, from its loop, control messages travel both ways, beginning
with `RegisterSlot`. On the second, from a thread of its own, heartbeats do, so that a slot is known to live however
long user code keeps its loop. The hello on each connection names its purpose, the launch and the slot.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, final

from headgate.runtime.control.messages import FromSlot, ToSlot
from headgate.runtime.wire import Address, Closed, Connection, Frame, Handlers, Poller, Wire


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """Who is calling, and what for."""

    purpose: Literal["control", "heartbeat"]
    launch: int
    slot: int

    def encode(self) -> bytes:
        """Return the hello as bytes for the wire."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Hello:
        """Return the hello that `encode` made."""
        return cls(**json.loads(data))


@final
class ControlClient:
    """A slot's end of its control connection. Owned by the thread that polls."""

    def __init__(
        self, wire: Wire, poller: Poller, master: Address, hello: Hello, receive: Callable[[ToSlot], None]
    ) -> None:
        self.lost: str | None = None
        """Why the master is lost; None while it is there."""
        self._receive = receive
        self._connection = wire.connect(poller, master, hello.encode(), Handlers(self._on_frame, self._on_closed))

    def send(self, message: FromSlot) -> None:
        """Send a message; lost if the connection is. Does not block."""
        self._connection.send(pickle.dumps(message, 5))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _on_frame(self, connection: Connection, frame: Frame) -> None:
        self._receive(pickle.loads(frame))  # noqa: S301  # from the authenticated job master

    def _on_closed(self, connection: Connection, closed: Closed) -> None:
        self.lost = str(closed)
