"""Event time from a source in one slot through all slots of a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from headgate.checkpoint.messages import SubtaskEnded
from headgate.clock import VirtualClock
from headgate.connectors.collection import CollectionSource
from headgate.elements import MAX_TIMESTAMP, Batch, Watermark
from headgate.functions.source import Source
from headgate.functions.watermarks import WatermarkStrategy
from headgate.graph.logical import Partitioning
from headgate.ids import Attempt, SubtaskId
from headgate.operators.base import Operator
from headgate.operators.watermarks import AssignFactory
from headgate.runtime.control.messages import Start
from headgate.runtime.exchange.memory import Switchboard
from tests.unit.runtime.plans import SlotRig, Step, line_plan
from tests.unit.runtime.slots import Pausing

LOG: list[tuple[str, int, Any]] = []
"""What the operators of a test saw: their subtask, and a watermark or the records."""

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: int(value))


@pytest.fixture(autouse=True)
def _clear_log() -> None:
    LOG.clear()


class Watching(Operator):
    """Notes what comes by."""

    def process(self, batch: Batch) -> Batch:
        LOG.append((self.context.uid, self.context.subtask, list(batch.records)))
        return batch

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        LOG.append((self.context.uid, self.context.subtask, Watermark(watermark_ms)))
        return None


@dataclass(frozen=True)
class WatchingFactory:
    """Makes an operator that notes what comes by."""

    def create(self) -> Watching:
        return Watching()


def seen(uid: str, subtask: int) -> list[Any]:
    return [what for by, index, what in LOG if (by, index) == (uid, subtask)]


def rigs(source: Source[Any], slots: int = 2) -> list[SlotRig]:
    """The slots of a job: a source of 1 subtask, watermarks, a watch chained to them, and a keyed watch in each."""
    keyed = Step(WatchingFactory(), Partitioning.KEY_GROUP, lambda value: value, parallelism=slots)
    plan = line_plan(source, AssignFactory(STRATEGY), WatchingFactory(), keyed)
    switchboard: Switchboard = {}
    clock = VirtualClock(1000.0)
    made = [SlotRig(plan, index, switchboard, clock) for index in range(slots)]
    for rig in made:
        rig.deploy()
    for rig in made:
        rig.tell(Start(attempt=Attempt(1)))
    settle(made)
    return made


def settle(slots: list[SlotRig]) -> None:
    for _ in range(3):
        for rig in slots:
            rig.settle()


def test_the_end_of_a_bounded_source_ends_event_time_everywhere_before_the_subtasks_end() -> None:
    slots = rigs(CollectionSource(list(range(100))))
    assert seen("op2", 0)[-1] == Watermark(MAX_TIMESTAMP)
    got = [record for index in range(2) for what in seen("op3", index)[:-1] for record in what]
    assert sorted(got) == list(range(100))
    assert [seen("op3", index)[-1] for index in range(2)] == [Watermark(MAX_TIMESTAMP)] * 2
    ends = [end.subtask for rig in slots for end in rig.all_sent(SubtaskEnded)]
    assert sorted(ends) == [SubtaskId(0, 0), SubtaskId(1, 0), SubtaskId(1, 1)]


def test_a_slot_wakes_for_the_periodic_watermark_which_reaches_all_slots() -> None:
    slots = rigs(Pausing(at_once=3))
    assert slots[0].step() == 1050.0  # the source has more then
    slots[0].clock.advance(200)
    settle(slots)
    for index in range(2):
        assert Watermark(1199) in seen("op3", index)


def test_a_slot_with_nothing_else_to_do_sleeps_until_the_watermark_is_due() -> None:
    slot = rigs(Pausing(at_once=1), slots=1)[0]
    slot.clock.advance(160)
    slot.settle()
    assert slot.step() == 1200.0
