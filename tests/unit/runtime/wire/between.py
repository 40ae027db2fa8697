"""Somebody between two processes of a job: reads what travels, changes it, adds to it, or takes part in TLS."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headgate.runtime.wire import Address

TIMEOUT_S = 60.0


class Between:
    """Passes on what comes from the first client to the server, and back, on a thread of its own.

    `seen` is all that has passed. `alter` gets what the client sends, and returns what the server is to get instead.
    With contexts, `for_client` and `for_server`, the TLS of both sides ends here.
    """

    def __init__(
        self, server: Address, for_client: ssl.SSLContext | None = None, for_server: ssl.SSLContext | None = None
    ) -> None:
        self.seen = bytearray()
        self.alter: Callable[[bytes], bytes] = lambda data: data
        self._for_client, self._for_server = for_client, for_server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(TIMEOUT_S)
        self._upstream = socket.create_connection(server, TIMEOUT_S)
        self._client: socket.socket | None = None
        self.address = Address(*self._listener.getsockname())
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def inject(self, data: bytes) -> None:
        """Send bytes to the server as if the client had."""
        self._upstream.sendall(data)

    def close(self) -> None:
        """Hang up."""
        for sock in (self._client, self._upstream, self._listener):
            if sock is not None:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for sock in (self._client, self._upstream, self._listener):
            if sock is not None:
                sock.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # refused, or closed
            self._client, _ = self._listener.accept()
            self._listener.close()
            self._client.settimeout(TIMEOUT_S)
            if self._for_client is not None and self._for_server is not None:
                self._client = self._for_client.wrap_socket(self._client, server_side=True)
                self._upstream = self._for_server.wrap_socket(self._upstream)
            self._pass_on(self._client, self._upstream)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        """Pass on until either hangs up. One thread does, as a socket of TLS must not be read and written at once."""
        other = {client: server, server: client}
        for sock in other:
            sock.setblocking(False)
        with contextlib.suppress(OSError):
            while True:
                for source in self._readable(*other):
                    try:
                        data = source.recv(1 << 16)
                    except (BlockingIOError, ssl.SSLWantReadError):  # TLS itself had something to tell
                        continue
                    if not data:
                        return self._hang_up(*other)
                    self.seen += data
                    _send(other[source], self.alter(data) if source is client else data)
        return self._hang_up(*other)

    @staticmethod
    def _readable(*socks: socket.socket) -> list[socket.socket]:
        decrypted: list[socket.socket] = [sock for sock in socks if isinstance(sock, ssl.SSLSocket) and sock.pending()]
        return decrypted or select.select(socks, [], [], TIMEOUT_S)[0]

    @staticmethod
    def _hang_up(*socks: socket.socket) -> None:
        for sock in socks:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _send(sock: socket.socket, data: bytes) -> None:
    while data:
        try:
            data = data[sock.send(data) :]
        except (BlockingIOError, ssl.SSLWantWriteError):
            select.select([], [sock], [], TIMEOUT_S)


@contextmanager
def between(
    server: Address, for_client: ssl.SSLContext | None = None, for_server: ssl.SSLContext | None = None
) -> Iterator[Between]:
    somebody = Between(server, for_client, for_server)
    try:
        yield somebody
    finally:
        somebody.close()
