"""Taps in a chain: all that leaves an operator is seen, however it comes to leave, and the chain is as before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headgate.dataflow.chain import Chain
from headgate.elements import Batch, EndOfData, Watermark
from headgate.operators.plain_functions import MapFactory
from headgate.types.typeinfo import Types
from tests.unit.dataflow.test_chain import Alarm, Clockwork, Made, Pair, Sorter, Stamp, tenfold
from tests.unit.operators.test_pending import Asking
from tests.unit.runtime.subtasks import Rig, operator_of, source_rig


class Seen:
    """Taps behind the operators of a subtask, and what they have seen."""

    def __init__(self, rig: Rig, *places: int) -> None:
        self.records: dict[int, list[Any]] = {at: [] for at in places}
        self.chain = rig.subtask._chain
        for at in places:
            self.chain.tap(at, lambda batch, at=at: self.records[at].extend(batch.records))  # type: ignore[misc]

    def end(self) -> None:
        for at in self.records:
            self.chain.tap(at, None)


def test_records_are_seen_behind_each_operator() -> None:
    rig = Rig(MapFactory(tenfold), MapFactory(lambda value: value + 1))
    seen = Seen(rig, 0, 1)
    rig.feed(0, [1, 2], [3])
    rig.run()
    assert seen.records == {0: [10, 20, 30], 1: [11, 21, 31]}
    assert rig.out.records == [11, 21, 31]


def test_what_timers_and_periodic_work_emit_is_seen() -> None:
    rig = Rig(Made(Alarm), Made(lambda: Clockwork(100.0, [Batch(["tick"])])), MapFactory(tenfold), batch_records=2)
    seen = Seen(rig, 0, 1, 2)
    rig.feed(0, [1, 2, 3, 4, 5], Watermark(9))
    rig.run()
    rig.subtask.tick(100.0)
    fired = [f"at {number}" for number in range(1, 6)]
    assert seen.records == {0: fired, 1: [*fired, "tick"], 2: [*(text.upper() for text in fired), "TICK"]}


def test_what_an_operator_emits_that_makes_watermarks_is_seen() -> None:
    rig = Rig(Made(Stamp), MapFactory(tenfold))
    seen = Seen(rig, 0, 1)
    rig.feed(0, [3, "a"])
    rig.run()
    assert seen.records == {0: [3, "a"], 1: [30, "A"]}
    assert rig.out.told() == [[30], Watermark(3), ["A"]]


def test_both_inputs_and_pending_inputs_are_seen() -> None:
    rig = Rig(Made(Pair), inputs=[0, 1])
    seen = Seen(rig, 0)
    rig.feed(0, ["a"])
    rig.feed(1, ["b"])
    rig.run()
    assert sorted(seen.records[0]) == [("first", "a"), ("second", "b")]
    asking = Asking(capacity=2)
    rig = Rig(Made(lambda: asking))
    seen = Seen(rig, 0)
    rig.feed(0, [1])
    rig.run()
    assert seen.records[0] == []
    asking.answer()
    rig.run()
    assert seen.records[0] == [1]


def test_what_a_source_reads_is_seen() -> None:
    rig = source_rig([1, 2, 3], batch_records=2)
    seen = Seen(rig, 0)
    rig.run()
    assert seen.records[0] == [1, 2, 3]
    assert rig.out.sent[-1] == EndOfData()


def test_side_outputs_are_not() -> None:
    rig = Rig(Made(Sorter), tags=("odd",))
    seen = Seen(rig, 0)
    rig.feed(0, [1, 2])
    rig.run()
    assert seen.records[0] == [2]
    assert rig.sides["odd"].records == [1]


def test_records_are_seen_as_the_type_has_them_that_they_leave_with() -> None:
    operator = operator_of(MapFactory(len))
    operator.context = replace(operator.context, output_type=Types.DOUBLE())
    rig = Rig()
    chain = Chain([operator], rig.wiring.outputs, rig.host.clock, 100)
    found: list[Any] = []
    chain.tap(0, lambda batch: found.extend(batch.records))
    chain.process(Batch(["ab"]))
    assert (found, type(found[0])) == ([2.0], float)
    chain.tap(0, None)
    chain.process(Batch(["abc"]))
    chain.flush()
    assert rig.out.records == [2.0, 3.0]
    assert type(rig.out.records[1]) is float
    assert len(found) == 1


def test_a_chain_is_what_it_was_once_nobody_looks() -> None:
    rig = Rig(MapFactory(tenfold), MapFactory(tenfold))
    before = list(rig.subtask._chain._types)
    seen = Seen(rig, 0, 1)
    rig.feed(0, [1])
    rig.run()
    seen.end()
    assert rig.subtask._chain._types == before == [None, None]
    rig.feed(0, [2])
    rig.run()
    assert seen.records == {0: [10], 1: [100]}
    assert rig.out.records == [100, 200]
