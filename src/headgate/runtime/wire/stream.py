"""Byte streams that never block: plain TCP, or TLS."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Sequence
from typing import Protocol, final

from headgate.errors import NetworkError
from headgate.runtime.wire.config import NetworkConfig, TlsConfig
from headgate.runtime.wire.credentials import ThrowAwayCertificate


class StreamCut(NetworkError):
    """The peer closed the stream before the handshake had ended."""


class ByteStream(Protocol):
    """A byte stream on a connected socket."""

    sock: socket.socket
    wants_write: bool
    """Whether the stream itself must write before it can continue."""
    hides_data: bool
    """Whether bytes may be ready in the stream while its socket has none."""

    def secure(self) -> bool:
        """Advance the TLS handshake; return whether it has ended.

        Raises StreamCut if the peer closed the stream, another NetworkError if the handshake failed.
        """
        ...

    def binding(self) -> bytes:
        """Return the channel binding, which ties the job's handshake to this stream. It is the same at both ends."""
        ...

    def receive_into(self, space: memoryview) -> int | None:
        """Read bytes and return their number: zero at the end of the stream, None if no bytes are ready."""
        ...

    def send(self, buffers: Sequence[memoryview]) -> int:
        """Write bytes and return their number, zero if the socket takes none now. Offer the rest again."""
        ...


@final
class PlainStream:
    """A plain TCP socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.wants_write = False
        self.hides_data = False

    def secure(self) -> bool:
        return True

    def binding(self) -> bytes:
        return b""

    def receive_into(self, space: memoryview) -> int | None:
        try:
            return self.sock.recv_into(space)
        except BlockingIOError:
            return None

    def send(self, buffers: Sequence[memoryview]) -> int:
        try:
            return self.sock.sendmsg(buffers)
        except BlockingIOError:
            return 0


@final
class TlsStream:
    """A TCP socket with TLS."""

    def __init__(self, sock: ssl.SSLSocket, server_certificate: bytes | None) -> None:
        self.sock: socket.socket = sock
        self.wants_write = False
        self.hides_data = True
        self._tls = sock
        self._server_certificate = server_certificate

    def secure(self) -> bool:
        self.wants_write = False
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return False
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            cut = isinstance(error, (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError))
            raise (StreamCut if cut else NetworkError)(
                f"the TLS handshake failed ({reason}); is TLS on at both ends, with certificates of the same authority?"
            ) from error
        return True

    def binding(self) -> bytes:
        return certificate_hash(self._server_certificate or self._tls.getpeercert(binary_form=True))

    def receive_into(self, space: memoryview) -> int | None:
        self.wants_write = False
        try:
            return self._tls.recv_into(space)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLWantWriteError:
            self.wants_write = True
            return None

    def send(self, buffers: Sequence[memoryview]) -> int:
        taken = 0
        try:
            for buffer in buffers:
                count = self._tls.send(buffer)
                taken += count
                if count < len(buffer):
                    break
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return taken
        return taken


@final
class TlsContexts:
    """The certificates of this process, loaded once. Raises ConfigError for a file that cannot be used."""

    def __init__(self, config: TlsConfig | ThrowAwayCertificate) -> None:
        self._server = _context(ssl.PROTOCOL_TLS_SERVER, config)
        self._client = _context(ssl.PROTOCOL_TLS_CLIENT, config)
        self._certificate = config.der

    def server_side(self, sock: socket.socket) -> TlsStream:
        """Wrap an accepted socket, without any I/O."""
        wrapped = self._server.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return TlsStream(wrapped, server_certificate=self._certificate)

    def client_side(self, sock: socket.socket) -> TlsStream:
        """Wrap a connected socket, without any I/O."""
        return TlsStream(self._client.wrap_socket(sock, do_handshake_on_connect=False), server_certificate=None)


def certificate_hash(certificate: bytes | None) -> bytes:
    """Return the SHA-256 of a certificate in DER form."""
    return hashlib.sha256(certificate or b"").digest()


def tune(sock: socket.socket, config: NetworkConfig) -> None:
    """Set the socket options of all connections."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if config.socket_buffer_bytes is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.socket_buffer_bytes)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, config.socket_buffer_bytes)


def _context(protocol: int, config: TlsConfig | ThrowAwayCertificate) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    # Slots share a certificate and their hosts are not known in advance, so no host name is checked. The job's own
    # handshake covers the certificate that the client has received, which a man in the middle cannot match.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    config.load_into(context)
    return context
