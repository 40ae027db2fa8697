"""The network configuration of a process: addresses, ports, TLS files and limits."""

from __future__ import annotations

import errno
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headgate.errors import ConfigError, NetworkError
from headgate.runtime.wire.credentials import ThrowAwayCertificate

PORT_MAX = 65_535
ANY_PORT = (0, 0)
_WILDCARDS = ("", "0.0.0.0", "::")


class Address(NamedTuple):
    """A host (a name or an IP address) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """Paths of PEM files. Both ends show the certificate, and check the other's against the authority `ca`."""

    cert: str
    key: str
    ca: str

    @property
    def der(self) -> bytes:
        """The first certificate of the file, in DER form. Raises ValueError if the file has none."""
        text, end = Path(self.cert).read_text(), "-----END CERTIFICATE-----"
        begin = text.index("-----BEGIN CERTIFICATE-----")
        return ssl.PEM_cert_to_DER_cert(text[begin : text.index(end, begin) + len(end) + 1])

    def load_into(self, context: ssl.SSLContext) -> None:
        """Make a context show the certificate and check those of peers. Raises ConfigError, naming the files."""
        try:
            context.load_cert_chain(self.cert, self.key)
            context.load_verify_locations(self.ca)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"cannot use the TLS files {self.cert}, {self.key}, {self.ca}: {error.strerror or error}; "
                "each must be readable PEM, and the key must be the certificate's"
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """The user's network settings, and limits against strangers.

    `ports` is a range of ports, both ends included; with `ANY_PORT` the system chooses. `advertised_host` is the name
    that peers connect to, by default the bind host. A client tries to connect for `handshake_timeout_s`. A listener
    waits `proof_timeout_s` for the proof of a connection, and less if more than `unproven_connections_max` wait.
    """

    bind_host: str = "127.0.0.1"
    advertised_host: str | None = None
    ports: tuple[int, int] = ANY_PORT
    tls: TlsConfig | ThrowAwayCertificate | None = None
    frame_bytes_max: int = 1 << 30
    socket_buffer_bytes: int | None = None
    handshake_timeout_s: float = 10.0
    proof_timeout_s: float = 5.0
    unproven_connections_max: int = 128

    def __post_init__(self) -> None:
        first, last = self.ports
        if self.ports != ANY_PORT and not 1 <= first <= last <= PORT_MAX:
            raise ConfigError(
                f"{first}-{last} is not a range of ports; write two numbers from 1 to {PORT_MAX}, lower first"
            )
        if self.advertised_host is None and self.bind_host in _WILDCARDS:
            raise ConfigError(
                f"the bind host {self.bind_host!r} stands for every interface, so peers cannot tell where to connect; "
                "set the advertised host as well"
            )

    def advertise(self, port: int) -> Address:
        """Return the address under which peers reach a listener on `port`."""
        return Address(self.advertised_host or self.bind_host, port)


def bind(config: NetworkConfig) -> socket.socket:
    """Return a non-blocking listening socket on the first free port of the range. Raises NetworkError."""
    first, last = config.ports
    for port in range(first, last + 1):
        try:
            return _listen(config.bind_host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise NetworkError(_cannot_bind(config.bind_host, port, error)) from error
    ports = f"port {first} is" if first == last else f"all ports {first}-{last} are"
    raise NetworkError(f"cannot listen on {config.bind_host}: {ports} in use; free one or choose another port range")


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(512)
    except OSError:
        sock.close()
        raise
    return sock


def _cannot_bind(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"cannot listen on {host}:{port}: {error.strerror}; choose a port range above 1023"
    return f"cannot listen on host {host!r}: {error.strerror}; set the bind host to an address of this machine"
