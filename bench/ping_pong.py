"""A bare socket between two processes, which the latency of a network channel is compared with.

`python -m bench.ping_pong` takes a `PingPong` as JSON and prints percentiles of the round trip as JSON.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import sys
import time
from dataclasses import asdict, dataclass
from typing import Final, final

from bench.outputs import percentile
from bench.trial import Result, run_module

FRAME_BYTES: Final = 160
"""About what a batch of one record takes on a channel, its frame included."""
_WARM_UP: Final = 0.25
"""The part of the round trips, from the first on, that does not count."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PingPong:
    """`rate` messages a second for `seconds`. Each message is sent back whole before the next one leaves."""

    rate: float
    seconds: float
    frame_bytes: int = FRAME_BYTES


def run_ping_pong(given: PingPong) -> Result:
    """Measure in a new process: `p50_ms` and `p99_ms` from when a message is due until it is back. Blocks."""
    return run_module("bench.ping_pong", asdict(given), given.seconds + 30.0)


# --- in the new process


def measure(given: PingPong) -> Result:
    """Measure here, with a process more that sends back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        echo = multiprocessing.get_context("spawn").Process(target=send_back, args=listener.getsockname(), daemon=True)
        echo.start()
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        taken_ms = [1_000.0 * taken_s for taken_s in round_trips_s(connection, given)]
    echo.join()
    counted = sorted(taken_ms[int(_WARM_UP * len(taken_ms)) :])
    return {"p50_ms": percentile(counted, 50.0), "p99_ms": percentile(counted, 99.0)}


def round_trips_s(connection: socket.socket, given: PingPong) -> list[float]:
    """Return how long each round trip took. A message that leaves late counts from when it was due."""
    message, taken_s = bytes(given.frame_bytes), []
    began_s = time.monotonic()
    for number in range(int(given.rate * given.seconds)):
        due_s = began_s + number / given.rate
        time.sleep(max(0.0, due_s - time.monotonic()))
        connection.sendall(message)
        left = given.frame_bytes
        while left:
            left -= len(connection.recv(left))
        taken_s.append(time.monotonic() - due_s)
    return taken_s


def send_back(host: str, port: int) -> None:
    """Send back whatever comes, until the other end closes the connection."""
    with socket.create_connection((host, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := connection.recv(1 << 16):
            connection.sendall(data)


if __name__ == "__main__":
    print(json.dumps(measure(PingPong(**json.loads(sys.argv.pop())))), flush=True)
