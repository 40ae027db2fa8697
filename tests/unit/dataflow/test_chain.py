"""Event time in a chain: watermarks, timers a piece at a time, ticks, two inputs and side outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headgate.dataflow.channel import LocalOutput
from headgate.dataflow.output import Output
from headgate.dataflow.partition import Forward
from headgate.elements import MAX_TIMESTAMP, Batch, EndOfData, Flow, Watermark, WatermarkStatus
from headgate.operators.base import Operator
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.slot.subtask import Subtask
from headgate.runtime.slot.wiring import Wiring
from tests.unit.runtime.subtasks import Rig, barrier

IDLE = WatermarkStatus(idle=True)
ACTIVE = WatermarkStatus(idle=False)
END = Watermark(MAX_TIMESTAMP)


@dataclass
class Made:
    """Makes the operators that a test wants to keep a hand on."""

    make: Callable[[], Operator]

    def create(self) -> Operator:
        return self.make()


class Alarm(Operator):
    """Sets a timer at each record, and puts it out when the timer is due."""

    def __init__(self) -> None:
        self.due: list[int] = []

    def process(self, batch: Batch) -> Batch:
        self.due = sorted(self.due + batch.records)
        return Batch([])

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        fired = [time for time in self.due[:records_max] if time <= watermark_ms]
        del self.due[: len(fired)]
        return Batch([f"at {time}" for time in fired]) if fired else None


class Stamp(Operator):
    """Makes a watermark of each record that says so, behind it."""

    makes_watermarks = True

    def mark(self, batch: Batch) -> list[Flow]:
        out: list[Flow] = []
        for record in batch.records:
            out.append(Batch([record]))
            if isinstance(record, int):
                out.append(Watermark(record))
        return out


class Pair(Operator):
    """Tells which input a record came by."""

    def process(self, batch: Batch) -> Batch:
        return Batch([("first", record) for record in batch.records])

    def process_second(self, batch: Batch) -> Batch:
        return Batch([("second", record) for record in batch.records])


class Clockwork(Operator):
    """Puts out what it is told to, at a time."""

    def __init__(self, wake_ms: float, *pieces: list[Flow]) -> None:
        self.wake_ms = wake_ms
        self.pieces = list(pieces)

    def process(self, batch: Batch) -> Batch:
        return batch

    def tick(self, now_ms: float) -> list[Flow]:
        piece = self.pieces.pop(0)
        if not self.pieces:
            self.wake_ms = None
        return piece


class Sorter(Operator):
    """Puts out even numbers, and odd numbers beside them."""

    def process(self, batch: Batch) -> Batch:
        odd = [record for record in batch.records if record % 2]
        if odd:
            self.sides = (("odd", Batch(odd)), ("nobody reads this", Batch(odd)))
        return Batch([record for record in batch.records if not record % 2])


def tenfold(value: Any) -> Any:
    return value * 10 if isinstance(value, int) else value.upper()


# --- watermarks


def test_a_watermark_leaves_behind_the_records_before_it_and_those_of_the_timers_it_fires() -> None:
    rig = Rig(Made(Alarm), MapFactory(tenfold))
    rig.feed(0, [5, 3, 9], Watermark(5), [4], Watermark(9))
    rig.run()
    assert rig.out.told() == [["AT 3", "AT 5"], Watermark(5), ["AT 4", "AT 9"], Watermark(9)]


def test_a_watermark_leaves_only_when_event_time_of_all_channels_has_risen() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, Watermark(5))
    rig.run()
    assert rig.out.sent == []
    rig.feed(1, ["x"], Watermark(7))
    rig.run()
    assert rig.out.told() == [["x"], Watermark(5)]


def test_a_status_goes_through() -> None:
    rig = Rig()
    rig.feed(0, IDLE, ACTIVE, Watermark(1))
    rig.run()
    assert rig.out.sent == [IDLE, ACTIVE, Watermark(1)]


def test_many_timers_are_fired_in_pieces_between_which_nothing_comes_in() -> None:
    rig = Rig(Made(Alarm), batch_records=10)
    rig.feed(0, list(range(100)))
    rig.run()
    rig.feed(0, Watermark(99), barrier(1))
    assert rig.subtask.run()
    assert len(rig.out.records) == 10
    assert rig.host.snapshot_ids == []
    assert rig.run() >= 9
    assert rig.out.records == [f"at {number}" for number in range(100)]
    assert rig.out.sent[-2:] == [Watermark(99), barrier(1)]


def test_timers_wait_for_room_and_the_barrier_behind_them_does_not() -> None:
    rig = Rig(Made(Alarm), batch_records=10, room=1)
    rig.feed(0, list(range(25)), Watermark(99), barrier(1))
    rig.run()
    assert len(rig.out.records) == 10
    assert rig.host.snapshot_ids == [1]
    rig.out.room = 10
    rig.run()
    assert len(rig.out.records) == 25


def test_slow_timers_make_pieces_smaller() -> None:
    def slow(value: Any) -> Any:
        rig.host.clock.advance(5)
        return value

    rig = Rig(Made(Alarm), MapFactory(slow), batch_records=64)
    rig.feed(0, list(range(200)), Watermark(500))
    assert rig.run() > 30
    assert rig.out.records == [f"at {number}" for number in range(200)]


def test_the_end_of_the_data_fires_all_timers_before_it_is_told() -> None:
    rig = Rig(Made(Alarm), inputs=2, batch_records=10)
    rig.feed(0, list(range(30)), EndOfData())
    rig.feed(1, IDLE, EndOfData())
    rig.subtask.run()
    while not rig.out.records:
        assert rig.subtask.run()
    assert rig.host.ends == []
    rig.run()
    assert len(rig.out.records) == 30
    assert rig.out.sent[-2:] == [END, EndOfData()]
    assert rig.host.ends == [rig.subtask.id]


# --- operators that make watermarks


def test_an_operator_that_makes_watermarks_puts_them_between_the_records() -> None:
    rig = Rig(MapFactory(lambda value: value), Made(Stamp), Made(Alarm))
    rig.feed(0, [3, 5, 9])
    rig.run()
    assert rig.out.told() == [["at 3"], Watermark(3), ["at 5"], Watermark(5), ["at 9"], Watermark(9)]


def test_it_swallows_watermarks_and_statuses_from_upstream_but_that_of_the_end() -> None:
    rig = Rig(Made(Stamp))
    rig.feed(0, Watermark(50), IDLE, ACTIVE, ["a"], EndOfData())
    rig.run()
    assert rig.out.told() == [["a"], END, EndOfData()]


# --- ticks


def test_periodic_work_is_done_when_it_is_due_and_goes_through_the_rest_of_the_chain() -> None:
    clockwork = Clockwork(100.0, [Batch(["tick"]), Watermark(7)], [IDLE])
    rig = Rig(MapFactory(lambda value: value), Made(lambda: clockwork), MapFactory(tenfold))
    assert rig.subtask.next_ms() == 100.0
    assert not rig.subtask.tick(99.0)
    assert rig.subtask.tick(100.0)
    assert rig.out.told() == [["TICK"], Watermark(7)]
    assert rig.subtask.tick(100.0)
    assert rig.out.sent[-1] == IDLE
    assert not rig.subtask.tick(1000.0)
    assert rig.subtask.next_ms() is None


def test_periodic_work_waits_for_room_and_for_timers_that_are_being_fired() -> None:
    clockwork = Clockwork(0.0, [Batch(["tick"])])
    rig = Rig(Made(lambda: clockwork), Made(Alarm), batch_records=10, room=1)
    rig.feed(0, list(range(25)), Watermark(99))
    rig.run()
    assert rig.subtask.next_ms() is None
    rig.out.room = 2
    assert not rig.subtask.tick(1.0)
    rig.run()
    assert not rig.subtask.tick(1.0)


def test_after_the_end_there_is_no_periodic_work() -> None:
    rig = Rig(Made(lambda: Clockwork(100.0, [Batch(["late"])])))
    rig.feed(0, EndOfData())
    rig.run()
    assert not rig.subtask.tick(200.0)
    assert rig.subtask.next_ms() is None


# --- two inputs


def test_records_of_two_inputs_go_to_methods_of_their_own() -> None:
    rig = Rig(Made(Pair), inputs=[0, 1, 0], batch_records=2)
    rig.feed(0, ["a"])
    rig.feed(1, ["b", "c", "d"])
    rig.feed(2, ["e"])
    rig.run()
    assert sorted(rig.out.records) == [
        ("first", "a"),
        ("first", "e"),
        ("second", "b"),
        ("second", "c"),
        ("second", "d"),
    ]


def test_event_time_of_two_inputs_is_the_least_of_both() -> None:
    rig = Rig(Made(Pair), inputs=[0, 1])
    rig.feed(0, Watermark(5))
    rig.feed(1, Watermark(3), IDLE)
    rig.run()
    assert rig.out.sent == [Watermark(3), Watermark(5)]


def test_both_inputs_are_aligned_by_barriers() -> None:
    rig = Rig(Made(Pair), inputs=[0, 1])
    rig.feed(0, barrier(1), ["behind"])
    rig.feed(1, ["before"], barrier(1))
    rig.run()
    assert rig.out.told() == [[("second", "before")], barrier(1), [("first", "behind")]]


# --- side outputs


def test_side_outputs_go_to_those_who_read_them_with_all_control_elements() -> None:
    rig = Rig(Made(Sorter), tags=("odd", "other"))
    rig.feed(0, [1, 2, 3], [4], Watermark(1), barrier(1))
    rig.run()
    assert rig.out.told() == [[2], [4], Watermark(1), barrier(1)]
    assert rig.sides["odd"].told() == [[1, 3], Watermark(1), barrier(1)]
    assert rig.sides["other"].told() == [Watermark(1), barrier(1)]


class Spilling(Operator):
    """Puts out a hundredfold of each record beside it."""

    def process(self, batch: Batch) -> Batch:
        self.sides = (("spilt", Batch(batch.records * 100)),)
        return batch


def test_much_side_output_makes_pieces_smaller() -> None:
    rig = Rig(Made(Spilling), batch_records=64, tags=("spilt",))
    rig.feed(0, list(range(256)))
    assert rig.run() > 64
    assert len(rig.sides["spilt"].records) == 25_600


def test_side_output_that_nobody_reads_is_dropped() -> None:
    rig = Rig(Made(Sorter), MapFactory(tenfold))
    rig.feed(0, [1, 2, 3])
    rig.run()
    assert rig.out.told() == [[20]]


# --- from one subtask to the next


@dataclass
class Two:
    """A subtask whose output is the second channel of another."""

    first: Rig = field(default_factory=lambda: Rig(Made(Stamp)))
    second: Rig = field(default_factory=lambda: Rig(Made(Alarm), inputs=2))

    def __post_init__(self) -> None:
        output = Output([LocalOutput(self.second.inputs[1], 4)], Forward(), 100, 0)
        wiring = Wiring(self.first.inputs, [output], [0])
        old = self.first.subtask
        self.first.subtask = Subtask(old.id, old.operators, wiring, self.first.host, 100)


def test_event_time_travels_from_subtask_to_subtask() -> None:
    two = Two()
    two.second.feed(0, Watermark(8))
    two.first.feed(0, [4, 9])
    two.first.run()
    two.second.run()
    assert two.second.out.told() == [["at 4"], Watermark(4), Watermark(8)]
    two.first.feed(0, EndOfData())
    two.second.feed(0, EndOfData())
    two.first.run()
    two.second.run()
    assert two.second.out.told()[3:] == [["at 9"], Watermark(9), END, EndOfData()]
