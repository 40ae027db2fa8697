"""The slot: checkpoints, and work that is done on an I/O thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.checkpoint.messages import (
    RestoredOperator,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
)
from headgate.elements import Barrier, Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.graph.placement import as_programmed
from headgate.ids import CheckpointId
from headgate.operators.sink import SinkFactory
from headgate.runtime.control.messages import (
    CheckpointAborted,
    InjectBarrier,
    SlotTornDown,
    Start,
    TaskFailed,
    TearDown,
)
from tests.unit.runtime.plans import SlotRig, line_plan
from tests.unit.runtime.slots import (
    A1,
    A2,
    CHECKPOINTS,
    LOG,
    Counting,
    checkpointed,
    collected,
    completed,
    counting,
    trigger,
)


@pytest.fixture(autouse=True)
def _clear_log() -> None:
    LOG.clear()


# --- checkpoints


def test_every_subtask_acknowledges_a_checkpoint_when_its_state_is_stored() -> None:
    rig = checkpointed(counting())
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    acked = {message.subtask: message.state for message in rig.all_sent(SubtaskAcked)}
    assert acked.keys() == set(as_programmed(rig.plan).subtasks())
    uids = [[operator.uid for operator in state.operators] for state in acked.values()]
    assert sorted(uid for each in uids for uid in each) == ["op0", "op1", "op2"]


def test_an_attempt_goes_on_from_the_state_that_another_acknowledged() -> None:
    rig = checkpointed(counting(), records=range(10))
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    states = {
        (message.subtask, operator.uid): operator
        for message in rig.all_sent(SubtaskAcked)
        for operator in message.state.operators
    }
    (subtask,) = [subtask for subtask, uid in states if uid == "op1"]
    again = checkpointed(counting(), records=[])
    keyed = states[subtask, "op1"].keyed
    assert keyed is not None
    restored = {subtask: {"op1": RestoredOperator(keyed=(keyed,))}}
    again.deploy(2, checkpoint=1, restored=restored)
    again.tell(Start(attempt=A2))
    execution = again.slot._execution
    assert execution is not None
    execution.subtasks[subtask]._inputs[0].push(Batch([10, 11], None, [0, 1]))
    again.settle()
    again.tell(trigger(2, A2))
    again.settle()
    again.tell(completed(2, A2))
    assert collected(again) == [(0, 6), (1, 6)]


class Stubborn:
    def __reduce__(self) -> Any:
        raise TypeError("stubborn")


def test_state_that_cannot_be_pickled_declines_the_checkpoint_naming_it_and_runs_on() -> None:
    class Keeping(Counting):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            self.count.update(Stubborn())
            return [value]

    rig = checkpointed(counting(Keeping()))
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    (declined,) = rig.all_sent(SubtaskDeclined)
    assert "state 'count' of key" in declined.reason
    rig.tell(trigger(2))
    rig.settle()
    assert [message.checkpoint_id for message in rig.all_sent(SubtaskDeclined)] == [1, 2]
    assert rig.all_sent(TaskFailed) == []


def test_a_checkpoint_given_up_is_walked_no_further() -> None:
    rig = checkpointed(counting())
    rig.run()
    rig.settle()
    rig.tell(trigger(1), CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1)))
    rig.settle()
    assert rig.slot._uploads is not None
    assert not rig.slot._uploads.pending
    rig.tell(trigger(2))
    rig.settle()
    second = {message.subtask for message in rig.all_sent(SubtaskAcked) if message.checkpoint_id == 2}
    assert second == set(as_programmed(rig.plan).subtasks())


def test_writing_that_fails_declines_the_checkpoint() -> None:
    rig = checkpointed(counting(), records=range(100))
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    for index, (_, done) in enumerate(rig.io.held):
        rig.io.held[index] = (fail_with(OSError("disk full")), done)
    rig.settle()
    assert any("disk full" in message.reason for message in rig.all_sent(SubtaskDeclined))


def fail_with(error: Exception) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


# --- what is done on an I/O thread


class Shelf(Sink[str]):
    def writer(self, context: SinkContext) -> SinkWriter[str]:
        return ShelfWriter()

    def committer(self, context: SinkContext) -> Committer[str]:
        return ShelfCommitter()


class ShelfWriter(SinkWriter[str]):
    def write(self, records: list[Any]) -> None:
        pass

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[str]:
        return [f"of {checkpoint_id}"]


class ShelfCommitter(Committer[str]):
    def commit(self, committables: list[str]) -> None:
        LOG.append(f"committed {committables}")

    def recover(self, restored: list[str]) -> None:
        pass


def committing() -> SlotRig:
    """A slot whose sink has a commit under way."""
    rig = SlotRig(line_plan([1], SinkFactory(Shelf()), settings=CHECKPOINTS))
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    rig.tell(completed(1))
    return rig


def test_a_commit_is_reported_when_it_is_done() -> None:
    rig = committing()
    assert rig.all_sent(SubtaskCommitted) == []
    rig.io.run()
    assert [message.checkpoint_id for message in rig.all_sent(SubtaskCommitted)] == [1]


@pytest.mark.parametrize(
    "message",
    [
        InjectBarrier(attempt=A1, barrier=Barrier(CheckpointId(2), 0), completed=CheckpointId(1)),
        CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(2), completed=CheckpointId(1)),
    ],
)
def test_a_completion_that_was_lost_is_heard_of_with_the_next_message(
    message: InjectBarrier | CheckpointAborted,
) -> None:
    rig = checkpointed()
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    rig.tell(message)
    rig.settle()
    assert collected(rig) == [1, 2, 3]
    rig.tell(completed(1))
    rig.settle()
    assert collected(rig) == [1, 2, 3]


def test_a_slot_is_torn_down_only_when_no_commit_of_it_is_under_way() -> None:
    rig = committing()
    rig.tell(TearDown(attempt=A1))
    assert rig.all_sent(SlotTornDown) == []
    rig.io.run()
    assert LOG == ["committed ['of 1']"]
    assert [message.attempt for message in rig.all_sent(SlotTornDown)] == [1]
    assert rig.all_sent(SubtaskCommitted) == []


def test_a_commit_that_fails_fails_the_attempt() -> None:
    rig = committing()
    rig.io.held[0] = (fail_with(OSError("target gone")), rig.io.held[0][1])
    rig.io.run()
    (message,) = rig.all_sent(TaskFailed)
    assert "target gone" in str(message.failure)


def test_results_of_an_attempt_that_is_over_are_dropped() -> None:
    rig = checkpointed(counting())
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    while rig.step() == rig.clock.monotonic_ms():
        pass
    assert rig.io.held
    rig.deploy(2)
    rig.sent.clear()
    rig.io.run()
    assert rig.all_sent(SubtaskAcked) == []
