"""Two ends of a wire on loopback, each with a poller of its own, driven in turn by one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from headgate.clock import Clock
from headgate.runtime.wire import Closed, Connection, Frame, Handlers, JobSecret, NetworkConfig, Poller, Wire

SECRET = JobSecret(b"the secret of the job under test")
PATIENCE_S = 120.0


def drive(until: Callable[[], object], *pollers: Poller) -> None:
    """Poll in turn until a condition holds; fail after the patience has run out."""
    due_s = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < due_s, "nothing happened for too long"
        for poller in pollers:
            poller.poll(0.0005)


class Party:
    """One end: its poller, and all that it was told."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.poller = Poller(clock)
        self.frames: list[bytes] = []
        self.hellos: list[bytes] = []
        self.closed: list[Closed] = []
        self.connections: list[Connection] = []
        self.handlers = Handlers(self._on_frame, lambda _connection, closed: self.closed.append(closed))

    def accept(self, connection: Connection, hello: bytes) -> Handlers:
        self.connections.append(connection)
        self.hellos.append(hello)
        return self.handlers

    def _on_frame(self, _connection: Connection, frame: Frame) -> None:
        self.frames.append(bytes(frame))


class Loopback:
    """A server and a client of the same job, or not."""

    def __init__(self, server: Wire, client: Wire, server_clock: Clock | None = None) -> None:
        self.server, self.client = Party(server_clock), Party()
        self.wires = server, client
        self.listener = server.listen(self.server.poller, self.server.accept)

    @property
    def raw_address(self) -> tuple[str, int]:
        return self.listener.address.host, self.listener.address.port

    def connect(self, hello: bytes = b"hello") -> Connection:
        connection = self.wires[1].connect(self.client.poller, self.listener.address, hello, self.client.handlers)
        self.client.connections.append(connection)
        return connection

    def connected(self) -> tuple[Connection, Connection]:
        """Return the client's end and the server's, both open."""
        client = self.connect()
        self.drive(lambda: client.is_open and self.server.connections and self.server.connections[-1].is_open)
        return client, self.server.connections[-1]

    def drive(self, until: Callable[[], object]) -> None:
        drive(until, self.server.poller, self.client.poller)

    def close(self) -> None:
        self.listener.close()
        for party in (self.server, self.client):
            for connection in party.connections:
                connection.close()
            party.poller.poll(0.0)
            party.poller.close()


@contextmanager
def loopback(
    config: NetworkConfig | None = None,
    *,
    client_config: NetworkConfig | None = None,
    client_secret: JobSecret = SECRET,
    server_clock: Clock | None = None,
) -> Iterator[Loopback]:
    """A server, and a client that is set up alike unless told otherwise."""
    config = config or NetworkConfig()
    pair = Loopback(Wire(config, SECRET), Wire(client_config or replace(config), client_secret), server_clock)
    try:
        yield pair
    finally:
        pair.close()
