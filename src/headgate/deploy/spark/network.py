"""The addresses at which the processes of a job on Spark listen, and their TLS certificates."""

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
    """Return the network configuration of the driver. Slots connect to the advertised host, else to its own address.

    On loopback, only this machine can connect. Otherwise the driver listens on every interface, with TLS. Without a
    certificate of the user, the driver generates a certificate, which it must send to slots. Raises ConfigError for
    contradictory settings, EnvironmentFault if no certificate can be generated.
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
    """Return the network configuration of a slot. The advertised host does not apply to slots.

    `throw_away` is the certificate that the driver generated, None without one.
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
    """Return this machine's address on connections to `host`. Asks the kernel and sends no packet."""
    family, _, _, _, name = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(name)
        return str(probe.getsockname()[0])
