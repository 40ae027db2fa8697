"""Somebody between two processes of a job: reads what travels, changes it, adds to it, or takes part in TLS."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headgate.runtime.wire import Address

TIMEOUT_S = 60.0


class Between:
    """Passes on what comes from the first client to the server, and back, on threads of its own.

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
            back = threading.Thread(target=self._pass_on, args=(self._upstream, self._client, lambda data: data))
            back.start()
            self._pass_on(self._client, self._upstream, lambda data: self.alter(data))
            back.join()

    def _pass_on(self, source: socket.socket, target: socket.socket, alter: Callable[[bytes], bytes]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.seen += data
                target.sendall(alter(data))
        for sock in (source, target):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


@contextmanager
def between(
    server: Address, for_client: ssl.SSLContext | None = None, for_server: ssl.SSLContext | None = None
) -> Iterator[Between]:
    somebody = Between(server, for_client, for_server)
    try:
        yield somebody
    finally:
        somebody.close()
