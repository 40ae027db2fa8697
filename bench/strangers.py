"""Strangers at the doors of a job: connections that say nothing, half of a proof, or garbage, to all its processes.

`python -m bench.strangers FIRST LAST COUNT FILE` keeps as many connections open as it may to the ports of a range where
somebody listens on this machine, opens others for those that are closed, and touches the file when it has opened COUNT.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import resource
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
SAYS = (b"", b"hdgt\x02" + bytes(32), b"GET / HTTP/1.1\r\n\r\n")
BURST = 100
BURST_LATER = 25
GAP_S = 0.05
PORTS = 40


def some_ports() -> tuple[int, int]:
    """Return a range of ports for a job, below those that the system gives to who asks for any."""
    first = 20_000 + PORTS * random.randrange(250)
    return first, first + PORTS - 1


@contextmanager
def strangers(ports: tuple[int, int], count: int, reached: Path) -> Iterator[None]:
    """Have a process besiege the ports; it touches `reached` once it has opened `count` connections."""
    command = [sys.executable, "-m", "bench.strangers", *map(str, (*ports, count, reached))]
    root = Path(__file__).parent.parent
    process = subprocess.Popen(command, cwd=root)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def besiege(ports: range, count: int, reached: Path) -> None:
    """Open and hold connections until killed, or left alone."""
    opened, held, selector = 0, 0, selectors.DefaultSelector()
    says = itertools.cycle(SAYS)
    parent = os.getppid()
    while os.getppid() == parent:
        open_ports = [port for port in ports if _listens(port)]
        burst = BURST if opened < count else max(0, min(BURST_LATER, count - held))
        for port in itertools.islice(itertools.cycle(open_ports), burst):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex((HOST, port))
            selector.register(sock, selectors.EVENT_WRITE, next(says))
            opened, held = opened + 1, held + 1
        for key, events in selector.select(0):
            held -= _attend(selector, key, events)
        if opened >= count:
            reached.touch()
        time.sleep(GAP_S if opened >= count or not open_ports else 0)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _attend(selector: selectors.BaseSelector, key: selectors.SelectorKey, events: int) -> int:
    """Say what is to be said on a connection, or read and drop what comes; return 1 when it has ended, else 0."""
    sock = key.fileobj
    assert isinstance(sock, socket.socket)
    with contextlib.suppress(OSError):
        if events & selectors.EVENT_WRITE:
            sock.send(key.data)
            selector.modify(sock, selectors.EVENT_READ)
            return 0
        if sock.recv(4096):
            return 0
    selector.unregister(sock)
    sock.close()
    return 1


if __name__ == "__main__":
    first, last, wanted = map(int, sys.argv[1:4])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    besiege(range(first, last + 1), wanted, Path(sys.argv[4]))
