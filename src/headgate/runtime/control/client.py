"""The control connection between the job master and its slots: the hello, and the slot's end.

A slot makes two connections to the master. The first belongs to the slot's loop: control messages travel both ways, and
`RegisterSlot` is the first. The second belongs to a thread of its own and carries heartbeats, so that a slot counts as
alive however long user code blocks its loop. The hello of each connection names its purpose, the launch and the slot.
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
