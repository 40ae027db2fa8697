"""A source in a slot: it sleeps until there is something to read, and wakes when there is."""

from __future__ import annotations

import math
import pickle
from typing import Any, ClassVar

import pytest

from headgate.checkpoint.messages import SubtaskAcked
from headgate.checkpoint.restore.splits import KNOWN_STATE, SPLITS_STATE
from headgate.errors import SourceError
from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.source import SourceOperator
from headgate.runtime.control.messages import AddSplits, CheckpointAborted, Start, TaskFailed
from headgate.state.files import InlineHandle
from headgate.state.operator.list_elements import ListElements
from tests.unit.runtime.plans import HeldIo, SlotRig, line_plan
from tests.unit.runtime.slots import A1, CHECKPOINTS, completed, trigger, user_failure

SOURCE = SubtaskId(0, 0)
Counted = tuple[str, int]
"""A split: its name, and how many of its records are read."""


class Outside:
    """What a job of this module reads from; it is found by reference, as sources travel pickled."""

    records: ClassVar[dict[str, list[str]]] = {}
    polls = 0
    notes: ClassVar[list[list[Counted]]] = []
    error: Exception | None = None


class Topics(Source[Counted]):
    """Reads what is outside, by fetches or at each poll, and looks for topics."""

    bounded = False
    discovery_interval_ms = 1_000

    def __init__(self, *, fetches: bool) -> None:
        self.fetches = fetches

    def splits(self, parallelism: int) -> list[Counted]:
        return [("a", 0)]

    def split_id(self, split: Counted) -> str:
        return split[0]

    def reader(self, context: SourceContext) -> SourceReader[Counted]:
        return FetchingReader(TopicFetcher(), context, self.split_id) if self.fetches else TopicReader()


class TopicFetcher(Fetcher[Counted]):
    def __init__(self) -> None:
        self.at: dict[str, int] = {}

    def add_splits(self, splits: list[Counted]) -> None:
        self.at.update(splits)

    def fetch(self) -> list[Fetched[Counted]]:
        Outside.polls += 1
        if Outside.error is not None:
            raise Outside.error
        found = {name: Outside.records.get(name, [])[start:] for name, start in self.at.items()}
        starts = dict(self.at)
        self.at = {name: starts[name] + len(records) for name, records in found.items()}
        return [self._fetched(name, starts[name], records) for name, records in found.items() if records]

    def _fetched(self, name: str, start: int, records: list[str]) -> Fetched[Counted]:
        return Fetched(split=name, records=records, after=lambda count: (name, start + count))

    def notify_completed(self, splits: list[Counted]) -> None:
        Outside.notes.append(splits)


class TopicReader(SourceReader[Counted]):
    def __init__(self) -> None:
        self.at: dict[str, int] = {}

    def add_splits(self, splits: list[Counted]) -> None:
        self.at.update(splits)

    def poll(self, records_max: int) -> Poll:
        Outside.polls += 1
        for name, start in self.at.items():
            records = Outside.records.get(name, [])[start : start + records_max]
            if records:
                self.at[name] += len(records)
                return Records(records)
        return END_OF_INPUT

    def snapshot(self) -> list[Counted]:
        return list(self.at.items())

    def notify_completed(self, splits: list[Counted]) -> None:
        Outside.notes.append(splits)


@pytest.fixture(autouse=True)
def outside() -> None:
    Outside.records, Outside.polls, Outside.notes, Outside.error = {"a": ["a0", "a1"]}, 0, [], None


def rig_of(*, fetches: bool) -> SlotRig:
    rig = SlotRig(line_plan(Topics(fetches=fetches), CollectFactory(), settings=CHECKPOINTS))
    rig.run()
    return rig


def add(rig: SlotRig, *splits: Counted) -> None:
    rig.tell(AddSplits(attempt=A1, splits={SOURCE: list(enumerate(splits))}))


def read(rig: SlotRig) -> int:
    assert rig.slot._execution is not None
    return rig.slot._execution.subtasks[SOURCE].records_in


def is_asleep(rig: SlotRig) -> bool:
    """Whether the slot wants to be left alone for now."""
    return rig.step() != rig.clock.monotonic_ms()


def state(rig: SlotRig, name: str) -> list[Any]:
    """The elements of a list state of the source in the last snapshot."""
    acked = [message for message in rig.all_sent(SubtaskAcked) if message.subtask == SOURCE]
    own = next(operator for operator in acked[-1].state.operators if operator.uid == "op0")
    handle = own.lists[name].handle
    assert isinstance(handle, InlineHandle)
    return ListElements(elements=pickle.loads(handle.data)).values("splits", {})  # noqa: S301  # of this test


def test_between_the_end_of_all_splits_and_new_ones_it_is_not_polled() -> None:
    rig = rig_of(fetches=False)
    rig.settle()
    polls = Outside.polls
    assert all(is_asleep(rig) for _ in range(5))
    assert Outside.polls == polls
    Outside.records["b"] = ["b0"]
    add(rig, ("b", 0))
    rig.settle()
    assert read(rig) == 3


def test_while_a_fetch_lasts_the_loop_sleeps_and_its_end_wakes_it() -> None:
    rig = rig_of(fetches=True)
    assert is_asleep(rig)
    assert all(is_asleep(rig) for _ in range(5))
    assert len(rig.io.held) == 1
    rig.io.run_one()
    assert read(rig) == 0
    while not is_asleep(rig):
        pass
    assert read(rig) == 2
    assert len(rig.io.held) == 1, "the next fetch"


class Asking(Source[int]):
    """Asks on an I/O thread, and has the answer before it has said that it waits for it."""

    bounded = False

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return AskingReader(context)


class AskingReader(SourceReader[int]):
    def __init__(self, context: SourceContext) -> None:
        self.context = context
        self.answers: list[Any] = []
        self.has_asked = False

    def add_splits(self, splits: list[int]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        if self.answers:
            return Records([self.answers.pop()])
        if not self.has_asked:
            self.has_asked = True
            self.context.submit(lambda: 42, self.answers.append)
        return NotReady(math.inf)

    def snapshot(self) -> list[int]:
        return [0]


def test_work_that_ends_while_the_reader_is_polled_wakes_it_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeldIo, "submit_waiting", lambda self, work, done: done(work()))
    rig = SlotRig(line_plan(Asking(), CollectFactory(), settings=CHECKPOINTS))
    rig.deploy()
    rig.slot.receive(Start(attempt=A1))
    while not is_asleep(rig):
        pass
    assert read(rig) == 1


def test_splits_that_come_behind_the_trigger_are_behind_the_barrier() -> None:
    rig = rig_of(fetches=False)
    rig.settle()
    rig.slot.receive(trigger(1))
    rig.slot.receive(AddSplits(attempt=A1, splits={SOURCE: [(1, ("b", 0))]}))
    rig.settle()
    assert (state(rig, SPLITS_STATE), state(rig, KNOWN_STATE)) == ([("a", 2)], ["a"])
    rig.tell(trigger(2))
    rig.settle()
    assert (state(rig, SPLITS_STATE), state(rig, KNOWN_STATE)) == ([("a", 2), ("b", 0)], ["a", "b"])


def test_a_reader_learns_of_the_positions_of_the_newest_complete_checkpoint_and_of_no_other() -> None:
    rig = rig_of(fetches=False)
    rig.settle()
    for number in (1, 2, 3):
        rig.tell(trigger(number))
        rig.settle()
        Outside.records["a"].append(f"a{number + 1}")
        rig.tell(AddSplits(attempt=A1, splits={SOURCE: []}))
        rig.settle()
    rig.tell(CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1), completed=None))
    rig.tell(completed(2))
    rig.tell(completed(2))
    assert Outside.notes == [[("a", 3)]]
    assert rig.slot._execution is not None
    operator = rig.slot._execution.subtasks[SOURCE].operators[0]
    assert isinstance(operator, SourceOperator)
    assert set(operator._positions) == {3}


def test_what_a_fetch_raises_fails_the_source_by_name() -> None:
    Outside.error = SourceError("broker b1 does not answer")
    rig = rig_of(fetches=True)
    rig.step()
    rig.io.run_one()
    rig.step()
    assert len(rig.all_sent(TaskFailed)) == 1
    assert "broker b1 does not answer" in user_failure(rig).error
