"""Unaligned snapshots of one subtask: what is in flight, when they are taken, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.clock import VirtualClock
from headgate.elements import Barrier, Batch, CancelBarrier, SavepointOrder, Watermark
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.watermarks import WatermarkStrategy
from headgate.ids import CheckpointId
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.operators.plain_functions import MapFactory
from headgate.operators.watermarks import AssignFactory
from headgate.runtime.slot_storage.upload import TakenSnapshot
from tests.unit.runtime.subtasks import overtaking_rig, source_rig


def overtaking(number: int, after_ms: int = 0) -> Barrier:
    return Barrier(CheckpointId(number), trigger_ms=0, unaligned_after_ms=after_ms)


def in_flight(snapshot: TakenSnapshot) -> dict[str, list[list[Any]]]:
    """Records by side of a channel, batch by batch."""
    assert snapshot.in_flight is not None
    parts = snapshot.in_flight.parts
    return {side.name: [Batch.decode(payload).records for payload in payloads] for side, payloads in parts.items()}


def test_what_is_queued_before_the_barrier_and_what_comes_before_it_is_in_flight_and_processed_all_the_same() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1))
    rig.feed(0, [1], [2], overtaking(1), [3])
    rig.feed(1, [4])
    assert rig.subtask.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is not None
    assert not snapshot.in_flight.ended
    assert rig.out.told() == [overtaking(1)]
    rig.feed(1, [5], overtaking(1), [6])
    rig.run()
    assert snapshot.in_flight.ended
    assert in_flight(snapshot) == {"in0": [[1], [2]], "in1": [[4], [5]]}
    assert sorted(rig.out.records) == [1, 2, 3, 4, 5, 6]


def test_batches_that_came_as_bytes_are_in_flight_as_they_came() -> None:
    rig = overtaking_rig(overtakable=(0,))
    payload = memoryview(Batch([1], [7], ["k"]).encode())
    rig.feed(0, payload, overtaking(1))
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is not None
    assert list(snapshot.in_flight.parts.values()) == [[payload]]
    assert snapshot.in_flight.size_bytes == len(payload)
    assert rig.out.records == [1]


def test_the_rest_of_the_batch_at_work_is_in_flight_first() -> None:
    rig = overtaking_rig(overtakable=(0,), batch_records=2)
    rig.feed(0, [1, 2, 3, 4, 5], [6])
    rig.subtask.run()
    assert rig.out.records == [1, 2]
    rig.feed(0, overtaking(1))
    rig.run()
    assert in_flight(rig.host.snapshots[0])["in0"] == [[3, 4, 5], [6]]
    assert rig.out.records == [1, 2, 3, 4, 5, 6]


def test_the_snapshot_is_taken_although_the_output_has_no_room() -> None:
    rig = overtaking_rig(overtakable=(0,), room=0)
    rig.feed(0, [1], overtaking(1))
    assert rig.subtask.run()
    assert rig.host.snapshot_ids == [1]
    assert rig.subtask.metrics(1000.0, ()).barrier is None  # it has overtaken what it would wait for
    assert not rig.subtask.run()


def test_what_was_put_out_and_has_not_left_is_in_flight_on_the_way_to_the_next_operator() -> None:
    rig = overtaking_rig(overtakable=(0,))
    rig.feed(0, [1])
    rig.run()
    rig.feed(0, overtaking(1))
    rig.run()
    assert rig.out.told() == [overtaking(1), [1]]
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is not None
    ((side, _),) = snapshot.in_flight.parts.items()
    assert (side.address.uid, side.address.source_uid, side.sequence) == ("next", "it", 1)
    assert in_flight(snapshot) == {"out100": [[1]]}


class FiringTimers(KeyedProcessFunction):
    """Registers five timers for each record, and emits their times."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        for time_ms in range(5):
            ctx.timer_service().register_event_time_timer(time_ms)
        return []

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield timestamp


def test_a_burst_of_timers_is_interrupted_and_goes_on() -> None:
    rig = overtaking_rig(KeyedProcessFactory(FiringTimers()), overtakable=(0,), batch_records=1, room=1)
    rig.feed(0, Batch([1], None, [1]), Watermark(10))
    rig.run()
    assert len(rig.out.records) == 1
    rig.feed(0, overtaking(1))
    assert rig.subtask.run()
    assert rig.host.snapshot_ids == [1]
    rig.out.room = 10**9
    rig.run()
    assert rig.out.records == [0, 1, 2, 3, 4]


def test_a_burst_of_timers_before_an_operator_that_makes_watermarks_is_interrupted_too() -> None:
    makes_watermarks = AssignFactory(WatermarkStrategy.for_monotonous_timestamps())
    timers = KeyedProcessFactory(FiringTimers())
    rig = overtaking_rig(timers, makes_watermarks, overtakable=(0,), batch_records=1, room=1)
    rig.feed(0, Batch([1], None, [1]), Watermark(10))
    rig.run()
    rig.feed(0, overtaking(1))
    rig.run()
    assert rig.host.snapshot_ids == [1]
    rig.out.room = 10**9
    rig.run()
    assert rig.out.records == [0, 1, 2, 3, 4]


def test_channels_in_order_are_waited_for_and_block_meanwhile() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0,))
    rig.feed(0, [1], overtaking(1), [2])
    rig.feed(1, [3])
    rig.run()
    assert rig.host.snapshots == []
    assert sorted(rig.out.records) == [1, 3]
    rig.feed(0, [4])
    rig.feed(1, overtaking(1))
    rig.run()
    assert in_flight(rig.host.snapshots[0]) == {"out100": [[1], [3]]}
    assert sorted(rig.out.records) == [1, 2, 3, 4]


def test_an_aligned_barrier_becomes_unaligned_when_its_time_has_come() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1), room=0)
    rig.feed(0, overtaking(1, after_ms=50))
    rig.feed(1, [1], overtaking(1, after_ms=50))
    rig.run()
    assert rig.host.snapshots == []
    assert rig.subtask.next_ms() == 50
    rig.host.clock.advance(50)
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert in_flight(snapshot) == {"in1": [[1]]}
    assert snapshot.alignment_ms == 50
    assert rig.subtask.next_ms() is None


def test_an_aligned_barrier_that_is_in_time_has_nothing_in_flight() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1))
    rig.feed(0, [1], overtaking(1, after_ms=50))
    rig.feed(1, [2], overtaking(1, after_ms=50))
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is None
    assert rig.out.told()[-1] == overtaking(1, after_ms=50)


def test_alignment_is_measured_from_the_first_barrier_to_the_last_and_the_delay_from_the_trigger() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1))
    rig.host.clock.advance(30)
    rig.feed(0, overtaking(1))
    rig.run()
    payload = memoryview(Batch([1]).encode())
    rig.feed(1, payload)
    rig.run()
    rig.host.clock.advance(20)
    rig.feed(1, overtaking(1))
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert (snapshot.start_delay_ms, snapshot.alignment_ms) == (30, 20)
    assert snapshot.processed_bytes == len(payload)


@pytest.mark.parametrize("how", ["newer", "cancelled", "aborted"])
def test_a_recording_is_dropped_when_its_checkpoint_is_given_up(how: str) -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1))
    rig.feed(0, [1], overtaking(1))
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is not None
    match how:
        case "newer":
            rig.feed(0, overtaking(2))
        case "cancelled":
            rig.feed(1, CancelBarrier(CheckpointId(1)))
        case "aborted":
            rig.subtask.abort(CheckpointId(1))
    rig.feed(1, [2], *([] if how == "cancelled" else [overtaking(1)]))
    rig.run()
    assert snapshot.in_flight.dropped
    assert snapshot.in_flight.parts == {}
    assert [id_ for id_, _ in rig.host.declines] == ([1] if how == "newer" else [])


def test_a_savepoint_is_aligned_between_checkpoints_that_are_not() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1))
    savepoint = Barrier(CheckpointId(2), 0, savepoint=SavepointOrder("a place"))
    for passed in (overtaking(1), savepoint, overtaking(3)):
        for channel in (0, 1):
            rig.feed(channel, [1], passed)
        rig.run()
    assert rig.host.snapshot_ids == [1, 2, 3]
    assert [snapshot.in_flight is None for snapshot in rig.host.snapshots] == [False, True, False]


class Slow:
    """Takes its time to be pickled."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock

    def __reduce__(self) -> Any:
        self.clock.advance(7)
        return str, ("slow",)


def test_the_time_in_which_the_loop_stops_for_what_waits_is_part_of_the_snapshot() -> None:
    rig = overtaking_rig(overtakable=(0,), inputs=1)
    rig.feed(0, [Slow(rig.host.clock)], overtaking(1))
    assert rig.subtask.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.sync_ms == 7
    assert snapshot.async_since_ms == rig.host.clock.monotonic_ms()


class Stubborn:
    def __reduce__(self) -> Any:
        raise TypeError("stubborn")


def test_a_record_that_cannot_be_pickled_fails_the_gathering_and_nothing_else() -> None:
    rig = overtaking_rig(MapFactory(lambda value: "out"), overtakable=(0,))
    rig.feed(0, [Stubborn()], overtaking(1))
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is not None
    assert "cannot be pickled: stubborn" in (snapshot.in_flight.failure or "")
    assert rig.out.records == ["out"]


def test_more_in_flight_than_allowed_fails_the_gathering_and_lets_go_of_it() -> None:
    rig = overtaking_rig(inputs=2, overtakable=(0, 1), in_flight_bytes_max=100)
    rig.feed(0, overtaking(1))
    rig.feed(1, ["x" * 200])
    rig.run()
    (snapshot,) = rig.host.snapshots
    assert snapshot.in_flight is not None
    assert "headgate.checkpoint.max-in-flight-size" in (snapshot.in_flight.failure or "")
    assert snapshot.in_flight.parts == {}


# --- what emits nothing


def test_a_source_puts_out_nothing_behind_the_barrier_of_a_savepoint_that_stops() -> None:
    rig = source_rig([1, 2, 3], batch_records=1)
    rig.subtask.run()
    stopping = Barrier(CheckpointId(1), 0, savepoint=SavepointOrder("a place", stops=True))
    rig.subtask.trigger(stopping)
    assert rig.run() == 0
    assert rig.out.told() == [[1], stopping]
    assert rig.subtask.next_ms() is None


def test_a_source_that_is_stopped_puts_out_nothing_at_all() -> None:
    rig = source_rig([1, 2, 3])
    rig.subtask.stop()
    assert rig.run() == 0
    assert rig.out.sent == []
