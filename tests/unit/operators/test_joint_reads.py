"""Reads that are done in one go: of those who wait, one may give up, and all hear of a failure."""

from __future__ import annotations

import pytest

from headgate.clock import VirtualClock
from headgate.errors import StorageError
from headgate.operators.joint_reads import JointReads
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


def test_all_hear_of_a_failure_and_later_reads_are_done() -> None:
    calls: list[list[str]] = []

    def read(items: list[str]) -> None:
        calls.append(items)
        if len(calls) == 1:
            raise StorageError("the disk is gone")

    loop = SteppedLoop(VirtualClock())
    reads = JointReads(loop, read)
    failed = [loop.create_task(reads.wanted(item)) for item in "ab"]
    loop.step()
    for task in failed:
        with pytest.raises(StorageError, match="the disk is gone"):
            task.result()
    later = loop.create_task(reads.wanted("c"))
    loop.step()
    assert (later.done(), calls) == (True, [["a", "b"], ["c"]])
    loop.end()
