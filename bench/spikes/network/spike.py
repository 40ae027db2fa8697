"""Measures candidate transports on loopback between two processes: one-way hop latency and throughput.

    python -m bench.spikes.network.spike [--seconds 3] [--rounds 1]

Latency: 1 kB frames at 1,000/s, clock read just before the send and when the frame is in the hands of the receiver's
main thread (CLOCK_MONOTONIC is common to both processes), receiver idle or busy in work units of 0.3 ms pure Python.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import time
from typing import Any

from bench.spikes.network.transports import TRANSPORTS

MODULE = "bench.spikes.network.spike"
STAMP = struct.Struct("!q")
SMALL_BYTES, LARGE_BYTES, RATE_PER_S, WARM_UP = 1024, 256 * 1024, 1000, 200


def work(rounds: int) -> int:
    total = 0
    for i in range(rounds):
        total += i & 7
    return total


def rounds_per_unit(unit_s: float = 0.0003) -> int:
    """The rounds that fill `unit_s` at this machine's best speed of five tries."""
    best_s = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        work(300_000)
        best_s = min(best_s, time.perf_counter() - started)
    return int(300_000 * unit_s / best_s)


def run_sender(transport: str, port: int, mode: str, seconds: float) -> None:
    send = TRANSPORTS[transport][1](port)
    if mode == "throughput":
        frame, until = os.urandom(LARGE_BYTES), time.monotonic() + seconds
        while time.monotonic() < until:
            send(frame)
        send(b"end")
    else:
        pad, due = bytes(SMALL_BYTES - 8), time.monotonic()
        for _ in range(int(seconds * RATE_PER_S)):
            due += 1 / RATE_PER_S
            time.sleep(max(0.0, due - time.monotonic()))
            send(STAMP.pack(time.monotonic_ns()) + pad)
        send(b"end")
    time.sleep(1)


def receive(transport: str, mode: str, seconds: float) -> str:
    receiver: Any = TRANSPORTS[transport][0]()
    rounds = rounds_per_unit()
    command = [sys.executable, "-m", MODULE, "--sender", transport, str(receiver.port), mode, "--seconds", str(seconds)]
    sender = subprocess.Popen(command)
    hops_us: list[float] = []
    received_bytes, ended, started, units = 0, False, 0, 0
    while not ended:
        if mode == "busy":
            work(rounds)
            units += 1
        for frame in receiver.take(0.0 if mode == "busy" else 1.0):
            now = time.monotonic_ns()
            started = started or now
            if len(frame) == 3:
                ended = True
            elif mode == "throughput":
                received_bytes += len(frame)
            else:
                hops_us.append((now - STAMP.unpack_from(frame)[0]) / 1000)
    elapsed_s = (time.monotonic_ns() - started) / 1e9
    sender.kill()
    sender.wait()
    if mode == "throughput":
        return f"{received_bytes / elapsed_s / 1e6:8.0f} MB/s"
    hops_us = sorted(hops_us[WARM_UP:])
    extra = f"  work units/s {units / elapsed_s:6.0f}" if mode == "busy" else ""
    return f"p50 {hops_us[len(hops_us) // 2]:8.0f} us  p99 {hops_us[int(len(hops_us) * 0.99)]:8.0f} us{extra}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sender", nargs=3, metavar=("TRANSPORT", "PORT", "MODE"))
    options = parser.parse_args()
    if options.sender:
        transport, port, mode = options.sender
        run_sender(transport, int(port), mode, options.seconds)
        return
    for mode in ("idle", "busy", "throughput"):
        for _ in range(options.rounds):
            for transport in TRANSPORTS:
                print(f"{mode:10} {transport:10} {receive(transport, mode, options.seconds)}", flush=True)


if __name__ == "__main__":
    main()
