"""Ports for servers that a test is about to start."""

from __future__ import annotations

import random
import socket
from typing import Final

_PORTS: Final = range(20_000, 32_000)
"""Below the ports that Linux, macOS and Windows assign to clients, so no client of another test takes one meanwhile."""


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 on which nothing listens, all different.

    >>> len(free_ports(3))
    3
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            break
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found
