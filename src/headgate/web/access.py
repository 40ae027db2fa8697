"""The address and the certificate of the REST interface, read from the settings before a job starts."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import ssl
from dataclasses import dataclass
from typing import Final, final

from headgate import options
from headgate.config import Settings
from headgate.errors import ConfigError, EnvironmentFault

LOOPBACK: Final = "127.0.0.1"
_WILDCARDS: Final = ("", "0.0.0.0", "::")
_BACKLOG: Final = 128
_SITE: Final = re.compile(r"https?://[\w.*:\[\]-]+")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PageConfig:
    """Whether the page is served, whether its sessions may give orders, and which sites may show it in a frame."""

    enabled: bool = True
    read_only: bool = False
    frame_ancestors: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestConfig:
    """Where the REST interface listens, and how. Jobs of one driver with equal configurations share a server.

    `address` is the host in the URL for clients. `cert` and `key` are paths of PEM files; both are set or none.
    """

    bind_address: str = LOOPBACK
    address: str = LOOPBACK
    ports: tuple[int, int] = (0, 0)
    cert: str | None = None
    key: str | None = None
    open_metrics: bool = False
    page: PageConfig = PageConfig()

    @property
    def scheme(self) -> str:
        """`https` with a certificate, else `http`."""
        return "http" if self.cert is None else "https"


def rest_config(settings: Settings, *, default: bool) -> RestConfig | None:
    """Return the configuration of the REST interface, None if it is disabled; `default` applies if it is not set.

    Raises ConfigError, naming the option, for an address beyond this machine without TLS, and for a certificate without
    its key or a key without its certificate.
    """
    enabled = settings.get(options.REST_ENABLED)
    if not (default if enabled is None else enabled):
        return None
    told = settings.get(options.REST_ADDRESS)
    bind_address = settings.get(options.REST_BIND_ADDRESS) or told or LOOPBACK
    cert, key = _certificate(settings)
    if cert is None and not settings.get(options.REST_PLAIN) and not is_loopback(bind_address):
        raise ConfigError(
            f"the REST interface is to listen on {bind_address}, where others could read its token: set "
            f"{options.REST_TLS_CERT.key} and {options.REST_TLS_KEY.key}, or {options.REST_PLAIN.key}=true if the "
            f"network is trusted, or leave {options.REST_BIND_ADDRESS.key} and {options.REST_ADDRESS.key} out, so that "
            "only this machine can connect"
        )
    wildcard = bind_address in _WILDCARDS
    return RestConfig(
        bind_address=bind_address,
        address=told or (socket.gethostname() if wildcard else bind_address),
        ports=settings.get(options.REST_BIND_PORT) or settings.get(options.REST_PORT),
        cert=cert,
        key=key,
        open_metrics=settings.get(options.REST_OPEN_METRICS),
        page=PageConfig(
            enabled=settings.get(options.WEB_ENABLED),
            read_only=settings.get(options.WEB_READ_ONLY),
            frame_ancestors=_sites(settings.get(options.WEB_FRAME_ANCESTORS)),
        ),
    )


def _sites(given: str | None) -> tuple[str, ...]:
    """Return the sites of an option. Raises ConfigError for text that could add a directive to the page's policy."""
    sites = tuple((given or "").replace(";", " ; ").replace(",", " ").split())
    wrong = next((site for site in sites if not _SITE.fullmatch(site)), None)
    if wrong is not None:
        raise ConfigError(
            f"{options.WEB_FRAME_ANCESTORS.key} has {wrong!r}, but must list sites as https://notebooks.example.org"
        )
    return sites


def _certificate(settings: Settings) -> tuple[str, str] | tuple[None, None]:
    own = [options.REST_TLS_CERT, options.REST_TLS_KEY]
    pair = own if any(settings.get(option) for option in own) else [options.TLS_CERT, options.TLS_KEY]
    cert, key = (settings.get(option) for option in pair)
    if cert is None and key is None:
        return None, None
    for option, path in zip(pair, (cert, key), strict=True):
        if path is None:
            raise ConfigError(f"TLS needs a certificate and its key: {option.key} is not set")
        if not os.access(path, os.R_OK):
            raise ConfigError(f"{option.key} is {path}, which does not exist or cannot be read")
    return str(cert), str(key)


def check_certificate(config: RestConfig) -> None:
    """Raise ConfigError, naming the option, unless certificate and key are PEM files that match."""
    if config.cert is None or config.key is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.cert, config.key, password=_no_password)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the REST interface cannot use the certificate {config.cert} with the key {config.key} ({error}): set "
            f"{options.REST_TLS_CERT.key} and {options.REST_TLS_KEY.key} to PEM files that belong together, the key "
            "without a password"
        ) from None


def _no_password() -> bytes:
    return b""


def is_loopback(host: str) -> bool:
    """Return whether an address, or every address of a host name, can only be reached from this machine."""
    if host in _WILDCARDS:
        return False
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses)


def listen(config: RestConfig) -> socket.socket:
    """Return a socket that listens on the first free port of the range.

    Raises EnvironmentFault, naming the option, if no port is free or the address does not belong to this machine.
    """
    first, last = config.ports
    for port in range(first, last + 1):
        try:
            return _listen(config.bind_address, port)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise EnvironmentFault(
                    f"the REST interface cannot listen on {config.bind_address} ({error.strerror or error}): set "
                    f"{options.REST_BIND_ADDRESS.key} to an address of this machine"
                ) from None
    wanted = f"port {first}" if first == last else f"every port from {first} to {last}"
    raise EnvironmentFault(
        f"the REST interface cannot listen: {wanted} of {config.bind_address} is in use, or this user may not use it. "
        f"Set {options.REST_BIND_PORT.key} to a range with a free port, such as {first}-{min(first + 100, 65535)}, or "
        f"to 0 for any; or switch the interface off with {options.REST_ENABLED.key}=false"
    )


def _listen(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
