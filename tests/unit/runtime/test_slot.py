"""The slot: attempts follow each other cleanly, and whatever goes wrong becomes a message that says where."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headgate.checkpoint.handles import FileHandle, OperatorState
from headgate.checkpoint.messages import (
    RestoredOperator,
    SubtaskAcked,
    SubtaskCommitted,
    SubtaskDeclined,
    SubtaskEnded,
)
from headgate.elements import Batch
from headgate.errors import DamagedFileError, SerializationError
from headgate.functions.api import KeyedProcessFunction, MapFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.functions.source import NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.graph.logical import Partitioning
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.keyed_process import KeyedProcessFactory
from headgate.operators.map import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.runtime.messages import (
    CheckpointAborted,
    CheckpointCompleted,
    Collected,
    Progress,
    Shutdown,
    SlotReady,
    SlotTornDown,
    Start,
    TaskFailed,
    TearDown,
    Trigger,
    UserFailure,
)
from headgate.runtime.slot import ROUNDS_PER_STEP
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.runtime.plans import SlotRig, Step, deploy_of, line_plan

A1, A2 = Attempt(1), Attempt(2)
CHECKPOINTS = {"execution.checkpointing.interval": "1 h"}
LOG: list[str] = []
"""What functions of this module note; a module is pickled by reference, so it is the test's own list."""


@pytest.fixture(autouse=True)
def _clear_log() -> None:
    LOG.clear()


def collecting(*steps: Any, records: Any = (1, 2, 3), settings: dict[str, Any] | None = None) -> SlotRig:
    return SlotRig(line_plan(records, *steps, CollectFactory(), settings=settings))


def checkpointed(*steps: Any, records: Any = (1, 2, 3)) -> SlotRig:
    return collecting(*steps, records=records, settings=CHECKPOINTS)


def collected(rig: SlotRig) -> list[Any]:
    return [record for message in rig.all_sent(Collected) for record in pickle.loads(message.records)]  # noqa: S301


def trigger(number: int, attempt: Attempt = A1) -> Trigger:
    return Trigger(attempt=attempt, checkpoint_id=CheckpointId(number), trigger_ms=0)


def completed(number: int, attempt: Attempt = A1) -> CheckpointCompleted:
    return CheckpointCompleted(attempt=attempt, checkpoint_id=CheckpointId(number))


def user_failure(rig: SlotRig) -> UserFailure:
    (message,) = rig.all_sent(TaskFailed)
    assert isinstance(message.failure, UserFailure)
    return message.failure


# --- the life of an attempt


def test_a_slot_is_ready_when_its_subtasks_are_built_and_runs_nothing_before_the_start() -> None:
    rig = collecting()
    rig.deploy()
    assert rig.sent == [SlotReady(slot=rig.slot.index, attempt=A1)]
    rig.settle()
    assert collected(rig) == []
    rig.tell(Start(attempt=A1))
    rig.settle()
    assert collected(rig) == [1, 2, 3]
    assert {message.subtask for message in rig.all_sent(SubtaskEnded)} == set(rig.plan.subtasks())


def test_an_older_or_repeated_deploy_is_dropped() -> None:
    rig = collecting()
    rig.deploy(2)
    rig.deploy(2)
    rig.deploy(1)
    assert rig.sent == [SlotReady(slot=rig.slot.index, attempt=A2)]


@pytest.mark.parametrize("message", [Start(attempt=A1), trigger(1), completed(1)])
def test_messages_of_an_older_attempt_are_dropped(message: Any) -> None:
    rig = collecting()
    rig.deploy(1)
    rig.deploy(2)
    rig.sent.clear()
    rig.tell(message)
    rig.settle()
    assert rig.sent == []


def test_a_tear_down_is_always_answered() -> None:
    rig = collecting()
    rig.tell(TearDown(attempt=A1))
    rig.run(2)
    rig.tell(TearDown(attempt=A1))
    rig.tell(TearDown(attempt=A2))
    rig.tell(TearDown(attempt=A2))
    assert [message.attempt for message in rig.all_sent(SlotTornDown)] == [1, 1, 2, 2]


def test_a_tear_down_while_state_is_read_ends_the_attempt_before_it_begins() -> None:
    rig = collecting()
    rig.tell(deploy_of(rig.plan, 1))
    rig.tell(TearDown(attempt=A1))
    rig.io.run()
    assert rig.sent == [SlotTornDown(slot=rig.slot.index, attempt=A1)]


def test_after_a_tear_down_nothing_runs_any_more() -> None:
    rig = collecting(records=range(100_000))
    rig.run()
    rig.tell(TearDown(attempt=A1))
    before = len(rig.sent)
    assert rig.step() is None
    assert len(rig.sent) == before


def test_a_shutdown_closes_functions_and_ends_the_slot() -> None:
    rig = collecting(MapFactory(Closing()))
    rig.run()
    rig.tell(Shutdown())
    assert rig.slot.closed
    assert LOG == ["closed"]


class Closing(MapFunction):
    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        LOG.append("closed")


class Counter(MapFunction):
    """Keeps state of its own, as it should not."""

    def __init__(self) -> None:
        self.count = 0

    def map(self, value: Any) -> Any:
        self.count += 1
        return self.count


def test_each_attempt_begins_with_functions_as_the_program_made_them() -> None:
    rig = collecting(MapFactory(Counter()))
    for attempt in (1, 2):
        rig.run(attempt)
        rig.settle()
        rig.tell(TearDown(attempt=Attempt(attempt)))
    assert collected(rig) == [1, 2, 3, 1, 2, 3]


def test_one_function_object_used_twice_is_two_objects_in_the_job() -> None:
    counter = Counter()
    rig = collecting(MapFactory(counter), MapFactory(counter))
    rig.run()
    rig.settle()
    assert collected(rig) == [1, 2, 3]


# --- failures


def test_an_exception_of_user_code_names_operator_record_and_the_users_frames_only() -> None:
    rig = collecting(MapFactory(lambda n: 6 // (n - 2)))
    rig.run()
    rig.settle()
    failure = user_failure(rig)
    assert (failure.operator, failure.record) == ("op1", "2")
    assert "ZeroDivisionError" in failure.error
    assert "6 // (n - 2)" in failure.traceback
    assert "headgate/operators" not in failure.traceback


def test_after_a_failure_no_subtask_of_the_slot_runs_on() -> None:
    rig = collecting(MapFactory(lambda n: 6 // (n - 2)), records=range(100_000))
    rig.run()
    assert rig.step() is None
    assert len(rig.all_sent(TaskFailed)) == 1


def test_a_function_that_cannot_be_opened_fails_its_attempt_and_is_closed() -> None:
    class Broken(Closing):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise OSError("no such database")

    rig = collecting(MapFactory(Broken()))
    rig.deploy()
    failure = user_failure(rig)
    assert failure.operator == "op1"
    assert "no such database (in open())" in failure.error
    assert rig.all_sent(TaskFailed)[0].retriable
    rig.tell(TearDown(attempt=A1))
    assert rig.all_sent(SlotTornDown)


def test_a_function_that_cannot_be_made_fails_its_attempt() -> None:
    class Hollow:
        def create(self) -> Any:
            raise RuntimeError("nothing here")

    rig = collecting(Hollow())
    rig.deploy()
    assert "nothing here" in user_failure(rig).error


def test_state_that_is_missing_or_damaged_fails_the_job_and_not_only_the_attempt() -> None:
    rig = checkpointed(counting())
    state = OperatorState(uid="op1", keyed=FileHandle("chk-7/gone", 10, 1), key_groups=(0, 127))
    rig.deploy(checkpoint=7, restored={SubtaskId(1, 0): {"op1": RestoredOperator(keyed=(state,))}})
    (message,) = rig.all_sent(TaskFailed)
    assert not message.retriable
    assert DamagedFileError.__name__ in user_failure(rig).error
    assert "chk-7/gone" in user_failure(rig).error


def test_a_state_declared_twice_fails_the_job_and_not_only_the_attempt() -> None:
    class Twofold(Counting):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            runtime_context.get_state(ValueStateDescriptor("count", Types.STRING()))

    rig = checkpointed(counting(Twofold()))
    rig.deploy()
    (message,) = rig.all_sent(TaskFailed)
    assert not message.retriable
    assert "'count' is declared twice" in user_failure(rig).error


def test_a_lost_peer_fails_the_attempt() -> None:
    rig = collecting()
    rig.slot.exchange_broken("nobody there")
    rig.run()
    rig.slot.exchange_broken("slot 1 is gone")
    assert [message.failure for message in rig.all_sent(TaskFailed)] == ["slot 1 is gone"]


def test_an_error_while_a_source_takes_its_snapshot_names_its_operator() -> None:
    rig = checkpointed(MapFactory(lambda n: n), records=FailingSnapshot())
    rig.run()
    rig.tell(trigger(1))
    failure = user_failure(rig)
    assert failure.operator == "Source: op0"
    assert "no position" in failure.error


def test_an_output_that_refuses_a_record_in_a_flush_fails_the_subtask_and_not_the_slot() -> None:
    rig = collecting(Step(MapFactory(lambda n: n), Partitioning.REBALANCE))
    rig.deploy()
    source = rig.slot._execution.sources[0] if rig.slot._execution else None
    assert source is not None
    source.outputs[0]._channels[0] = Refusing()
    rig.tell(Start(attempt=A1))
    rig.settle()
    failure = user_failure(rig)
    assert failure.operator == "Source: op0"
    assert "cannot be sent" in failure.error


class Refusing:
    writable = True

    def send(self, element: Any) -> None:
        if isinstance(element, Batch):
            raise SerializationError("a record cannot be sent")


# --- checkpoints


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def counting(function: KeyedProcessFunction | None = None) -> Step:
    return Step(KeyedProcessFactory(function or Counting()), Partitioning.KEY_GROUP, lambda n: n % 2)


def test_every_subtask_acknowledges_a_checkpoint_when_its_state_is_stored() -> None:
    rig = checkpointed(counting())
    rig.run()
    rig.settle()
    rig.tell(trigger(1))
    rig.settle()
    acked = {message.subtask: message.state for message in rig.all_sent(SubtaskAcked)}
    assert acked.keys() == set(rig.plan.subtasks())
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
    restored = {subtask: {"op1": RestoredOperator(keyed=(states[subtask, "op1"],))}}
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
    assert second == set(rig.plan.subtasks())


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


# --- what is done beside the loop


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


# --- time


class Pausing(Source[int]):
    """Some records, one at a poll, then a pause of 50 ms, and so on for ever."""

    bounded = False

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return PausingReader(context, self.at_once)


class PausingReader(SourceReader[int]):
    def __init__(self, context: SourceContext, at_once: int) -> None:
        self.context = context
        self.at_once = at_once
        self.count = 0
        self.due_ms = 0.0

    def add_splits(self, splits: list[int]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        now_ms = self.context.monotonic_ms()
        if now_ms < self.due_ms:
            return NotReady(self.due_ms)
        self.count += 1
        if self.count % self.at_once == 0:
            self.due_ms = now_ms + 50
        self.context.count("polled")
        return Records([now_ms])

    def snapshot(self) -> list[int]:
        return [0]


class FailingSnapshot(Pausing):
    def reader(self, context: SourceContext) -> SourceReader[int]:
        return FailingReader(context, self.at_once)


class FailingReader(PausingReader):
    def snapshot(self) -> list[int]:
        raise ValueError("no position")


def test_a_slot_sleeps_until_its_source_has_more() -> None:
    rig = collecting(records=Pausing())
    rig.run()
    rig.settle()
    assert rig.step() == rig.clock.monotonic_ms() + 50
    rig.clock.advance(50)
    rig.settle()
    assert collected(rig) == [1000.0, 1050.0]


@pytest.mark.parametrize("timeout_ms", [0, 1, 5, 100])
def test_a_record_never_waits_in_an_idle_slot(timeout_ms: int) -> None:
    """Also when its buffer timeout passes in the very step in which the slot runs out of work."""
    rig = collecting(
        Step(MapFactory(lambda n: n), Partitioning.REBALANCE),
        records=Pausing(ROUNDS_PER_STEP),
        settings={"execution.buffer-timeout.interval": f"{timeout_ms} ms"},
    )
    rig.run()
    rig.clock.advance(7)
    assert rig.step() == rig.clock.monotonic_ms()
    rig.settle()
    assert collected(rig)[0] == 1000.0
    assert len(collected(rig)) == ROUNDS_PER_STEP


def test_counters_and_records_are_reported_each_second_and_at_the_end() -> None:
    rig = collecting(records=Pausing())
    rig.run()
    rig.settle()
    rig.sent.clear()
    for _ in range(30):
        rig.clock.advance(50)
        rig.settle()
    (progress,) = rig.all_sent(Progress)
    assert progress.counters == {"polled": 21}
    assert progress.records_in[SubtaskId(0, 0)] == 21


def test_the_last_counts_are_sent_before_the_job_can_end() -> None:
    rig = collecting(records=[1, 2, 3])
    rig.run()
    rig.settle()
    last = rig.all_sent(Progress)[-1]
    assert last.records_in[SubtaskId(0, 0)] == 3
