"""The asyncio loop that is stepped: its time, its rounds, files that become readable, its end."""

from __future__ import annotations

import asyncio
import os
import selectors
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest

from headgate.clock import SystemClock, VirtualClock
from headgate.operators.stepped_loop import ROUNDS_MAX, STEP_MS, SteppedLoop


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(5000.0)


@pytest.fixture
def loop(clock: VirtualClock) -> Iterator[SteppedLoop]:
    made = SteppedLoop(clock)
    yield made
    if not made.is_closed():
        made.end()


def test_nothing_runs_but_in_steps_and_time_is_that_of_the_clock(loop: SteppedLoop, clock: VirtualClock) -> None:
    woken_ms: list[float] = []

    async def sleep_twice() -> None:
        for _ in range(2):
            await asyncio.sleep(0.25)
            woken_ms.append(clock.monotonic_ms())

    task = loop.create_task(sleep_twice())
    loop.step()
    assert (woken_ms, loop.wake_ms) == ([], 5250.0)
    clock.advance(249)
    loop.step()
    assert woken_ms == []
    clock.advance(1)
    loop.step()
    assert (woken_ms, loop.wake_ms, loop.is_ready) == ([5250.0], 5500.0, False)
    clock.advance(250)
    loop.step()
    assert task.done()
    assert loop.wake_ms is None


def test_what_is_begun_between_two_steps_asks_for_the_next_one(loop: SteppedLoop, clock: VirtualClock) -> None:
    loop.step()
    assert (loop.wake_ms, loop.is_ready) == (None, False)
    timer = loop.call_later(0.25, print)
    assert (loop.wake_ms, loop.is_ready) == (5250.0, False)
    nap = loop.create_task(asyncio.sleep(0))
    assert (loop.wake_ms, loop.is_ready) == (5000.0, True)
    timer.cancel()
    loop.step()
    assert nap.done()
    assert (loop.wake_ms, loop.is_ready) == (None, False)


def test_a_step_has_no_further_round_when_it_has_taken_long(loop: SteppedLoop, clock: VirtualClock) -> None:
    rounds = 0

    async def slow() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            clock.advance(STEP_MS / 2)
            await asyncio.sleep(0)

    loop.create_task(slow())
    loop.step()
    assert (rounds, loop.is_ready) == (4, True)
    loop.step()
    assert rounds == 8


def test_a_step_ends_however_much_there_is_to_do(loop: SteppedLoop) -> None:
    rounds = 0

    async def never_idle() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    loop.create_task(never_idle())
    loop.step()
    assert rounds == ROUNDS_MAX
    assert loop.is_ready


def test_a_file_that_is_readable_shows_outside_and_lets_its_coroutine_go_on(loop: SteppedLoop) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as outer:
        ours.setblocking(False)
        task = loop.create_task(loop.sock_recv(ours, 10))
        loop.step()
        outer.register(loop.poll, selectors.EVENT_READ)
        assert outer.select(0) == []
        theirs.send(b"hello")
        assert len(outer.select(10)) == 1
        loop.step()
        assert task.result() == b"hello"
        assert outer.select(0) == []


def test_work_of_another_thread_shows_outside(loop: SteppedLoop) -> None:
    with selectors.DefaultSelector() as outer:
        outer.register(loop.poll, selectors.EVENT_READ)
        task = loop.create_task(asyncio.to_thread(os.getpid))
        loop.step()
        while not task.done():
            assert len(outer.select(10)) == 1
            loop.step()
        assert task.result() == os.getpid()


def test_a_step_may_wait_for_what_it_can_go_on_with() -> None:
    loop = SteppedLoop(SystemClock())
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        task = loop.create_task(loop.sock_recv(ours, 10))
        loop.call_later(0.01, theirs.send, b"late")
        while not task.done():
            loop.step(10.0)
        assert task.result() == b"late"
    loop.end()


def test_a_step_does_not_wait_when_something_could_go_on() -> None:
    """Otherwise whoever steps would learn of it late."""
    loop = SteppedLoop(SystemClock())
    sleeping = loop.create_task(asyncio.sleep(3_600.0))
    loop.step()
    done = loop.create_task(asyncio.sleep(0, "done"))
    began_s = time.monotonic()
    loop.step(60.0)
    assert done.result() == "done"
    assert time.monotonic() - began_s < 30.0, "it has waited"
    assert not sleeping.done()
    loop.end()


def test_what_is_called_on_the_loop_finds_it_running(loop: SteppedLoop) -> None:
    assert loop.call(asyncio.get_running_loop) is loop
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


def test_a_caller_that_runs_in_a_loop_is_back_in_its_own_after_each_step(loop: SteppedLoop) -> None:
    """As a cell of a notebook does, that runs a job in its own thread."""
    seen: list[asyncio.AbstractEventLoop] = []

    async def looks() -> None:
        seen.append(asyncio.get_running_loop())

    async def caller() -> None:
        loop.call(lambda: loop.create_task(looks()))
        seen.append(asyncio.get_running_loop())
        loop.step()
        seen.append(asyncio.get_running_loop())
        await asyncio.sleep(0)

    with asyncio.Runner() as runner:
        runner.run(caller())
        assert seen == [runner.get_loop(), loop, runner.get_loop()]


def test_tasks_that_close_something_are_waited_for_and_others_are_not(loop: SteppedLoop) -> None:
    ours, theirs = socket.socketpair()
    closed: list[str] = []
    tasks: list[asyncio.Task[None]] = []

    async def close_politely() -> None:
        await loop.sock_sendall(ours, b"bye")
        for _ in range(3 * ROUNDS_MAX):
            await asyncio.sleep(0)
        closed.append("closed")

    with ours, theirs:
        ours.setblocking(False)
        other = loop.create_task(asyncio.sleep(3600))
        loop.call_and_wait(lambda: tasks.append(asyncio.get_running_loop().create_task(close_politely())))
        assert closed == ["closed"]
        assert theirs.recv(10) == b"bye"
        assert not other.done()


@pytest.mark.parametrize("pause", [lambda: asyncio.sleep(0.01), lambda: asyncio.to_thread(time.sleep, 0.01)])
def test_tasks_that_close_something_may_sleep_or_wait_for_a_thread(pause: Callable[[], Awaitable[None]]) -> None:
    closed: list[str] = []
    closing: list[asyncio.Task[None]] = []

    async def close_slowly() -> None:
        await pause()
        closed.append("closed")

    loop = SteppedLoop(SystemClock())
    loop.call_and_wait(lambda: closing.append(loop.create_task(close_slowly())))
    assert closed == ["closed"]
    loop.end()


def test_nobody_waits_for_what_other_tasks_create_meanwhile() -> None:
    loop = SteppedLoop(SystemClock())
    naps: list[asyncio.Task[None]] = []

    async def go_on() -> None:
        naps.append(asyncio.create_task(asyncio.sleep(1)))
        await naps[0]

    loop.create_task(go_on())
    loop.call_and_wait(lambda: None)
    assert not naps[0].done()
    loop.end()


def test_nobody_waits_for_a_sleep_on_a_clock_that_stands_still(loop: SteppedLoop) -> None:
    tasks: list[asyncio.Task[None]] = []
    loop.call_and_wait(lambda: tasks.append(loop.create_task(asyncio.sleep(0.01))))
    assert not tasks[0].done()


async def by_thread() -> None:
    await asyncio.to_thread(time.sleep, 0.1)


async def by_timer() -> None:
    await asyncio.sleep(0.1)


@pytest.mark.parametrize("closes", [by_thread, by_timer])
def test_what_is_closed_on_a_thread_or_after_a_while_is_waited_for(
    closes: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    loop = SteppedLoop(SystemClock())
    tasks: list[asyncio.Task[None]] = []
    loop.call_and_wait(lambda: tasks.append(asyncio.get_running_loop().create_task(closes())))
    assert tasks[0].done()
    loop.end()


async def leaves() -> None:
    try:
        await asyncio.sleep(9)
    finally:
        sys.exit(3)


def test_a_task_that_exits_does_not_keep_the_loop_from_its_end(loop: SteppedLoop) -> None:
    first = loop.create_task(leaves())
    second = loop.create_task(asyncio.sleep(9))
    loop.step()
    loop.end()
    assert loop.is_closed()
    assert isinstance(first.exception(), SystemExit)
    assert second.cancelled()


def test_a_task_that_exits_fails_steps_but_not_what_is_closed(loop: SteppedLoop) -> None:
    async def exits() -> None:
        sys.exit(3)

    left: list[asyncio.Task[None]] = []
    loop.call_and_wait(lambda: left.append(asyncio.get_running_loop().create_task(exits())))
    assert isinstance(left.pop().exception(), SystemExit)
    left.append(loop.create_task(exits()))
    with pytest.raises(SystemExit):
        loop.step()
    assert isinstance(left.pop().exception(), SystemExit)


def test_the_end_cancels_what_is_left(loop: SteppedLoop) -> None:
    ends: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ends.append("cancelled")

    loop.create_task(forever())
    loop.step()
    loop.create_task(forever())  # never begun
    loop.end()
    assert ends == ["cancelled"]
    assert loop.is_closed()


def test_what_a_timer_begins_at_the_end_is_cancelled_too(loop: SteppedLoop, clock: VirtualClock) -> None:
    begun: list[asyncio.Task[None]] = []
    loop.call_later(0.1, lambda: begun.append(loop.create_task(asyncio.sleep(9))))
    loop.step()
    clock.advance(100)
    loop.end()
    (task,) = begun
    assert task.cancelled()
