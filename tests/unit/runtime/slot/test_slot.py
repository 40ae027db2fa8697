"""The slot: attempts follow each other cleanly, and whatever goes wrong becomes a message that says where."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.messages import RestoredOperator, SubtaskEnded, SubtaskRecovered
from headgate.elements import Batch
from headgate.errors import DamagedFileError, SerializationError
from headgate.functions.api import MapFunction
from headgate.functions.context import RuntimeContext
from headgate.graph.logical import Partitioning
from headgate.graph.placement import as_programmed
from headgate.ids import Attempt, SubtaskId
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.messages import (
    Progress,
    Shutdown,
    SlotReady,
    SlotTornDown,
    Start,
    TaskFailed,
    TearDown,
)
from headgate.runtime.slot.slot import ROUNDS_PER_STEP
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.files import FileHandle, InlineHandle, KeyedState, StateFile
from headgate.types.typeinfo import Types
from tests.unit.runtime.plans import Step, deploy_of
from tests.unit.runtime.slots import (
    A1,
    A2,
    LOG,
    Counting,
    FailingSnapshot,
    Pausing,
    checkpointed,
    collected,
    collecting,
    completed,
    counting,
    trigger,
    user_failure,
)


@pytest.fixture(autouse=True)
def _clear_log() -> None:
    LOG.clear()


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
    assert {message.subtask for message in rig.all_sent(SubtaskEnded)} == set(as_programmed(rig.plan).subtasks())


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


class FailingToClose(MapFunction):
    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        raise OSError("the disk is full")


def test_a_function_that_fails_to_close_is_named_in_the_log_and_hinders_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = collecting(MapFactory(FailingToClose()), MapFactory(Closing()))
    rig.run()
    rig.tell(Shutdown())
    assert LOG == ["closed"]
    [told] = [record for record in caplog.records if "failed to close" in record.message]
    assert told.levelname == "ERROR"
    assert "the disk is full" in caplog.text


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
    file = StateFile("keyed", FileHandle("chk-7/gone", 10, 1))
    state = KeyedState(key_groups=(0, 127), kind="entries", base=(file,))
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
    source.outputs[0]._channels = [Refusing()]
    rig.tell(Start(attempt=A1))
    rig.settle()
    failure = user_failure(rig)
    assert failure.operator == "Source: op0"
    assert "cannot be sent" in failure.error


class Refusing:
    writable = True
    records_max = 100
    sent_bytes = 0

    def send(self, element: Any) -> None:
        if isinstance(element, Batch):
            raise SerializationError("a record cannot be sent")

    def overtake(self, barrier: Any) -> list[Any]:
        return []


# --- time


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
        settings={
            "execution.buffer-timeout.interval": f"{timeout_ms} ms",
            "taskmanager.network.memory.buffer-debloat.enabled": "false",  # else the records are a full batch
        },
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


# --- data in flight


def flight(uid: str, source_uid: str, *records: Any) -> InFlightState:
    handle = InlineHandle(pickle.dumps([Batch(list(records)).encode()]))
    return InFlightState(uid=uid, input_index=0, source_uid=source_uid, source=0, target=0, sequence=0, handle=handle)


def test_of_what_was_in_flight_to_operators_that_are_one_chain_now_the_furthest_comes_first() -> None:
    def add(mark: str) -> MapFactory:
        return MapFactory(lambda record: f"{record}{mark}")

    rig = collecting(add("+1"), add("+2"))
    older, newer = flight("op2", "op1", "older+1"), flight("op1", "op0", "newer")
    rig.deploy(checkpoint=1, in_flight={SubtaskId(0, 0): (newer, older)})
    rig.tell(Start(attempt=A1))
    rig.settle()
    assert collected(rig) == ["older+1+2", "newer+1+2"]
    assert rig.all_sent(SubtaskRecovered) == [SubtaskRecovered(attempt=A1, subtask=SubtaskId(0, 0))]
