"""An address where nobody listens, for tests of what is told about a server that is not there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.runtime.wire import Address


@contextmanager
def nobody() -> Iterator[Address]:
    """An address where nobody listens: the port stays taken, so that no other process gets it meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield Address(*taken.getsockname())
