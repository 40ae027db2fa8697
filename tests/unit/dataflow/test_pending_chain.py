"""Chains in which operators have inputs pending: room, order, watermarks, barriers, the end of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headgate.dataflow.chain import WAITING_STATE, restored_waiting
from headgate.elements import MAX_TIMESTAMP, Barrier, Batch, EndOfData, SavepointOrder, Watermark, WatermarkStatus
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.pending import PENDING_STATE
from headgate.operators.plain_functions import FlatMapFactory, MapFactory
from headgate.runtime.slot.subtask import Subtask
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from tests.unit.dataflow.test_chain import Alarm, Made, Stamp
from tests.unit.operators.test_pending import Asking
from tests.unit.runtime.subtasks import Rig, barrier, operator_of

IDLE = WatermarkStatus(idle=True)
ACTIVE = WatermarkStatus(idle=False)
END = Watermark(MAX_TIMESTAMP)


def stopping(checkpoint_id: int) -> Barrier:
    return replace(barrier(checkpoint_id), savepoint=SavepointOrder("file:///savepoint", stops=True))


def restored(rig: Rig, *operators: Any) -> list[Any]:
    """Return operators opened with the newest snapshot of the rig's."""
    opened = []
    parts = {id(operator): part for operator, part in rig.host.snapshots[-1].parts}
    for old, new in zip(rig.subtask.operators, operators, strict=True):
        saved = SavedOperator(checkpoint_id=CheckpointId(1), lists=parts[id(old)].lists)
        harness = OperatorHarness(Made(lambda new=new: new), restored=[saved], setup=Setup())  # type: ignore[misc]
        harness.open()
        opened.append(harness.operator)
    return opened


def test_no_more_is_taken_in_than_there_is_room() -> None:
    asking = Asking(capacity=2)
    rig = Rig(MapFactory(lambda value: value * 10), Made(lambda: asking), batch_records=100)
    rig.feed(0, [1, 2, 3, 4, 5])
    rig.run()
    assert (asking.records_asked, asking.room) == ([10, 20], 0)
    asking.answer()
    rig.run()
    assert asking.records_asked == [20, 30]
    assert rig.out.records == [10]


def test_what_one_record_emits_may_overdraw_the_room_and_pieces_become_smaller() -> None:
    asking = Asking(capacity=8)
    rig = Rig(FlatMapFactory(lambda value: [value] * 10), Made(lambda: asking), batch_records=100)
    rig.feed(0, list(range(100)))
    rig.run()
    most = -asking.room
    for _ in range(300):
        asking.answer()
        rig.run()
    assert most == 72, "8 records at once, of which each became 10"
    assert -asking.room < 10, "by now one record at a time"


def test_a_barrier_passes_what_is_pending_which_is_in_the_snapshot() -> None:
    asking = Asking(capacity=2)
    rig = Rig(Made(lambda: asking))
    rig.feed(0, [1, 2], barrier(1), [3])
    rig.run()
    assert rig.host.snapshot_ids == [1]
    [(_, part)] = rig.host.snapshots[0].parts
    assert len(part.lists[PENDING_STATE].elements) == 2
    assert rig.inputs[0].batches == 1, "there is no room for more"


def test_watermarks_statuses_and_the_end_keep_their_places() -> None:
    asking = Asking(capacity=9, ordered=False)
    rig = Rig(Made(lambda: asking))
    rig.feed(0, [1, 2], Watermark(5), [3], IDLE, EndOfData())
    rig.run()
    assert rig.out.told() == []
    asking.answer(2)
    asking.answer(1)
    rig.run()
    assert rig.out.told() == [[2]]
    assert rig.host.ends == []
    asking.answer(0)
    rig.run()
    assert rig.out.told() == [[2], [1], Watermark(5), [3], IDLE, ACTIVE, END, EndOfData()]
    assert rig.host.ends == [rig.subtask.id]


def test_behind_a_barrier_that_stops_nothing_leaves() -> None:
    asking = Asking()
    rig = Rig(Made(lambda: asking))
    rig.feed(0, [1], stopping(1), EndOfData())
    rig.run()
    asking.answer()
    rig.run()
    assert rig.out.records == []
    assert rig.out.sent[-1] == EndOfData()


def test_timers_stop_without_room_and_the_rest_of_the_watermark_is_in_the_snapshot() -> None:
    asking = Asking(capacity=2)
    rig = Rig(Made(Alarm), Made(lambda: asking))
    rig.feed(0, [1, 2, 3, 4, 5], Watermark(4), barrier(1), [6])
    rig.run()
    assert asking.records_asked == ["at 1", "at 2"]
    assert rig.host.snapshot_ids == [1], "the barrier passes"
    assert rig.inputs[0].batches == 1, "no record does"
    parts = dict(rig.host.snapshots[0].parts)
    assert len(parts[rig.subtask.operators[0]].lists[WAITING_STATE].elements) == 1
    alarm = Alarm()
    alarm.due = [3, 4, 5]
    again = Asking(capacity=9)
    operators = restored(rig, alarm, again)
    assert restored_waiting(operators) == [(0, Watermark(4))]
    for _ in range(4):
        asking.answer()
        rig.run()
    assert rig.out.records == ["at 1", "at 2", "at 3", "at 4"]
    assert rig.out.sent[-1] == Watermark(4)


def test_records_that_wait_behind_a_watermark_are_in_the_snapshot() -> None:
    asking = Asking(capacity=1)
    rig = Rig(FlatMapFactory(range), Made(Stamp), Made(Alarm), Made(lambda: asking))
    rig.feed(0, [4], barrier(1))
    rig.run()
    assert asking.records_asked == ["at 0"]
    assert rig.host.snapshot_ids == [1]
    again = Asking(capacity=9)
    operators = restored(rig, operator_of(FlatMapFactory(range)), Stamp(), Alarm(), again)
    after = Rig(inputs=1)
    after.subtask = Subtask(SubtaskId(1, 0), operators, after.wiring, after.host, 100)
    after.subtask.restore(restored_waiting(operators))
    after.run()
    assert again.records_asked == ["at 0", "at 1", "at 2", "at 3"], "the first was pending, the others waited"


def test_at_another_parallelism_a_watermark_that_waited_is_left_out() -> None:
    asking = Asking(capacity=1)
    rig = Rig(Made(Alarm), Made(lambda: asking))
    rig.feed(0, [1, 2], Watermark(4), barrier(1))
    rig.run()
    part = dict(rig.host.snapshots[0].parts)[rig.subtask.operators[0]]
    saved = SavedOperator(checkpoint_id=CheckpointId(1), lists=part.lists)
    harness = OperatorHarness(Made(Alarm), restored=[saved], setup=Setup(parallelism=2))
    harness.open()
    assert restored_waiting([harness.operator]) == []


@given(
    capacities=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    count=st.integers(0, 40),
    ordered=st.booleans(),
    picks=st.randoms(use_true_random=False),
)
def test_several_in_one_chain(capacities: tuple[int, int], count: int, ordered: bool, picks: Any) -> None:
    first, second = (Asking(capacity, ordered=ordered) for capacity in capacities)
    rig = Rig(
        Made(lambda: first),
        MapFactory(lambda value: value + 1000),
        Made(lambda: second),
        batch_records=picks.randint(1, 9),
    )
    for number in range(count):
        rig.feed(0, [number])
        if number % 5 == 4:
            rig.feed(0, Watermark(number))
    rig.feed(0, EndOfData())
    while True:
        rig.run()
        assert first.room >= 0
        assert second.room >= 0
        ready = [each for each in (first, second) if each.asked]
        if not ready:
            break
        asked = picks.choice(ready)
        asked.answer(picks.randrange(len(asked.asked)))
    assert sorted(rig.out.records) == [number + 1000 for number in range(count)]
    assert rig.out.sent[-1] == EndOfData()
    seen = -1
    for element in rig.out.sent:
        if isinstance(element, Watermark) and element != END:
            assert element.timestamp_ms > seen
            seen = element.timestamp_ms
        elif isinstance(element, Batch):
            assert min(element.records) - 1000 > seen
    if ordered:
        assert rig.out.records == sorted(rig.out.records)
