"""A connection to the server that breaks at a chosen point of a conversation, and takes the server with it."""

from __future__ import annotations

import select
import socket
import threading
from enum import Enum
from types import TracebackType
from typing import Final, Self

from headgate.testing.servers.postgres import PostgresServer


class Point(Enum):
    """When the server dies, seen from a command that it is sent."""

    BEFORE = "before the command arrives"
    DURING = "when the command is sent"
    AFTER = "when the answer is there, before the client has it"


_DEADLINE_S: Final = 120.0


class BreakingProxy:
    """Passes connections on to a server, and kills it once: at a point of the first message with `command` in it."""

    def __init__(self, server: PostgresServer, command: bytes, point: Point) -> None:
        self.broken = threading.Event()
        self._server = server
        self._command = command
        self._point = point
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_DEADLINE_S)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, socket.create_connection(("127.0.0.1", self._server.port)) as server:
                while self._passes_on(client, server):
                    pass
        except OSError:
            return  # one of them has gone, as the other will see

    def _passes_on(self, client: socket.socket, server: socket.socket) -> bool:
        ready, _, _ = select.select([client, server], [], [])
        for source, target in ((client, server), (server, client)):
            if source not in ready:
                continue
            data = source.recv(65536)
            if source is client and self._command in data and not self.broken.is_set():
                self._break(server, data)
                return False
            if not data:
                return False
            target.sendall(data)
        return True

    def _break(self, server: socket.socket, data: bytes) -> None:
        self.broken.set()
        if self._point is not Point.BEFORE:
            server.sendall(data)
        if self._point is Point.AFTER:
            server.recv(65536)
        self._server.kill()
