"""A blocking connection, for a thread of its own. It has the same protocol as the polled connections."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections.abc import Callable
from typing import final

from headgate.errors import NetworkError
from headgate.runtime.wire.config import Address, NetworkConfig
from headgate.runtime.wire.connection import TRY_AGAIN_S
from headgate.runtime.wire.credentials import JobSecret
from headgate.runtime.wire.frames import LENGTH, Frame, FrameReader
from headgate.runtime.wire.handshake import NONCE_BYTES, Handshake, Proof, prove_as_client
from headgate.runtime.wire.stream import ByteStream, PlainStream, StreamCut, TlsContexts, tune

SEND_TIMEOUT_S = 10.0


@final
class BlockingConnection:
    """An authenticated connection for few and small frames. Owned by one thread.

    Every method raises NetworkError when the peer is lost.
    """

    def __init__(self, sock: socket.socket, peer: str, frame_bytes_max: int) -> None:
        self.peer = peer
        self._sock = sock
        self._reader = FrameReader(frame_bytes_max)

    def send(self, frame: bytes) -> None:
        """Send one frame; blocks until the kernel has taken it, 10 s at most."""
        self._sock.settimeout(SEND_TIMEOUT_S)
        try:
            self._sock.sendall(LENGTH.pack(len(frame)) + frame)
        except OSError as error:
            raise self._lost(error) from error

    def recv(self, timeout_s: float) -> Frame | None:
        """Return the next frame, or None if there is none within `timeout_s` seconds."""
        due_s = time.monotonic() + timeout_s
        while (frame := self._reader.next_frame()) is None:
            left_s = due_s - time.monotonic()
            if left_s <= 0:
                return None
            self._sock.settimeout(left_s)
            try:
                count = self._sock.recv_into(self._reader.space())
            except TimeoutError:
                return None
            except OSError as error:
                raise self._lost(error) from error
            if not count:
                raise NetworkError(f"{self.peer}: the peer closed the connection")
            self._reader.received(count)
        return frame

    def interrupt(self) -> None:
        """Make all other methods raise from now on, also a blocked call. May be called from any thread."""
        with contextlib.suppress(OSError):
            # Not the TLS socket's own method: after it, the other methods would read bytes without TLS.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection."""
        self._sock.close()

    def _lost(self, error: OSError) -> NetworkError:
        return NetworkError(f"{self.peer}: the connection was lost: {error.strerror or error}")


def dial(
    config: NetworkConfig, secret: JobSecret, tls: TlsContexts | None, address: Address, hello: bytes
) -> BlockingConnection:
    """Connect and authenticate. Blocks up to the handshake timeout. Raises NetworkError.

    If the peer closes the connection before its welcome, this process tries again: the peer may have too many
    unproven connections.
    """

    def prove(stream: ByteStream) -> Handshake:
        return prove_as_client(secret, secrets.token_bytes(NONCE_BYTES), stream.binding(), hello)

    due_s = time.monotonic() + config.handshake_timeout_s
    while True:
        try:
            sock = socket.create_connection(address, timeout=max(due_s - time.monotonic(), TRY_AGAIN_S))
        except OSError as error:
            raise NetworkError(f"cannot connect to {address}: {error.strerror or error}") from error
        try:
            tune(sock, config)
            sock = _authenticated(tls.client_side(sock) if tls else PlainStream(sock), prove)
            return BlockingConnection(sock, str(address), config.frame_bytes_max)
        except (OSError, NetworkError) as error:
            if not isinstance(error, (ConnectionError, StreamCut)) or time.monotonic() >= due_s:
                raise NetworkError(f"{address}: {getattr(error, 'strerror', None) or error}") from error
        time.sleep(TRY_AGAIN_S)


def _authenticated(stream: ByteStream, prove: Callable[[ByteStream], Handshake]) -> socket.socket:
    """Run the handshake and return the stream's socket. Close the socket if the handshake fails."""
    try:
        stream.secure()
        _exchange(stream.sock, Proof(prove(stream)))
    except BaseException:
        stream.sock.close()
        raise
    return stream.sock


def _exchange(sock: socket.socket, proof: Proof) -> None:
    sock.sendall(proof.take_outgoing())
    while proof.hello is None:
        answer = sock.recv(proof.missing)
        if not answer:
            raise StreamCut("the peer closed the connection during the handshake; does it belong to the same job?")
        proof.received(answer)
        sock.sendall(proof.take_outgoing())
