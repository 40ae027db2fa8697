"""The asyncio loop of an attempt: it wakes the host of the slot, once for each time that it has nothing to do."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from headgate.clock import SystemClock
from headgate.runtime.slot.attempt_loop import AttemptLoop
from headgate.runtime.wire import Poller


@pytest.fixture
def poller() -> Iterator[Poller]:
    made = Poller()
    yield made
    made.close()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        yield ours, theirs


def test_what_a_coroutine_waits_for_wakes_the_host(poller: Poller, ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    attempt = AttemptLoop(SystemClock(), poller.watch)
    heard: list[bytes] = []

    async def listen() -> None:
        while len(heard) < 3:
            heard.append(await asyncio.get_running_loop().sock_recv(ours, 10))

    task = attempt.get().create_task(listen())
    attempt.step()
    assert (attempt.is_ready, attempt.wake_ms) == (False, None)
    for number in range(3):
        theirs.send(b"%d" % number)
        poller.poll(3600.0)  # the test would not end if nothing woke it
        attempt.step()
        assert len(heard) == number + 1
    assert task.done()
    attempt.end()


def test_a_host_that_does_not_step_is_woken_once(poller: Poller, ends: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = ends
    attempt = AttemptLoop(SystemClock(), poller.watch)
    attempt.get().create_task(attempt.get().sock_recv(ours, 10))
    attempt.step()
    theirs.send(b"hello")
    poller.poll(3600.0)
    woken: list[str] = []
    poller.after(0.001, lambda: woken.append("by a deadline"))
    while not woken:
        before = len(poller._selector.get_map())
        poller.poll(3600.0)
        assert before == 1, "only the poller's own socket is left to be waited for"
    attempt.end()


def test_after_the_end_there_is_a_new_loop(poller: Poller) -> None:
    attempt = AttemptLoop(SystemClock(), poller.watch)
    first = attempt.get()
    assert attempt.get() is first
    attempt.step()
    attempt.end()
    attempt.end()
    assert first.is_closed()
    assert not attempt.is_ready
    second = attempt.get()
    assert not second.is_closed()
    attempt.end()
