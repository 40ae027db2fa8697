"""A server that answers every frame with the same, on a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.runtime.wire import Address, Connection, Frame, Handlers, NetworkConfig, Poller, Wire
from tests.unit.runtime.wire.loopback import SECRET


class Echo:
    """What the server heard, and whether it still answers."""

    def __init__(self, config: NetworkConfig | None = None) -> None:
        self.wire = Wire(config or NetworkConfig(), SECRET)
        self.frames: list[bytes] = []
        self.hellos: list[bytes] = []
        self.silent = False
        self._poller = Poller()
        self._connections: list[Connection] = []
        self._ended = threading.Event()
        self._listener = self.wire.listen(self._poller, self._accept)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def address(self) -> Address:
        return self._listener.address

    def hang_up(self) -> None:
        """Close all connections, and answer nobody any more."""
        self._ended.set()
        self._poller.wake()
        self._thread.join()

    def _accept(self, connection: Connection, hello: bytes) -> Handlers:
        self.hellos.append(hello)
        self._connections.append(connection)
        return Handlers(self._answer, lambda _connection, _closed: None)

    def _answer(self, connection: Connection, frame: Frame) -> None:
        self.frames.append(bytes(frame))
        if not self.silent:
            connection.send(frame)

    def _serve(self) -> None:
        while not self._ended.is_set():
            self._poller.poll(1.0)
        self._listener.close()
        for connection in self._connections:
            connection.close()
        self._poller.close()


@contextmanager
def echo(config: NetworkConfig | None = None) -> Iterator[Echo]:
    server = Echo(config)
    try:
        yield server
    finally:
        server.hang_up()
