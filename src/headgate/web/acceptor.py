"""Accepts the connections of the REST server, and bounds the connections that have not been authenticated.

Unauthenticated connections have a bounded number of places, and each request has a bounded time. When all places are
taken, the server closes the oldest connection of the busiest address. A request with the token frees the place of its
connection; afterwards only the time of each request is limited. A request with a session frees the place, too, but its
connection then takes one of the places for sessions, whose number is bounded as well. The server hangs up on every
client that does not read its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final, final

from headgate.runtime.wire.unproven import UnprovenPeers

REQUEST_S_MAX: Final = 10.0
"""Seconds within which a request must arrive."""
TAKING_S_MAX: Final = 60.0
"""Seconds for which a client may leave an answer unread that does not fit into the buffers."""
UNPROVEN_MAX: Final = 64
SESSIONS_MAX: Final = 256
"""The largest number of connections of all sessions together."""
_ACCEPTED_AT_ONCE: Final = 16
_OUT_OF_FILES_PAUSE_S: Final = 1.0


@final
class Visit:
    """One connection, from its acceptance, before TLS, to its end. Owned by the server's loop."""

    def __init__(self, sock: socket.socket, unproven: UnprovenPeers[Visit], of_sessions: UnprovenPeers[Visit]) -> None:
        self._sock = sock
        self._unproven = unproven
        self._of_sessions = of_sessions
        self._session: str | None = None
        self._loop = asyncio.get_running_loop()
        self._deadline: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self.expect_request()

    def expect_request(self) -> None:
        """Start the deadline of the next request, unless it runs already."""
        if self._deadline is None:
            self._deadline = self._loop.call_later(REQUEST_S_MAX, self.hang_up)

    def expect_taking(self) -> None:
        """Start the deadline for the client to read the answer."""
        self._taking = self._loop.call_later(TAKING_S_MAX, self.hang_up)

    def has_taken(self) -> None:
        """Cancel the deadline: the client has read most of the answer."""
        if self._taking is not None:
            self._taking.cancel()

    def prove(self, session: str | None) -> None:
        """Keep the connection: an authenticated request has come, with a session or with the token (None)."""
        self._unproven.remove(self)
        self._forget_deadline()
        if session is not None and session != self._session:
            self._session = session
            _place(self, self._of_sessions, session)

    def end(self) -> None:
        """Free the places of the connection, which is closed."""
        self._unproven.remove(self)
        self._of_sessions.remove(self)
        self._forget_deadline()
        self.has_taken()

    def hang_up(self) -> None:
        """Close the connection, whatever its state is."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _place(visit: Visit, places: UnprovenPeers[Visit], of: str) -> None:
    """Give the connection a place, and hang up on the connection that is evicted for it, if any."""
    crowded_out = places.add(visit, of)
    if crowded_out is not None:
        crowded_out.hang_up()


@final
class Acceptor:
    """Accepts connections on `listener`, each with a protocol made by `answer`. Owned by the server's loop."""

    def __init__(
        self, listener: socket.socket, tls: ssl.SSLContext | None, answer: Callable[[Visit], asyncio.Protocol]
    ) -> None:
        self._listener = listener
        self._tls = tls
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._unproven = UnprovenPeers[Visit](UNPROVEN_MAX)
        self._of_sessions = UnprovenPeers[Visit](SESSIONS_MAX)
        self._openings: set[asyncio.Task[object]] = set()
        listener.setblocking(False)
        self._open()

    def close(self) -> None:
        """Accept no more connections, and free the port."""
        self._loop.remove_reader(self._listener)
        self._listener.close()

    def _open(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        # A few at a time, so that accepted connections are served in between.
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, name = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptors left: try again later
                self._loop.remove_reader(self._listener)
                self._loop.call_later(_OUT_OF_FILES_PAUSE_S, self._open)
                return
            sock.setblocking(False)
            # Without it the body of an answer waits some 40 ms for the acknowledgement of its head.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._begin(Visit(sock, self._unproven, self._of_sessions), sock, str(name[0]))

    def _begin(self, visit: Visit, sock: socket.socket, address: str) -> None:
        _place(visit, self._unproven, address)
        opening = self._loop.create_task(self._connect(visit, sock))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)

    async def _connect(self, visit: Visit, sock: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: self._answer(visit), sock, ssl=self._tls)
        except OSError:  # the TLS handshake failed or took too long
            visit.end()
