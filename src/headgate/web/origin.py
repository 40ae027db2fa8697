"""Which requests come from a page that is not ours: those with a foreign Host or Origin are refused. Pure.

A page of any site may make a browser send requests to this machine. Its own name may even be pointed at this machine
once it is loaded (DNS rebinding): then the browser takes this server for the page's own, but tells that name as Host.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from typing import Final

from headgate import options
from headgate.web.access import RestConfig

_ALWAYS: Final = ("localhost",)


def own_names(config: RestConfig) -> frozenset[str]:
    """Return the host names under which clients may reach the server, besides IP addresses, which cannot be rebound."""
    machine = socket.gethostname()
    return frozenset(map(_plain, (*_ALWAYS, config.address, config.bind_address, machine, machine.partition(".")[0])))


def foreign(headers: Mapping[bytes, bytes], names: frozenset[str]) -> tuple[int, str] | None:
    """Return status and reason of the refusal of a request with these headers; None for one that may be answered."""
    host = headers.get(b"host", b"").decode("latin-1")
    if not _is_ours(_plain(host), names):
        return 421, (
            f"this server does not answer to the host name {_name(host)!r}: use "
            f"{', '.join(sorted(filter(None, names)))} "
            f"or its IP address, or set {options.REST_ADDRESS.key} to that name"
        )
    origin = headers.get(b"origin")
    if origin is not None and _plain(origin.decode("latin-1").partition("://")[2]) != _plain(host):
        return 403, f"a page of {origin.decode('latin-1')!r} may not send requests to this server, {host!r}"
    return None


def _is_ours(host: str, names: frozenset[str]) -> bool:
    name = _name(host)
    if name in names:
        return name != ""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _plain(host: str) -> str:
    return host.strip().lower()


def _name(host: str) -> str:
    """Return a host without its port."""
    name, _, port = host.rpartition(":")
    return (name if port.isdecimal() else host).rstrip(".")
