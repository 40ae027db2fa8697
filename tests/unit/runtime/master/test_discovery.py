"""Splits that are found while a job runs: each is read exactly once, whatever fails, and whatever looking comes to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.checkpoint.store import MemoryStore
from headgate.elements import SavepointFormat
from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import (
    END_OF_INPUT,
    NoMoreSplits,
    NotReady,
    Poll,
    Records,
    Source,
    SourceContext,
    SourceReader,
)
from headgate.job_status import JobStatus
from headgate.operators.plain_functions import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.runtime.control.messages import AddSplits
from headgate.runtime.master.requests import SavepointRequest
from tests.sample_size import sample_size
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT, Failing
from tests.unit.runtime.master.test_savepoints import COMMITTED, FAULTY_COMMITS, Committing
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan

SETTINGS = {
    "execution.checkpointing.interval": "50 ms",
    "execution.checkpointing.savepoint-dir": "/savepoints",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "20 ms",
    "restart-strategy.fixed-delay.attempts": "20",
}
TOPICS: dict[str, list[int]] = {}
"""What is there to be read; the first one is there from the beginning."""
SIZE = 8
Place = tuple[str, int]


@pytest.fixture(autouse=True)
def _clear() -> None:
    clear()


def clear() -> None:
    for each in (TOPICS, COMMITTED, FAULTY_COMMITS, FAIL_AT, Topics.looks):
        each.clear()
    CALLS[0] = 0
    Topics.look = lambda _: None
    appear()


def appear(count: int = 1) -> None:
    """Let so many topics more be there."""
    for _ in range(count):
        first = len(TOPICS) * SIZE
        TOPICS[f"t{len(TOPICS)}"] = list(range(first, first + SIZE))


def everything() -> list[int]:
    return [number for numbers in TOPICS.values() for number in numbers]


class Topics(Source[Place]):
    """Reads each topic to its end, looking for new ones each 30 ms."""

    bounded = False
    discovery_interval_ms: int | None = 30
    looks: ClassVar[list[frozenset[str]]] = []
    look: ClassVar[Callable[[frozenset[str]], None]] = lambda _: None

    def __init__(self, *, fetches: bool = False) -> None:
        self.fetches = fetches

    def splits(self, parallelism: int) -> list[Place]:
        return [("t0", 0)]

    def discover(self, known: frozenset[str]) -> list[Place] | NoMoreSplits:
        Topics.looks.append(known)
        Topics.look(known)
        return [(name, 0) for name in TOPICS]

    def split_id(self, split: Place) -> str:
        return split[0]

    def reader(self, context: SourceContext) -> SourceReader[Place]:
        return FetchingReader(TopicFetcher(), context, self.split_id) if self.fetches else TopicReader(context)


class TopicReader(SourceReader[Place]):
    """One record each 5 ms, of all topics in turn."""

    def __init__(self, context: SourceContext) -> None:
        self.context = context
        self.due_ms = 0.0
        self.left: list[Place] = []

    def add_splits(self, splits: list[Place]) -> None:
        self.left += splits

    def poll(self, records_max: int) -> Poll:
        if not self.left:
            return END_OF_INPUT
        now_ms = self.context.monotonic_ms()
        if now_ms < self.due_ms:
            return NotReady(self.due_ms)
        self.due_ms = now_ms + 5
        name, at = self.left.pop(0)
        if at + 1 < SIZE:
            self.left.append((name, at + 1))
        return Records([TOPICS[name][at]])

    def snapshot(self) -> list[Place]:
        return list(self.left)


class TopicFetcher(Fetcher[Place]):
    def __init__(self) -> None:
        self.left: list[Place] = []

    def add_splits(self, splits: list[Place]) -> None:
        self.left += splits

    def fetch(self) -> list[Fetched[Place]]:
        name, at = self.left.pop(0)
        stop = min(at + 3, SIZE)
        if stop < SIZE:
            self.left.append((name, stop))
        return [
            Fetched(
                split=name,
                records=TOPICS[name][at:stop],
                after=lambda count: (name, at + count),
                ended=stop == SIZE,
            )
        ]


class TopicsOfTheStart(Topics):
    """Does not look, and begins near the end of the first of its two topics."""

    discovery_interval_ms = None

    def splits(self, parallelism: int) -> list[Place]:
        return [("t0", SIZE - 2), ("t1", 0)]


def rig_of(
    source: Source[Any] | None = None, *, readers: int = 2, store: MemoryStore | None = None, **keys: str
) -> MasterRig:
    merged = SETTINGS | {key.replace("__", ".").replace("_", "-"): value for key, value in keys.items()}
    steps = (Step(MapFactory(Failing()), parallelism=readers), Step(SinkFactory(Committing()), parallelism=readers))
    rig = MasterRig(line_plan(source or Topics(), *steps, settings=merged, readers=readers), store)
    rig.master.submit()
    return rig


def stop(rig: MasterRig, wish: SavepointRequest) -> str:
    answer = Future[str]()
    rig.master.take_savepoint(wish, answer)
    assert rig.end().status is JobStatus.FINISHED
    return answer.result()


def until_committed(rig: MasterRig, numbers: list[int]) -> None:
    rig.run_until(lambda: set(COMMITTED) >= set(numbers))
    assert sorted(COMMITTED) == sorted(numbers)


def assigned(rig: MasterRig) -> list[Any]:
    """What the slots of the newest launch were told to read in addition."""
    told = [message for link in rig.links.values() for message in link.told if isinstance(message, AddSplits)]
    given = [splits for message in told for splits in message.splits.values()]
    return [split for splits in given if isinstance(splits, list) for _, split in splits]


@pytest.mark.parametrize("fetches", [False, True], ids=["at once", "fetching"])
def test_splits_that_appear_while_the_job_runs_are_read_once_and_dealt_to_all_readers(fetches: bool) -> None:
    rig = rig_of(Topics(fetches=fetches))
    until_committed(rig, everything())
    for _ in range(3):
        appear(2)
        until_committed(rig, everything())
    assert sorted(name for name, _ in assigned(rig)) == ["t1", "t2", "t3", "t4", "t5", "t6"]
    told = {link: [one for one in rig.links[link].told if isinstance(one, AddSplits)] for link in rig.links}
    assert all(told.values())


@pytest.mark.parametrize("fetches", [False, True], ids=["at once", "fetching"])
@settings(max_examples=sample_size(15), deadline=None, database=None)
@given(
    fails_at=st.sets(st.integers(1, 60), max_size=4),
    waits=st.lists(st.integers(0, 12), min_size=1, max_size=4),
)
@pytest.mark.slow
def test_through_failures_each_split_is_read_exactly_once(fetches: bool, fails_at: set[int], waits: list[int]) -> None:
    clear()
    FAIL_AT.update(fails_at)
    rig = rig_of(Topics(fetches=fetches))
    for wait in waits:
        for _ in range(wait):
            rig.clock.advance(7)
            rig.turn()
        appear()
    until_committed(rig, everything())


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 1)])
@pytest.mark.parametrize("kind", ["checkpoint", "canonical", "native", "stopped", "drained"])
def test_another_job_goes_on_at_another_parallelism(kind: str, before: int, after: int) -> None:
    rig = rig_of(readers=before)
    until_committed(rig, everything())
    appear(2)
    rig.run_until(lambda: CALLS[0] >= SIZE + 5)
    if kind in ("stopped", "drained"):
        location = stop(rig, SavepointRequest(stops=True, drains=kind == "drained"))
    else:
        answer = Future[str]()
        if kind == "checkpoint":
            rig.master.trigger_checkpoint(answer)
        else:
            rig.master.take_savepoint(SavepointRequest(format=SavepointFormat(kind)), answer)
        rig.run_until(answer.done)
        location = answer.result().replace("memory:", "/retained/")
        rig.master.cancel()
        rig.end()
    appear()
    other = rig_of(readers=after, store=MemoryStore(), execution__state_recovery__path=location)
    other.folders.update(rig.folders)
    other.folders["/retained"] = rig.store
    until_committed(other, everything())
    assert not {"t0", "t1", "t2"} & {name for name, _ in assigned(other)}


def test_a_restored_job_looks_at_once_and_for_what_its_snapshot_does_not_know() -> None:
    rig = rig_of()
    appear()
    until_committed(rig, everything())
    looks = len(Topics.looks)
    FAIL_AT.add(CALLS[0] + 1)
    appear()
    rig.run_until(lambda: rig.master.progress.attempt == 2)
    started_ms = rig.clock.monotonic_ms()
    rig.run_until(lambda: len(Topics.looks) > looks + 1)
    assert rig.clock.monotonic_ms() - started_ms < 30
    assert Topics.looks[-1] >= {"t0", "t1"}
    until_committed(rig, everything())


def test_what_looking_raises_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    answers = [OSError("the registry does not answer"), ValueError("a bug")]

    def look(_: frozenset[str]) -> None:
        if answers:
            raise answers.pop(0)

    Topics.look = look
    with caplog.at_level(logging.WARNING):
        rig = rig_of()
        appear()
        until_committed(rig, everything())
    assert "no new splits of 'Source: op0': the registry does not answer" in caplog.text
    assert "no new splits of 'Source: op0': a bug" in caplog.text
    assert rig.master.progress.restarts == 0


def test_an_error_that_looking_raises_again_and_again_is_logged_once_until_a_look_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: list[OSError | None] = [*[OSError("no answer")] * 3, None, OSError("no answer"), OSError("other")]

    def look(_: frozenset[str]) -> None:
        answer = answers.pop(0) if answers else None
        if answer is not None:
            raise answer

    Topics.look = look
    with caplog.at_level(logging.WARNING):
        rig = rig_of()
        rig.run_until(lambda: not answers)
        appear()
        until_committed(rig, everything())
    told = [line.rpartition(": ")[2] for line in caplog.messages if line.startswith("no new splits of")]
    assert told == ["no answer", "no answer", "other"]


class Nameless(Topics):
    def split_id(self, split: Place) -> str:
        raise NotImplementedError("no names")


def test_splits_without_names_fail_the_job_by_the_name_of_the_source() -> None:
    rig = rig_of(Nameless(), restart_strategy__type="none")
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "no names" in str(outcome.cause)


def test_a_look_that_never_ends_holds_up_nothing_else_and_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_of()
    looks: list[Any] = []
    monkeypatch.setattr(rig.io, "submit_waiting", lambda work, done: looks.append((work, done)))
    until_committed(rig, everything())
    FAIL_AT.add(CALLS[0] + 1)
    appear()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 5)
    FAIL_AT.clear()
    rig.end_launch(rig.launches[-1], "lost")
    rig.run_until(lambda: rig.master.progress.attempt == 2)
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 8)
    assert len(looks) == 1
    work, done = looks.pop()
    done(work())
    assert assigned(rig) == [], "it was begun for an attempt that is over"
    rig.run_until(lambda: looks)
    work, done = looks.pop()
    done(work())
    until_committed(rig, everything())
    stop(rig, SavepointRequest(stops=True))


@pytest.mark.parametrize("drains", [False, True], ids=["suspend", "drain"])
def test_a_job_that_looks_can_be_stopped(drains: bool) -> None:
    rig = rig_of()
    appear()
    rig.run_until(lambda: CALLS[0] >= 3)
    location = stop(rig, SavepointRequest(stops=True, drains=drains))
    committed = list(COMMITTED)
    assert len(set(committed)) == len(committed)
    other = rig_of(store=MemoryStore(), execution__state_recovery__path=location)
    other.folders.update(rig.folders)
    until_committed(other, everything())


def test_splits_that_ended_before_a_source_began_to_look_are_not_read_again() -> None:
    appear()
    rig = rig_of(TopicsOfTheStart(), readers=1)
    rig.run_until(lambda: CALLS[0] >= 6)
    location = stop(rig, SavepointRequest(stops=True))
    assert len(COMMITTED) < SIZE + 2
    appear()
    other = rig_of(store=MemoryStore(), execution__state_recovery__path=location)
    other.folders.update(rig.folders)
    until_committed(other, everything()[SIZE - 2 :])
    assert [name for name, _ in assigned(other)] == ["t2"]


class Endless(Topics):
    bounded = True


class Restless(Topics):
    discovery_interval_ms = 0


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Endless(), "so it never ends: set bounded = False"),
        (Restless(), "every 0 ms: its discovery_interval_ms must be"),
    ],
    ids=["bounded", "without a pause"],
)
def test_looking_that_makes_no_sense_is_refused_before_anything_runs(source: Topics, told: str) -> None:
    rig = rig_of(source)
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "source 'Source: op0'" in str(outcome.cause)
    assert told in str(outcome.cause)
    assert rig.launches == []
