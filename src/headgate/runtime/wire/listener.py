"""The listener: accepts connections, but only of processes of this job."""

from __future__ import annotations

import errno
import logging
import secrets
import selectors
import socket
from collections.abc import Callable
from typing import Final, final

from headgate.runtime.wire.config import Address, NetworkConfig, bind
from headgate.runtime.wire.connection import CloseCause, Closed, Connection, Handlers, Opening
from headgate.runtime.wire.credentials import JobSecret
from headgate.runtime.wire.handshake import NONCE_BYTES, Handshake, prove_as_server
from headgate.runtime.wire.poller import Poller
from headgate.runtime.wire.stream import ByteStream, PlainStream, TlsContexts, tune
from headgate.runtime.wire.unproven import SummedLines, UnprovenPeers

log = logging.getLogger(__name__)

OnConnection = Callable[[Connection, bytes], Handlers | None]
"""Called with an authenticated connection and the peer's hello. Returns its handlers, or None to close it."""

_OUT_OF_FILES_PAUSE_S = 1.0
_REFUSALS_SUMMED_S = 60.0
ACCEPTED_PER_POLL: Final = 16
"""The greatest number of connections accepted per poll: few, so that other proofs and the loop's work continue."""


@final
class Listener:
    """A listening socket on the poller; made by `Wire.listen`. Raises NetworkError if no port is free.

    A connection whose peer does not prove that it knows the job's secret is closed and logged; many are logged as one
    line. When the number of unproven connections reaches the limit, a new connection evicts one of them, unless its
    proof has arrived.
    """

    def __init__(
        self,
        poller: Poller,
        config: NetworkConfig,
        secret: JobSecret,
        tls: TlsContexts | None,
        on_connection: OnConnection,
    ) -> None:
        self._poller = poller
        self._config = config
        self._secret = secret
        self._tls = tls
        self._on_connection = on_connection
        self._unproven = UnprovenPeers[Connection](config.unproven_connections_max)
        self._refusals = SummedLines()
        self._sock = bind(config)
        self._watching = False
        self.address: Address = config.advertise(self._sock.getsockname()[1])
        self._listen()

    def close(self) -> None:
        """Stop listening, and close connections that are not authenticated yet. Other connections stay."""
        self._stop_listening()
        self._sock.close()
        for connection in self._unproven:
            connection.close()

    def _listen(self) -> None:
        if not self._watching and self._sock.fileno() >= 0:
            self._watching = True
            self._poller.watch(self._sock, selectors.EVENT_READ, self._accept)

    def _stop_listening(self) -> None:
        if self._watching:
            self._watching = False
            self._poller.watch(self._sock, 0, self._accept)

    def _accept(self, _events: int) -> None:
        for _ in range(ACCEPTED_PER_POLL):
            try:
                sock, name = self._sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._skip(error)
                return
            self._begin(sock, Address(name[0], name[1]))

    def _begin(self, sock: socket.socket, peer: Address) -> None:
        sock.setblocking(False)
        tune(sock, self._config)
        opening = Opening(
            peer=str(peer),
            dial=lambda: (sock, ""),
            timeout_s=self._config.proof_timeout_s,
            wrap=self._wrap,
            prove=self._prove,
            on_proven=self._proven,
            on_failed=self._failed,
        )
        crowded_out = self._unproven.add(Connection(self._poller, self._config, opening), peer.host)
        if crowded_out is not None:
            crowded_out.hurry("it had not yet proved that it belongs to this job, and made room for others")

    def _skip(self, error: OSError) -> None:
        """Ignore a peer that has closed its connection; pause when the process has no file descriptors left."""
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
            log.warning("cannot accept connections on %s for now: %s", self.address, error.strerror)
            self._stop_listening()
            self._poller.after(_OUT_OF_FILES_PAUSE_S, self._listen)

    def _wrap(self, sock: socket.socket) -> ByteStream:
        return self._tls.server_side(sock) if self._tls else PlainStream(sock)

    def _prove(self, stream: ByteStream) -> Handshake:
        return prove_as_server(self._secret, secrets.token_bytes(NONCE_BYTES), stream.binding())

    def _proven(self, connection: Connection, hello: bytes) -> Handlers | None:
        self._unproven.remove(connection)
        return self._on_connection(connection, hello)

    def _failed(self, connection: Connection, closed: Closed) -> None:
        self._unproven.remove(connection)
        if closed.cause is not CloseCause.CLOSED_HERE:
            self._warn(self._refusals.noted(f"refused a connection to {self.address} from {closed}"))

    def _warn(self, line: str | None) -> None:
        if line is None:
            return
        log.warning("%s", line)
        self._poller.after(_REFUSALS_SUMMED_S, lambda: self._warn(self._refusals.passed()))
