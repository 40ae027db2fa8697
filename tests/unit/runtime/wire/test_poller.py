from __future__ import annotations

import contextlib
import os
import resource
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from headgate.clock import VirtualClock
from headgate.runtime.wire import Poller


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def poller(clock: VirtualClock) -> Iterator[Poller]:
    poller = Poller(clock)
    yield poller
    poller.close()


def test_wake_ends_a_poll_of_another_thread(poller: Poller) -> None:
    polling = threading.Thread(target=poller.poll, args=(30.0,))
    started_s = time.monotonic()
    polling.start()
    poller.wake()
    polling.join()
    assert time.monotonic() - started_s < 20.0


def test_wakes_before_a_poll_end_exactly_one(poller: Poller) -> None:
    for _ in range(100_000):
        poller.wake()
    poller.poll(30.0)
    started_s = time.monotonic()
    poller.poll(0.02)
    assert time.monotonic() - started_s >= 0.01
    poller.wake()
    poller.poll(30.0)


def test_a_wait_of_less_than_a_millisecond_is_not_rounded_up_to_one(poller: Poller) -> None:
    took_s = []
    for _ in range(200):
        began_s = time.monotonic()
        poller.poll(0.0002)
        took_s.append(time.monotonic() - began_s)
    assert 0.0002 <= min(took_s) < 0.0008


def test_a_process_with_more_than_a_thousand_open_files_polls() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.ExitStack() as files:
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1_100):
            files.enter_context(open(os.devnull, "rb"))
        poller = Poller()
        files.callback(poller.close)
        into, out = socket.socketpair()
        files.enter_context(into)
        ready: list[int] = []
        poller.watch(out, selectors.EVENT_READ, ready.append)
        poller.poll(0.001)
        assert not ready
        into.send(b"x")
        poller.poll(30.0)
        assert ready == [selectors.EVENT_READ]


def test_postponed_work_runs_once_and_what_it_postpones_waits_for_the_next_poll(poller: Poller) -> None:
    ran: list[str] = []

    def first() -> None:
        ran.append("first")
        poller.soon(lambda: ran.append("second"))

    poller.soon(first)
    poller.poll(30.0)
    assert ran == ["first"]
    poller.poll(30.0)
    poller.poll(0.0)
    assert ran == ["first", "second"]


def test_deadlines_run_in_order_when_due_unless_cancelled(poller: Poller, clock: VirtualClock) -> None:
    ran: list[int] = []
    for delay_s in (3, 1, 2):
        deadline = poller.after(delay_s, partial(ran.append, delay_s))
    deadline.cancel()
    poller.poll(0.0)
    clock.advance(999)
    poller.poll(0.0)
    assert ran == []
    clock.advance(5_000)
    poller.poll(30.0)
    assert ran == [1, 3]


def test_a_socket_closed_by_an_earlier_handler_of_the_same_poll_is_left_alone(poller: Poller) -> None:
    pairs = [socket.socketpair() for _ in range(2)]
    ran: list[int] = []

    def close_all(number: int, _events: int) -> None:
        ran.append(number)
        for _, out in pairs:
            poller.watch(out, 0, lambda _events: None)
            out.close()

    for number, (_, out) in enumerate(pairs):
        poller.watch(out, 1, partial(close_all, number))
    for into, _ in pairs:
        into.send(b"x")
    poller.poll(1.0)
    assert len(ran) == 1
    for into, _ in pairs:
        into.close()


def test_wake_after_close_is_harmless() -> None:
    poller = Poller()
    poller.close()
    poller.wake()
