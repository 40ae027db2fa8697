"""Two drivers, or three, on one job: only one history is ever committed, and nothing of it is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.store import CheckpointStore
from tests.property.drivers import JOB, Job, ObjectStore, begin, drive, interleave, store_one
from tests.sample_size import sample_size


def begun(store: CheckpointStore) -> Job:
    """A job whose first driver has made one checkpoint."""
    job = Job(store)
    drive(job, "a0", 1)
    return job


def check_all(job: Job) -> None:
    """Whatever has happened, a driver that comes last goes on from all that was committed."""
    job.check()
    before = list(job.committed)
    drive(job, "zz", 1)
    job.check()
    assert len(job.committed) == len(before) + 2, "the last driver goes on"
    assert all(job.committed[-1][: len(lineage)] == lineage for lineage in before)


Schedule = list[tuple[int, int]]
"""Who acts, as an index of the drivers that go on, and for how many operations."""

schedules = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 15)), min_size=3, max_size=15)


def by(schedule: Schedule) -> Callable[[int], int]:
    """Follow the schedule; all crash at its end."""
    turns = iter([who for who, operations in schedule for _ in range(operations)])

    def pick(running: int) -> int:
        turn = next(turns, None)
        return running if turn is None else turn % running

    return pick


@settings(max_examples=sample_size(300, at_most=30), deadline=None)
@given(schedule=schedules)
@pytest.mark.slow
def test_of_three_drivers_at_one_time_on_an_object_store_one_history_is_committed(schedule: Schedule) -> None:
    job = begun(ObjectStore())
    interleave([partial(drive, job, nonce, 2) for nonce in ("bb", "aa", "cc")], by(schedule))
    check_all(job)


@settings(max_examples=sample_size(40), deadline=None)
@given(schedule=schedules)
@pytest.mark.slow
def test_of_two_drivers_at_one_time_on_a_real_folder_one_history_is_committed(schedule: Schedule) -> None:
    with tempfile.TemporaryDirectory() as folder:
        job = begun(FileSystemStore.open(folder, JOB))
        interleave([partial(drive, job, nonce, 2) for nonce in ("bb", "aa")], by(schedule))
        check_all(job)


PREEMPTIONS_MAX = 4


class EveryWay:
    """Picks who acts so that every schedule with few preemptions comes once, depth first.

    A driver that is interrupted a few times shows nearly all faults of a schedule: Musuvathi and Qadeer, "Iterative
    context bounding for systematic testing of multithreaded programs", PLDI 2007.
    """

    def __init__(self) -> None:
        self.ways = 0
        self._path: list[int] = []
        self._begin()

    def _begin(self) -> None:
        self._widths: list[int] = []
        self._running, self._last, self._preemptions = 0, 0, 0

    def pick(self, running: int) -> int:
        goes_on = running == self._running
        choices = list(range(running))
        if goes_on:
            choices.remove(self._last)
            choices = [self._last, *(choices if self._preemptions < PREEMPTIONS_MAX else ())]
        self._widths.append(len(choices))
        if len(self._widths) > len(self._path):
            self._path.append(0)
        taken = self._path[len(self._widths) - 1]
        self._preemptions += goes_on and taken > 0
        self._running, self._last = running, choices[taken]
        return self._last

    def another(self) -> bool:
        """Turn to the next schedule, if there is one."""
        self.ways += 1
        while self._path and self._path[-1] + 1 >= self._widths[len(self._path) - 1]:
            self._path.pop()
        self._begin()
        if self._path:
            self._path[-1] += 1
        return self._path != []


@pytest.mark.slow
def test_whenever_a_driver_is_taken_over_in_storing_a_checkpoint_one_history_is_committed() -> None:
    schedules = EveryWay()
    while True:
        job = begun(ObjectStore())
        earlier = begin(job, "bb")
        assert earlier is not None
        interleave([partial(store_one, job, earlier), partial(begin, job, "aa")], schedules.pick)
        check_all(job)
        if not schedules.another():
            break
    assert schedules.ways > 1000
