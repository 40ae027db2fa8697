"""Sources that read in stages: a stage begins when all have read the one before, and each is read exactly once."""

from __future__ import annotations

from concurrent.futures import Future
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.checkpoint.store import MemoryStore
from headgate.connectors.hybrid import HybridSource
from headgate.errors import SuppressRestartsException
from headgate.functions.source import Poll, Records, SourceContext, SourceReader
from headgate.job_status import JobStatus
from headgate.runtime.master.requests import SavepointRequest
from tests.sample_size import sample_size
from tests.unit.runtime.master.test_discovery import (
    SETTINGS,
    SIZE,
    TOPICS,
    Place,
    TopicReader,
    Topics,
    appear,
    clear,
    everything,
    rig_of,
    stop,
    until_committed,
)
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT
from tests.unit.runtime.master.test_savepoints import COMMITTED


@pytest.fixture(autouse=True)
def four_topics() -> None:
    begin()


def begin() -> None:
    clear()
    appear(3)
    Some.read.clear()
    Some.troubles.clear()


class Some(Topics):
    """Reads some of the topics to their end, and notes when it was asked which, and what was read by then."""

    bounded = True
    discovery_interval_ms: int | None = None
    read: ClassVar[set[int]] = set()
    troubles: ClassVar[list[Exception]] = []

    def __init__(self, *topics: int, before: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.topics = topics
        self.before = before

    def splits(self, parallelism: int) -> list[Place]:
        if self.before and self.troubles:
            raise self.troubles.pop(0)
        for topic in self.before:
            assert self.read.issuperset(TOPICS[f"t{topic}"]), "a stage begins before the one before has ended"
        return [(f"t{topic}", 0) for topic in self.topics]

    def reader(self, context: SourceContext) -> SourceReader[Place]:
        return Noting(context)


class Noting(TopicReader):
    def poll(self, records_max: int) -> Poll:
        polled = super().poll(records_max)
        if isinstance(polled, Records):
            Some.read.update(polled.records)
        return polled


class More(Some):
    """Looks for topics as well."""

    bounded = False
    discovery_interval_ms = 30

    def discover(self, known: frozenset[str]) -> list[Place]:
        return [(f"t{number}", 0) for number in range(3, len(TOPICS))]


def three_stages(last: Some | None = None) -> HybridSource:
    """Return a source whose stages have two splits, none, and the others."""
    return HybridSource([Some(0, 1), Some(before=(0, 1)), last or Some(2, 3, before=(0, 1))])


@pytest.mark.parametrize("readers", [1, 2, 5])
def test_stages_are_read_one_after_the_other_and_then_the_job_ends(readers: int) -> None:
    rig = rig_of(three_stages(), readers=readers)
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(COMMITTED) == everything()


def test_a_job_without_checkpoints_goes_through_its_stages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SETTINGS, "execution.checkpointing.interval")
    rig = rig_of(three_stages())
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(COMMITTED) == everything()


@settings(max_examples=sample_size(25), deadline=None, database=None)
@given(fails_at=st.sets(st.integers(1, 4 * SIZE + 20), max_size=5), readers=st.integers(1, 3))
@pytest.mark.slow
def test_through_failures_each_stage_is_read_exactly_once(fails_at: set[int], readers: int) -> None:
    begin()
    FAIL_AT.update(fails_at)
    rig = rig_of(three_stages(), readers=readers)
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(COMMITTED) == everything()


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 1)])
@pytest.mark.parametrize("calls", [5, 2 * SIZE, 2 * SIZE + 5])
def test_another_job_goes_on_in_the_stage_that_was_left(calls: int, before: int, after: int) -> None:
    rig = rig_of(three_stages(), readers=before)
    rig.run_until(lambda: CALLS[0] >= calls)
    answer = Future[str]()
    rig.master.trigger_checkpoint(answer)
    rig.run_until(answer.done)
    location = answer.result().replace("memory:", "/retained/")
    rig.master.cancel()
    rig.end()
    other = rig_of(three_stages(), readers=after, store=MemoryStore(), execution__state_recovery__path=location)
    other.folders.update(rig.folders)
    other.folders["/retained"] = rig.store
    assert other.end().status is JobStatus.FINISHED
    assert sorted(COMMITTED) == everything()


def test_the_last_stage_may_discover_for_ever() -> None:
    rig = rig_of(three_stages(More(2, 3, before=(0, 1))))
    until_committed(rig, everything())
    appear()
    until_committed(rig, everything())
    FAIL_AT.add(CALLS[0] + 2)
    appear()
    until_committed(rig, everything())


def test_an_error_at_a_switch_restarts_the_job_which_then_tries_again() -> None:
    Some.troubles.append(OSError("the registry does not answer"))
    rig = rig_of(three_stages())
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.restarts == 1
    assert sorted(COMMITTED) == everything()


def test_an_error_at_a_switch_that_cannot_mend_fails_the_job_by_the_name_of_the_source() -> None:
    Some.troubles.append(SuppressRestartsException("no such topic"))
    outcome = rig_of(three_stages()).end()
    assert outcome.status is JobStatus.FAILED
    assert "Source: op0: no such topic" in str(outcome.cause)


def test_a_job_can_be_stopped_between_two_stages_and_go_on() -> None:
    rig = rig_of(three_stages())
    rig.run_until(lambda: CALLS[0] >= 2 * SIZE)
    location = stop(rig, SavepointRequest(stops=True))
    other = rig_of(three_stages(), store=MemoryStore(), execution__state_recovery__path=location)
    other.folders.update(rig.folders)
    assert other.end().status is JobStatus.FINISHED
    assert sorted(COMMITTED) == everything()
