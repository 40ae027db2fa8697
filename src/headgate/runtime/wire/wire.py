"""The wire of a process: makes listeners and connections to other processes of the job."""

from __future__ import annotations

import errno
import os
import secrets
import socket
from typing import final

from headgate.runtime.wire.blocking import BlockingConnection, dial
from headgate.runtime.wire.config import Address, NetworkConfig
from headgate.runtime.wire.connection import CloseCause, Connection, Handlers, Opening
from headgate.runtime.wire.credentials import JobSecret
from headgate.runtime.wire.handshake import NONCE_BYTES, Handshake, prove_as_client
from headgate.runtime.wire.listener import Listener, OnConnection
from headgate.runtime.wire.poller import Poller
from headgate.runtime.wire.stream import ByteStream, PlainStream, TlsContexts, tune


@final
class Wire:
    """Makes listeners and connections. Raises ConfigError if the TLS files cannot be used.

    A server and a client on one poller:

    >>> wire, poller, heard = Wire(NetworkConfig(), JobSecret.generate()), Poller(), []
    >>> keep = Handlers(on_frame=lambda connection, frame: heard.append(bytes(frame)), on_closed=lambda *_: None)
    >>> listener = wire.listen(poller, lambda connection, hello: keep)
    >>> client = wire.connect(poller, listener.address, b"slot 1", keep)
    >>> client.send(b"good ", b"morning")
    >>> while not heard:
    ...     poller.poll(timeout_s=1.0)
    >>> heard
    [b'good morning']
    >>> poller.close()
    """

    def __init__(self, config: NetworkConfig, secret: JobSecret) -> None:
        self.config = config
        self._secret = secret
        self._tls = TlsContexts(config.tls) if config.tls else None

    def listen(self, poller: Poller, on_connection: OnConnection) -> Listener:
        """Listen on the first free port of the range. Raises NetworkError if no port is free."""
        return Listener(poller, self.config, self._secret, self._tls, on_connection)

    def connect(self, poller: Poller, address: Address, hello: bytes, handlers: Handlers) -> Connection:
        """Connect without blocking, except that the lookup of a host name may block.

        If the peer closes the connection before its welcome, this process tries again: the peer may have too many
        unproven connections. Frames that are sent before the proof wait. `handlers.on_closed` reports every failure,
        also an unreachable peer. `hello` (at most 64 kB) identifies this process to the listener.
        """

        def prove(stream: ByteStream) -> Handshake:
            return prove_as_client(self._secret, secrets.token_bytes(NONCE_BYTES), stream.binding(), hello)

        opening = Opening(
            peer=str(address),
            wrap=self._wrap,
            prove=prove,
            on_proven=lambda _connection, _hello: handlers,
            on_failed=handlers.on_closed,
            timeout_s=self.config.handshake_timeout_s,
            dial=lambda: _start_connecting(address, self.config),
            tries_again_after=frozenset((CloseCause.CLOSED_BY_PEER, CloseCause.LOST)),
        )
        return Connection(poller, self.config, opening)

    def blocking_connect(self, address: Address, hello: bytes) -> BlockingConnection:
        """Connect and authenticate. Blocks up to the handshake timeout. Raises NetworkError."""
        return dial(self.config, self._secret, self._tls, address, hello)

    def _wrap(self, sock: socket.socket) -> ByteStream:
        return self._tls.client_side(sock) if self._tls else PlainStream(sock)


def _start_connecting(address: Address, config: NetworkConfig) -> tuple[socket.socket, str]:
    """Return a socket that is connecting, and an error text, empty for none."""
    try:
        family, kind, protocol, _, name = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        return socket.socket(), f"{error.strerror}; is the advertised host of that process right?"
    sock = socket.socket(family, kind, protocol)
    sock.setblocking(False)
    tune(sock, config)
    error_number = sock.connect_ex(name)
    under_way = error_number in (0, errno.EINPROGRESS)
    return sock, "" if under_way else os.strerror(error_number)
