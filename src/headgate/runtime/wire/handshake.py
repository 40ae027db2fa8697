"""The handshake by which two processes prove to each other that they share the job's secret.

    client                                                      server
    magic, version, client nonce                    ->
                                                    <-          magic, version
                                                    <-          server nonce, MAC("server", context)
    hello length, hello, MAC("client", context, hello)  ->
                                                    <-          welcome

The context is (version, client nonce, server nonce, channel binding). The binding is the SHA-256 of the server's TLS
certificate as each side sees it, or empty without TLS: so a man in the middle cannot forward a handshake. The roles are
part of the MACs, so that a proof cannot be replayed to its sender. The server proves itself first, so the client sends
its hello only to a server of the job. A client without a welcome was refused, and may try again.

Both sides are generators without I/O. They yield a `HandshakeExchange` (bytes to send, then a number of bytes to read)
and are resumed with exactly these bytes. Since no more bytes are read, the first frame stays in the stream.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Generator
from dataclasses import dataclass
from typing import NoReturn, final

from headgate.errors import NetworkError
from headgate.runtime.wire.credentials import MAC_BYTES, JobSecret

MAGIC = b"hdgt"
VERSION = 2
NONCE_BYTES = 32
HELLO_BYTES_MAX = 64 * 1024
HELLO_LENGTH = struct.Struct("!I")
_PREAMBLE = struct.Struct("!4sB")
_WELCOME = b"\x01"
_TLS_RECORD_TYPES = (b"\x15\x03", b"\x16\x03")


class HandshakeRefused(NetworkError):
    """The peer did not prove that it belongs to this job. The message names the failed step."""


@dataclass(frozen=True, slots=True)
class HandshakeExchange:
    """Send `send`, then resume the generator with exactly `want` bytes (at once, with no bytes, if zero)."""

    send: bytes = b""
    want: int = 0


Handshake = Generator[HandshakeExchange, bytes, bytes]
"""One side's handshake, as a generator. It returns the client's hello, on both sides."""


@final
class Proof:
    """One side's handshake: send the bytes of `take_outgoing` and call `received`, until `hello` is set."""

    __slots__ = ("_answer", "_exchange", "_handshake", "_outgoing", "hello")

    def __init__(self, handshake: Handshake) -> None:
        self._handshake = handshake
        self._outgoing = bytearray()
        self._answer = bytearray()
        self.hello: bytes | None = None
        self._exchange = next(handshake)
        self._outgoing += self._exchange.send
        self._go_on()

    @property
    def missing(self) -> int:
        """The number of bytes to read. Reading more would take bytes of the first frame."""
        return self._exchange.want - len(self._answer)

    def take_outgoing(self) -> bytes:
        """Return the bytes to send now, and forget them."""
        outgoing = bytes(self._outgoing)
        self._outgoing.clear()
        return outgoing

    def received(self, answer: bytes | memoryview) -> None:
        """Add bytes of the peer. Raises HandshakeRefused if the peer does not belong to the job."""
        self._answer += answer
        self._go_on()

    def _go_on(self) -> None:
        try:
            while self.hello is None and not self.missing:
                answer, self._answer = bytes(self._answer), bytearray()
                self._exchange = self._handshake.send(answer)
                self._outgoing += self._exchange.send
        except StopIteration as end:
            self.hello = end.value


def prove_as_client(secret: JobSecret, nonce: bytes, binding: bytes, hello: bytes) -> Handshake:
    """Return the client's side of the handshake. Raises HandshakeRefused, and NetworkError for too long a hello."""
    if len(hello) > HELLO_BYTES_MAX:
        raise NetworkError(f"a hello of {len(hello):,} bytes is too long, the limit is {HELLO_BYTES_MAX:,}")
    preamble = yield HandshakeExchange(send=_preamble() + nonce, want=_PREAMBLE.size)
    _check_magic(preamble)
    _check_version(preamble)
    proof = yield HandshakeExchange(want=NONCE_BYTES + MAC_BYTES)
    context = (bytes([VERSION]), nonce, proof[:NONCE_BYTES], binding)
    if not hmac.compare_digest(proof[NONCE_BYTES:], secret.mac(b"server", *context)):
        _refuse_secret()
    own_proof = secret.mac(b"client", *context, hello)
    yield HandshakeExchange(send=HELLO_LENGTH.pack(len(hello)) + hello + own_proof, want=len(_WELCOME))
    return hello


def prove_as_server(secret: JobSecret, nonce: bytes, binding: bytes) -> Handshake:
    """Return the server's side of the handshake. Raises HandshakeRefused."""
    preamble = yield HandshakeExchange(want=_PREAMBLE.size)
    _check_magic(preamble)
    # The server sends its version before it refuses a client of another version, so both sides know the reason.
    client_nonce = yield HandshakeExchange(send=_preamble(), want=NONCE_BYTES)
    _check_version(preamble)
    context = (bytes([VERSION]), client_nonce, nonce, binding)
    length = yield HandshakeExchange(send=nonce + secret.mac(b"server", *context), want=HELLO_LENGTH.size)
    (hello_bytes,) = HELLO_LENGTH.unpack(length)
    if hello_bytes > HELLO_BYTES_MAX:
        raise HandshakeRefused(f"it announced a hello of {hello_bytes:,} bytes, the limit is {HELLO_BYTES_MAX:,}")
    proof = yield HandshakeExchange(want=hello_bytes + MAC_BYTES)
    hello = proof[:hello_bytes]
    if not hmac.compare_digest(proof[hello_bytes:], secret.mac(b"client", *context, hello)):
        _refuse_secret()
    yield HandshakeExchange(send=_WELCOME)
    return hello


def _preamble() -> bytes:
    return _PREAMBLE.pack(MAGIC, VERSION)


def _check_magic(preamble: bytes) -> None:
    if preamble[:2] in _TLS_RECORD_TYPES:
        raise HandshakeRefused("it speaks TLS and this side does not; switch TLS on, or off, for all processes")
    if preamble[: len(MAGIC)] != MAGIC:
        raise HandshakeRefused("it does not speak headgate's protocol; is this port meant for another program?")


def _check_version(preamble: bytes) -> None:
    version = preamble[len(MAGIC)]
    if version != VERSION:
        raise HandshakeRefused(
            f"it speaks version {version} of headgate's protocol and this side version {VERSION}; "
            "install the same headgate everywhere"
        )


def _refuse_secret() -> NoReturn:
    raise HandshakeRefused("it does not know this job's secret; it may belong to another job, or to an earlier one")
