"""Where the processes of a job on Spark listen, and under which address others reach them."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Final

from headgate import options
from headgate.config import Settings
from headgate.errors import ConfigError
from headgate.runtime.wire import NetworkConfig, ThrowAwayCertificate, TlsConfig
from headgate.web.access import is_loopback

LOOPBACK: Final = "127.0.0.1"
_EVERYWHERE: Final = "0.0.0.0"  # connections are authenticated


def driver_network(settings: Settings, own_address: str) -> NetworkConfig:
    """Return the network configuration of the driver: slots reach it at the advertised host, else at its own address.

    On loopback, only this machine can connect; elsewhere the process listens on every interface, under TLS. Without
    files of the user, the driver makes a certificate, which slots have to get. Raises ConfigError and EnvironmentFault.
    """
    config = _network(settings, own_address, settings.get(options.ADVERTISED_HOST))
    enabled, files = settings.get(options.TLS_ENABLED), _tls_files(settings)
    if enabled is False and files is not None:
        raise ConfigError(
            f"{options.TLS_ENABLED.key} is false, but {options.TLS_CERT.key} is set: leave one of them out"
        )
    if enabled is None:
        enabled = files is not None or not is_loopback(config.bind_host)
    return replace(config, tls=(files or ThrowAwayCertificate.generate()) if enabled else None)


def slot_network(settings: Settings, own_address: str, throw_away: ThrowAwayCertificate | None) -> NetworkConfig:
    """Return the network configuration of a slot: like the driver's, but an advertised host is the driver's only.

    `throw_away` is the certificate that the driver has made, None if it has made none.
    """
    return replace(_network(settings, own_address, None), tls=throw_away or _tls_files(settings))


def _network(settings: Settings, own_address: str, advertised: str | None) -> NetworkConfig:
    bind_host = settings.get(options.BIND_HOST)
    if bind_host is None:
        bind_host = LOOPBACK if own_address == LOOPBACK else _EVERYWHERE
    if advertised is None and bind_host == _EVERYWHERE:
        advertised = own_address
    return NetworkConfig(
        bind_host=bind_host,
        advertised_host=advertised,
        ports=settings.get(options.PORT_RANGE_OPTION),
    )


def _tls_files(settings: Settings) -> TlsConfig | None:
    files = {option.key: settings.get(option) for option in (options.TLS_CERT, options.TLS_KEY, options.TLS_CA)}
    if not any(files.values()):
        return None
    missing = [key for key, path in files.items() if path is None]
    if missing:
        raise ConfigError(f"TLS needs a certificate, its key and the authority: {', '.join(missing)} is not set")
    cert, key, authority = (str(path) for path in files.values())
    return TlsConfig(cert=cert, key=key, ca=authority)


def address_towards(host: str, port: int) -> str:
    """Return the address of this machine that connections to `host` come from; asks the kernel, sends nothing."""
    family, _, _, _, name = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(name)
        return str(probe.getsockname()[0])
