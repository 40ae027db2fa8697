from __future__ import annotations

import queue
import time
from collections.abc import Callable

import pytest

from headgate.runtime.control.client import BEAT, HeartbeatConfig, HeartbeatThread
from headgate.runtime.wire import Address
from tests.nobody import nobody
from tests.unit.runtime.wire.echo import Echo, echo

FAST = HeartbeatConfig(interval_s=0.005, silence_s_max=30.0)


class Slot:
    """What a slot would hear of its heartbeat."""

    def __init__(self, server: Echo, config: HeartbeatConfig = FAST, address: Address | None = None) -> None:
        self.lost: queue.Queue[str] = queue.Queue()
        self.heartbeat = HeartbeatThread(server.wire, address or server.address, b"slot 1", config, self.lost.put)
        self.heartbeat.start()


def wait(until: Callable[[], object]) -> None:
    due_s = time.monotonic() + 120.0
    while not until():
        assert time.monotonic() < due_s, "nothing happened for too long"


def test_it_beats_until_it_is_stopped_and_is_then_not_lost() -> None:
    with echo() as server:
        slot = Slot(server)
        wait(lambda: len(server.frames) >= 3)
        slot.heartbeat.stop()
        assert set(server.frames) == {BEAT}
        assert server.hellos == [b"slot 1"]
        assert slot.lost.empty()


def test_a_peer_that_goes_is_reported_once_with_its_address() -> None:
    with echo() as server:
        slot = Slot(server, HeartbeatConfig(interval_s=60.0))
        wait(lambda: server.frames)
        server.hang_up()
        assert str(server.address) in slot.lost.get(timeout=300.0)
        slot.heartbeat.stop()
        assert slot.lost.empty()


def test_a_peer_that_falls_silent_is_reported() -> None:
    with echo() as server:
        server.silent = True
        slot = Slot(server, HeartbeatConfig(interval_s=0.005, silence_s_max=0.02))
        assert "no answer to a heartbeat" in slot.lost.get(timeout=300.0)
        slot.heartbeat.stop()


def test_a_peer_that_was_never_there_is_reported() -> None:
    with echo() as server, nobody() as address:
        slot = Slot(server, address=address)
        assert f"cannot connect to {address}" in slot.lost.get(timeout=300.0)
        slot.heartbeat.stop()


@pytest.mark.parametrize("interval_s", [60.0])
def test_stopping_does_not_wait_for_the_next_beat(interval_s: float) -> None:
    with echo() as server:
        slot = Slot(server, HeartbeatConfig(interval_s=interval_s))
        wait(lambda: server.frames)
        started_s = time.monotonic()
        slot.heartbeat.stop()
        assert time.monotonic() - started_s < 30.0
