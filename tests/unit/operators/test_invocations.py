"""Reads that are done in one go: of those who wait, one may give up, and one may be at fault."""

from __future__ import annotations

import pytest

from headgate.clock import VirtualClock
from headgate.errors import StorageError
from headgate.operators.invocations import JointReads
from headgate.operators.stepped_loop import SteppedLoop


def test_one_that_gives_up_keeps_no_other_waiting() -> None:
    read: list[str] = []
    loop = SteppedLoop(VirtualClock())
    reads = JointReads(loop, read.extend)
    first, second = (loop.create_task(reads.wanted(item)) for item in "ab")
    loop.call_soon(first.cancel)
    loop.step()
    assert (first.cancelled(), second.done(), read) == (True, True, ["a", "b"])
    loop.end()


def test_who_is_at_fault_hears_of_it_and_the_others_and_later_reads_are_done() -> None:
    calls: list[list[str]] = []

    def read(items: list[str]) -> None:
        calls.append(items)
        if "b" in items:
            raise StorageError("b is gone")

    loop = SteppedLoop(VirtualClock())
    reads = JointReads(loop, read)
    tasks = [loop.create_task(reads.wanted(item)) for item in "abc"]
    loop.step()
    with pytest.raises(StorageError, match="b is gone"):
        tasks[1].result()
    assert [tasks[0].result(), tasks[2].result()] == [None, None]
    later = loop.create_task(reads.wanted("d"))
    loop.step()
    assert (later.done(), calls) == (True, [["a", "b", "c"], ["a"], ["b"], ["c"], ["d"]])
    loop.end()
