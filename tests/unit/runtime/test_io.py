"""Work beside a loop: results come back to it, and there is a way to end."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from headgate.runtime.io import ThreadIo

AT_EXIT = """
import atexit, threading
from headgate.runtime.io import ThreadIo

woken = threading.Event()
io = ThreadIo(1, "io", woken.set)

@atexit.register
def end():
    io.submit(lambda: "ended in good order", print)
    woken.wait(120)
    io.deliver()
    io.close()
"""


def test_the_loop_is_given_the_result_or_the_exception() -> None:
    woken = threading.Semaphore(0)
    io = ThreadIo(2, "io", woken.release)
    results: list[Any] = []
    io.submit(lambda: 1, results.append)
    assert woken.acquire(timeout=300.0)
    io.submit(lambda: 1 // 0, results.append)
    assert woken.acquire(timeout=300.0)
    assert results == []
    assert io.deliver()
    assert not io.deliver()
    assert results[0] == 1
    assert isinstance(results[1], ZeroDivisionError)
    io.close()


def test_the_end_waits_for_work_under_way_and_forgets_the_rest() -> None:
    begun, go_on = threading.Event(), threading.Event()
    io = ThreadIo(1, "io-that-ends", lambda: None)
    done: list[str] = []

    def first() -> None:
        begun.set()
        go_on.wait(120.0)
        done.append("first")

    io.submit(first, lambda result: None)
    io.submit(lambda: done.append("second"), lambda result: None)
    assert begun.wait(120.0)
    threading.Timer(0.05, go_on.set).start()
    io.close()
    assert done == ["first"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("io-that-ends")]


def test_work_is_still_done_while_the_program_exits() -> None:
    ended = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=300, check=False)
    assert (ended.stdout, ended.stderr) == ("ended in good order\n", "")


def test_work_that_waits_holds_up_no_other() -> None:
    go_on, woken = threading.Event(), threading.Semaphore(0)
    io = ThreadIo(1, "io", woken.release)
    results: list[Any] = []
    for _ in range(3):
        io.submit_waiting(lambda: go_on.wait(120.0), results.append)
    io.submit(lambda: "written", results.append)
    assert woken.acquire(timeout=300.0)
    io.deliver()
    assert results == ["written"]
    go_on.set()
    for _ in range(3):
        assert woken.acquire(timeout=300.0)
    io.deliver()
    assert results[1:] == [True, True, True]
    io.close()


def test_work_that_waits_finds_the_thread_of_what_waited_before() -> None:
    woken = threading.Semaphore(0)
    io = ThreadIo(1, "io-again", woken.release)
    names: list[Any] = []
    for _ in range(20):
        io.submit_waiting(threading.get_ident, names.append)
        assert woken.acquire(timeout=300.0)
        while not io.deliver() or not io._free:
            pass
    assert len(set(names)) == 1
    io.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("io-again")]


def test_the_end_does_not_wait_for_ever_for_work_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.runtime.io.CLOSE_S_MAX", 0.01)
    begun, go_on = threading.Event(), threading.Event()
    io = ThreadIo(1, "io", lambda: None)

    def hang() -> None:
        begun.set()
        go_on.wait(120.0)

    io.submit_waiting(hang, lambda result: None)
    assert begun.wait(120.0)
    io.close()
    assert not go_on.is_set()
    go_on.set()


def test_work_that_waits_is_begun_also_at_the_end_for_it_may_let_go_of_something() -> None:
    io = ThreadIo(1, "io", lambda: None)
    done: list[str] = []
    io.submit_waiting(lambda: done.append("closed"), lambda result: None)
    io.close()
    assert done == ["closed"]
