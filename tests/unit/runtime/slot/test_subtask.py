"""Subtasks: alignment, credit, pieces of a batch, and the end of the data."""

from __future__ import annotations

import pytest

from headgate.elements import MAX_TIMESTAMP, CancelBarrier, EndOfData, Watermark
from headgate.errors import InternalError
from headgate.functions.checkpointed import CheckpointListener
from headgate.ids import CheckpointId
from headgate.operators.plain_functions import FlatMapFactory, MapFactory
from tests.unit.runtime.subtasks import Rig, barrier, source_rig

END = EndOfData()
ENDED = (Watermark(MAX_TIMESTAMP), END)

# --- alignment


def test_a_channel_waits_after_its_barrier_until_all_have_delivered_it() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, ["a1"], barrier(1), ["a2"])
    rig.feed(1, ["b1"])
    rig.run()
    assert sorted(rig.out.records) == ["a1", "b1"]
    rig.feed(1, ["b2"], barrier(1), ["b3"])
    rig.run()
    told = rig.out.told()
    assert sorted(told[: told.index(barrier(1))]) == [["a1"], ["b1"], ["b2"]]
    assert sorted(told[told.index(barrier(1)) + 1 :]) == [["a2"], ["b3"]]
    assert rig.host.snapshot_ids == [1]


def test_the_barrier_leaves_before_any_record_behind_it_and_after_all_before_it() -> None:
    rig = Rig()
    rig.feed(0, ["before"], barrier(1), ["behind"])
    rig.run()
    assert rig.out.told() == [["before"], barrier(1), ["behind"]]


def test_it_is_told_how_many_records_are_before_the_newest_barrier() -> None:
    rig = Rig(inputs=3, batch_records=2, room=1)
    assert waiting_before_barrier(rig) is None
    rig.feed(0, ["a1", "a2", "a3"], barrier(1), ["behind"])
    rig.feed(1, ["b1"], barrier(1))
    assert waiting_before_barrier(rig) == 4
    rig.subtask.run()
    assert rig.out.records == ["a1", "a2"]
    assert waiting_before_barrier(rig) == 2  # one of them is the rest of the batch at work
    rig.out.room = 10
    rig.run()
    assert waiting_before_barrier(rig) is None
    rig.feed(2, ["c1"], barrier(1))
    assert waiting_before_barrier(rig) == 1
    rig.run()
    assert rig.host.snapshot_ids == [1]
    assert waiting_before_barrier(rig) is None


def waiting_before_barrier(rig: Rig) -> int | None:
    wait = rig.subtask.metrics(1000.0, ()).barrier
    return None if wait is None else wait.waiting


def test_a_cancel_unblocks_the_channels_and_goes_on_downstream() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, barrier(1), ["a"])
    rig.feed(1, CancelBarrier(CheckpointId(1)), ["b"])
    rig.run()
    assert sorted(rig.out.records) == ["a", "b"]
    assert CancelBarrier(CheckpointId(1)) in rig.out.sent
    assert rig.host.snapshots == []


def test_an_abort_of_the_master_unblocks_the_channels() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, barrier(1), ["a"])
    rig.run()
    assert rig.out.records == []
    rig.subtask.abort(CheckpointId(1))
    rig.run()
    assert rig.out.records == ["a"]


def test_a_checkpoint_that_is_over_is_waited_for_no_more_and_nobody_is_told_again() -> None:
    function = Listening()
    rig = Rig(MapFactory(function), inputs=2)
    rig.feed(0, barrier(1), ["a"])
    rig.run()
    rig.subtask.give_up(CheckpointId(1))
    rig.run()
    assert rig.out.records == ["a"]
    assert function.heard == []


class Listening(CheckpointListener):
    """A callable that notes what becomes of checkpoints."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    def __call__(self, value: object) -> object:
        return value

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.heard.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.heard.append(("aborted", checkpoint_id))


def test_every_function_of_a_chain_hears_what_becomes_of_checkpoints() -> None:
    functions = Listening(), Listening()
    rig = Rig(*map(MapFactory, functions))
    rig.subtask.abort(CheckpointId(1))
    rig.subtask.notify_completed(CheckpointId(2))
    assert [function.heard for function in functions] == [[("aborted", 1), ("complete", 2)]] * 2


def test_a_later_barrier_declines_the_checkpoint_that_waits() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, barrier(1), barrier(2))
    rig.feed(1, barrier(2))
    rig.run()
    assert [checkpoint_id for checkpoint_id, _ in rig.host.declines] == [1]
    assert rig.host.snapshot_ids == [2]


def test_the_time_that_channels_waited_is_measured() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, barrier(1))
    rig.run()
    rig.host.clock.advance(30)
    rig.feed(1, barrier(1))
    rig.run()
    assert rig.host.snapshots[0].alignment_ms == 30


def test_inputs_are_served_in_turn() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, ["a1"], ["a2"], ["a3"])
    rig.feed(1, ["b1"], ["b2"])
    rig.run()
    assert rig.out.records == ["a1", "b1", "a2", "b2", "a3"]


# --- credit and pieces


def test_without_room_downstream_no_records_are_taken() -> None:
    rig = Rig(room=1)
    rig.feed(0, ["a"], ["b"])
    rig.run()
    assert rig.out.records == ["a"]
    assert len(rig.inputs[0].queue) == 1
    rig.out.room = 2
    rig.run()
    assert rig.out.records == ["a", "b"]


def test_a_barrier_needs_no_room() -> None:
    rig = Rig(room=0)
    rig.feed(0, barrier(1))
    rig.run()
    assert rig.out.sent == [barrier(1)]


def test_what_one_record_puts_out_may_overdraw_the_credit() -> None:
    rig = Rig(FlatMapFactory(lambda n: range(n)), room=1, batch_records=10)
    rig.feed(0, [1000], ["never reached"])
    rig.run()
    assert rig.out.records == list(range(1000))


def test_a_large_batch_is_worked_off_in_pieces_between_which_the_loop_goes_on() -> None:
    rig = Rig(batch_records=10)
    rig.feed(0, list(range(95)), barrier(1))
    assert rig.subtask.run()
    assert rig.out.records == list(range(10))
    assert rig.run() > 5
    assert rig.out.records == list(range(95))
    assert rig.out.sent[-1] == barrier(1)
    assert rig.subtask.records_in == 95


def test_the_rest_of_a_batch_waits_for_room_and_the_barrier_behind_it_too() -> None:
    rig = Rig(batch_records=10, room=1)
    rig.feed(0, list(range(25)), barrier(1))
    rig.run()
    assert rig.out.told() == [list(range(10))]
    rig.out.room = 10
    rig.run()
    assert rig.out.records == list(range(25))
    assert rig.out.sent[-1] == barrier(1)


def test_slow_user_code_makes_pieces_smaller() -> None:
    def slow(value: int) -> int:
        rig.host.clock.advance(5)
        return value

    rig = Rig(MapFactory(slow), batch_records=64)
    rig.feed(0, list(range(200)))
    assert rig.run() > 30
    assert rig.out.records == list(range(200))


# --- the end


def test_the_end_of_the_data_is_told_once_when_all_inputs_have_ended() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, ["a"], END)
    rig.run()
    assert rig.host.ends == []
    rig.feed(1, ["b"], END)
    rig.run()
    assert rig.out.told() == [["a"], ["b"], *ENDED]
    assert rig.host.ends == [rig.subtask.id]


def test_after_the_end_barriers_are_still_aligned_and_passed_on() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, END, barrier(1))
    rig.feed(1, END)
    rig.run()
    assert rig.host.snapshots == []
    rig.feed(1, barrier(1))
    rig.run()
    assert rig.out.told() == [*ENDED, barrier(1)]
    assert rig.host.snapshot_ids == [1]


def test_an_input_that_ended_still_blocks_after_its_barrier() -> None:
    rig = Rig(inputs=2)
    rig.feed(0, END, barrier(1))
    rig.feed(1, ["before"], barrier(1), ["behind"], END)
    rig.run()
    assert rig.out.told() == [["before"], barrier(1), ["behind"], *ENDED]


# --- sources


def test_a_source_puts_its_barrier_between_the_records_polled_before_and_after() -> None:
    rig = source_rig(["a", "b", "c"], batch_records=2)
    rig.subtask.run()
    rig.subtask.trigger(barrier(1))
    rig.run()
    assert rig.out.told() == [["a", "b"], barrier(1), ["c"], *ENDED]
    assert rig.host.ends == [rig.subtask.id]


def test_a_source_at_its_end_still_answers_triggers() -> None:
    rig = source_rig([])
    rig.run()
    rig.subtask.trigger(barrier(1))
    assert rig.out.told() == [*ENDED, barrier(1)]
    assert not rig.subtask.run()


def test_a_repeated_trigger_takes_no_second_snapshot() -> None:
    rig = source_rig(["a"])
    rig.subtask.trigger(barrier(1))
    rig.subtask.trigger(barrier(1))
    assert rig.host.snapshot_ids == [1]


def test_only_sources_are_triggered() -> None:
    with pytest.raises(InternalError, match="is no source"):
        Rig().subtask.trigger(barrier(1))
