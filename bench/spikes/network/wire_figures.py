"""Measures the transport that was built, `headgate.runtime.wire`, by the yardstick of spike.py.

python -m bench.spikes.network.wire_figures [--seconds 3] [--rounds 3] [--tls CERT KEY CA]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from bench.spikes.network.spike import LARGE_BYTES, RATE_PER_S, SMALL_BYTES, STAMP, WARM_UP, rounds_per_unit, work
from headgate.runtime.wire import (
    Address,
    Closed,
    Connection,
    Frame,
    Handlers,
    JobSecret,
    NetworkConfig,
    Poller,
    TlsConfig,
    Wire,
)

SECRET = JobSecret(b"only for measuring on loopback")
BACKLOG_BYTES_MAX = 4 << 20


def wire_of(tls: list[str] | None) -> Wire:
    files = TlsConfig(cert=tls[0], key=tls[1], ca=tls[2]) if tls else None
    return Wire(NetworkConfig(tls=files), SECRET)


def ignore(_connection: Connection, _what: Frame | Closed) -> None:
    """What a sender does with frames and with the end."""


def run_sender(wire: Wire, port: int, mode: str, seconds: float) -> None:
    poller = Poller()
    connection = wire.connect(poller, Address("127.0.0.1", port), b"", Handlers(ignore, ignore))
    while not connection.is_open:
        poller.poll(1.0)
    if mode in ("throughput", "tiny"):
        frame, until = os.urandom(LARGE_BYTES if mode == "throughput" else 100), time.monotonic() + seconds
        while time.monotonic() < until:
            connection.send(frame)
            while connection.pending_bytes > BACKLOG_BYTES_MAX:
                poller.poll(1.0)
    else:
        pad, due = bytes(SMALL_BYTES - 8), time.monotonic()
        for _ in range(int(seconds * RATE_PER_S)):
            due += 1 / RATE_PER_S
            time.sleep(max(0.0, due - time.monotonic()))
            connection.send(STAMP.pack(time.monotonic_ns()) + pad)
            poller.poll(0.0)
    connection.send(b"end")
    while not connection.is_closed:
        poller.poll(1.0)


class Receiver:
    """Collects what arrives, as a mailbox loop would."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.hops_us: list[float] = []
        self.frames = self.bytes = self.started_ns = 0
        self.ended = False

    def on_frame(self, _connection: Connection, frame: Frame) -> None:
        now_ns = time.monotonic_ns()
        self.started_ns = self.started_ns or now_ns
        self.frames += 1
        self.bytes += len(frame)
        if len(frame) == 3:
            self.ended = True
        elif len(frame) == SMALL_BYTES:
            self.hops_us.append((now_ns - STAMP.unpack_from(frame)[0]) / 1000)

    def report(self, units: int) -> str:
        elapsed_s = (time.monotonic_ns() - self.started_ns) / 1e9
        if self.mode == "throughput":
            return f"{self.bytes / elapsed_s / 1e6:8.0f} MB/s"
        if self.mode == "tiny":
            return f"{self.frames / elapsed_s / 1e3:8.0f} k frames/s of 100 bytes"
        hops = sorted(self.hops_us[WARM_UP:])
        busy = f"  work units/s {units / elapsed_s:6.0f}" if units else ""
        return f"p50 {hops[len(hops) // 2]:8.0f} us  p99 {hops[int(len(hops) * 0.99)]:8.0f} us{busy}"


def receive(mode: str, options: argparse.Namespace) -> str:
    wire, poller, receiver = wire_of(options.tls), Poller(), Receiver(mode)
    listener = wire.listen(poller, lambda _connection, _hello: Handlers(receiver.on_frame, ignore))
    rounds, units = rounds_per_unit(), 0
    command = [sys.executable, "-m", "bench.spikes.network.wire_figures", "--seconds", str(options.seconds)]
    command += ["--sender", str(listener.address.port), mode]
    sender = subprocess.Popen([*command, *(["--tls", *options.tls] if options.tls else [])])
    while not receiver.ended:
        if mode == "busy":
            work(rounds)
            units += 1
        poller.poll(0.0 if mode == "busy" else 1.0)
    report = receiver.report(units)
    sender.kill()
    sender.wait()
    poller.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tls", nargs=3, metavar=("CERT", "KEY", "CA"))
    parser.add_argument("--sender", nargs=2, metavar=("PORT", "MODE"))
    options = parser.parse_args()
    if options.sender:
        run_sender(wire_of(options.tls), int(options.sender[0]), options.sender[1], options.seconds)
        return
    for mode in ("idle", "busy", "throughput", "tiny"):
        for _ in range(options.rounds):
            print(f"{mode:10} wire{'+tls' if options.tls else ''} {receive(mode, options)}", flush=True)


if __name__ == "__main__":
    main()
