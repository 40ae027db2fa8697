"""The slot: checkpoints with data in flight, from the barrier to the restore, at any parallelism."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint.handles import InFlightState, SubtaskState
from headgate.checkpoint.messages import RestoredOperator, SubtaskAcked, SubtaskDeclined, SubtaskRecovered
from headgate.elements import Barrier, Batch
from headgate.errors import StorageError
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import Partitioning
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.messages import CheckpointAborted, InjectBarrier, Start, TaskFailed
from headgate.runtime.exchange.memory import Switchboard
from headgate.state.files import InlineHandle
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types import typed_batches
from headgate.types.keys import hash_code
from tests.compiled import compiled_module
from tests.unit.runtime.plans import SlotRig, Step, line_plan
from tests.unit.runtime.slots import A1, A2, CHECKPOINTS, collected, completed, counting

UNALIGNED = {**CHECKPOINTS, "execution.checkpointing.unaligned.enabled": "true"}
COUNT = SubtaskId(1, 0)
MAP = MapFactory(lambda value: value)


def counting_rig(**settings: str) -> SlotRig:
    """A slot that counts by key, of a source without records."""
    return SlotRig(line_plan([], counting(), Step(CollectFactory()), settings={**UNALIGNED, **settings}))


def push(rig: SlotRig, *batches: Batch | memoryview, to: SubtaskId = COUNT) -> None:
    """Have batches wait in the first channel of a subtask."""
    assert rig.slot._execution is not None
    channel = rig.slot._execution.subtasks[to]._inputs[0]
    for batch in batches:
        if isinstance(batch, Batch):
            channel.push(batch)
        else:
            channel.push_bytes(batch, len(Batch.decode(batch)))


def keyed(*numbers: int) -> Batch:
    return Batch(list(numbers), None, [number % 2 for number in numbers])


def unaligned(number: int) -> InjectBarrier:
    return InjectBarrier(attempt=A1, barrier=Barrier(CheckpointId(number), 0, unaligned_after_ms=0))


def started(rig: SlotRig) -> SlotRig:
    rig.run()
    rig.settle()
    return rig


def state_of(rig: SlotRig, subtask: SubtaskId, number: int = 1) -> SubtaskState:
    (state,) = [
        message.state
        for message in rig.all_sent(SubtaskAcked)
        if message.subtask == subtask and message.checkpoint_id == number
    ]
    return state


def records_of(part: InFlightState) -> list[Any]:
    assert isinstance(part.handle, InlineHandle)
    return [record for payload in pickle.loads(part.handle.data) for record in Batch.decode(payload).records]  # noqa: S301


def part_of(*batches: Batch, uid: str = "op1", target: int = 0, keyed: bool = True) -> InFlightState:
    return InFlightState(
        uid=uid,
        input_index=0,
        source_uid="op0",
        source=0,
        target=target,
        sequence=0,
        handle=InlineHandle(pickle.dumps([batch.encode() for batch in batches], 5)),
        keyed=keyed,
    )


def deployed(rig: SlotRig, parts: Iterable[InFlightState], to: SubtaskId, **rest: Any) -> SlotRig:
    """Have attempt 2 of the slot begin with data in flight."""
    rig.deploy(2, checkpoint=1, in_flight={to: tuple(parts)}, **rest)
    rig.tell(Start(attempt=A2))
    rig.settle()
    return rig


def committed(rig: SlotRig) -> list[Any]:
    """What the slot collects by checkpoint 2."""
    rig.tell(InjectBarrier(attempt=A2, barrier=Barrier(CheckpointId(2), 0)))
    rig.settle()
    rig.tell(completed(2, A2))
    return collected(rig)


def two_slots(plan: JobGraph) -> list[SlotRig]:
    switchboard: Switchboard = {}
    return [SlotRig(plan, index=index, switchboard=switchboard) for index in range(2)]


# --- the snapshot


def test_overtaken_batches_are_acknowledged_with_the_subtask_and_what_they_cost() -> None:
    rig = started(counting_rig())
    push(rig, keyed(1, 2), keyed(3))
    rig.tell(unaligned(1))
    rig.settle()
    state = state_of(rig, COUNT)
    (part,) = state.in_flight
    assert (part.uid, part.input_index, part.source_uid, part.source, part.target) == ("op1", 0, "op0", 0, 0)
    assert (part.keyed, part.sequence) == (True, 0)
    assert records_of(part) == [1, 2, 3]
    assert state.unaligned
    assert 0 < state.persisted_bytes < state.size_bytes
    assert state_of(rig, SubtaskId(0, 0)).in_flight == ()


def test_data_in_flight_above_the_threshold_is_a_file_of_the_subtask() -> None:
    rig = started(counting_rig(**{"execution.checkpointing.data-inline-threshold": "0 b"}))
    push(rig, keyed(1))
    rig.tell(unaligned(1))
    rig.settle()
    assert [path for path in rig.store.list_files("") if "flight" in path] == ["chk-1/a1-op1-0-flight-in0"]


def test_storage_that_fails_for_data_in_flight_declines_the_checkpoint_and_the_next_one_is_taken() -> None:
    rig = started(counting_rig(**{"execution.checkpointing.data-inline-threshold": "0 b"}))
    write = rig.store.write

    def broken(path: str, chunks: Any) -> Any:
        if "flight" in path:
            raise StorageError("disk full")
        return write(path, chunks)

    rig.store.write = broken  # type: ignore[method-assign]
    push(rig, keyed(1))
    rig.tell(unaligned(1))
    rig.settle()
    (declined,) = rig.all_sent(SubtaskDeclined)
    assert (declined.subtask, declined.reason) == (COUNT, "data in flight could not be stored: disk full")
    rig.store.write = write  # type: ignore[method-assign]
    push(rig, keyed(3))
    rig.tell(CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1)), unaligned(2))
    rig.settle()
    assert records_of_file(rig, state_of(rig, COUNT, 2)) == [3]
    rig.tell(completed(2))
    assert collected(rig) == [(1, 1)]
    assert rig.all_sent(TaskFailed) == []


def records_of_file(rig: SlotRig, state: SubtaskState) -> list[Any]:
    (part,) = state.in_flight
    assert not isinstance(part.handle, InlineHandle)
    payloads = pickle.loads(rig.store.read(part.handle.path) or b"")  # noqa: S301
    return [record for payload in payloads for record in Batch.decode(payload).records]


class Stubborn:
    def __reduce__(self) -> Any:
        raise TypeError("stubborn")


LOCAL = Batch([defaultdict(lambda: 0)], None, [0])
"""A record that goes by value to another slot, but must not be stored so."""


@pytest.mark.parametrize(
    ("batch", "settings", "reason"),
    [
        (Batch([Stubborn()], None, [0]), {}, "a record that a barrier has overtaken cannot be pickled"),
        (memoryview(LOCAL.encode_to_send()), {}, "a record that a barrier has overtaken cannot be pickled"),
        (keyed(1), {"headgate.checkpoint.max-in-flight-size": "1 b"}, "more than 1 bytes are in flight"),
    ],
)
def test_what_cannot_be_kept_in_flight_declines_the_checkpoint_and_is_processed(
    batch: Batch | memoryview, settings: dict[str, str], reason: str
) -> None:
    rig = started(counting_rig(**settings))
    push(rig, batch)
    rig.tell(unaligned(1))
    rig.settle()
    (declined,) = rig.all_sent(SubtaskDeclined)
    assert declined.reason.startswith(reason)
    rig.tell(CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1)), unaligned(2))
    rig.settle()
    rig.tell(completed(2))
    assert len(collected(rig)) == 1


def test_a_checkpoint_that_is_aborted_acknowledges_nothing_of_what_is_still_to_be_written() -> None:
    rig = started(counting_rig())
    push(rig, keyed(1))
    rig.tell(unaligned(1))
    rig.step()
    rig.tell(CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1)))
    rig.settle()
    assert [message.subtask for message in rig.all_sent(SubtaskAcked)] == []


def typed(batch: Batch) -> bytes:
    """Return a batch as a slot with the compiled module sends it."""
    codec = typed_batches.codec(compiled_module())
    assert codec is not None
    payload = batch.encode_to_send(codec.encode)
    assert typed_batches.is_typed(payload)
    return payload


def test_batches_are_kept_in_the_form_in_which_they_have_arrived() -> None:
    rig = started(counting_rig())
    push(rig, keyed(1, 2), memoryview(typed(keyed(3))))
    rig.tell(unaligned(1))
    rig.settle()
    (acked,) = [message for message in rig.all_sent(SubtaskAcked) if message.subtask == COUNT]
    (part,) = acked.state.in_flight
    assert part.typed
    assert isinstance(part.handle, InlineHandle)
    payloads = pickle.loads(part.handle.data)  # noqa: S301
    assert [typed_batches.is_typed(payload) for payload in payloads] == [False, True]
    assert [record for payload in payloads for record in Batch.decode(payload).records] == [1, 2, 3]


# --- the restore


def test_typed_batches_are_restored_without_the_compiled_module() -> None:
    parts = [replace(part_of(), handle=InlineHandle(pickle.dumps([typed(keyed(1, 2, 3))])), typed=True)]
    rig = deployed(counting_rig(**{"headgate.native": "off"}), parts, COUNT)
    assert committed(rig) == [(1, 1), (0, 1), (1, 2)]


def test_a_damaged_batch_fails_the_restore_and_names_the_operator() -> None:
    damaged = typed(keyed(1, 2, 3))[:-1]
    parts = [replace(part_of(), handle=InlineHandle(pickle.dumps([damaged])), typed=True)]
    rig = counting_rig()
    deployed(rig, parts, COUNT)
    (failed,) = rig.all_sent(TaskFailed)
    assert "data in flight to operator 'op1' cannot be read: an encoded batch is damaged" in str(failed.failure)


def test_what_was_in_flight_is_processed_first_and_told_of() -> None:
    parts = [part_of(keyed(1, 2), keyed(3)), part_of(keyed(5))]
    rig = deployed(counting_rig(), parts, COUNT)
    assert [message.subtask for message in rig.all_sent(SubtaskRecovered)] == [COUNT]
    assert committed(rig) == [(1, 1), (0, 1), (1, 2), (1, 3)]


def test_what_is_restored_comes_before_what_arrives() -> None:
    rig = counting_rig()
    rig.deploy(2, checkpoint=1, in_flight={COUNT: (part_of(keyed(1)),)})
    push(rig, keyed(2))
    rig.tell(Start(attempt=A2))
    rig.settle()
    assert committed(rig) == [(1, 1), (0, 1)]


def test_a_state_and_its_data_in_flight_go_on_together() -> None:
    rig = started(counting_rig())
    push(rig, keyed(1, 3))
    rig.settle()
    push(rig, keyed(5), keyed(7))
    rig.tell(unaligned(1))
    rig.settle()
    state = state_of(rig, COUNT)
    own = state.operators[-1] if state.operators[-1].uid == "op1" else state.operators[0]
    assert own.keyed is not None
    again = deployed(
        counting_rig(), state.in_flight, COUNT, restored={COUNT: {"op1": RestoredOperator(keyed=(own.keyed,))}}
    )
    assert committed(again) == [(1, 3), (1, 4)]


@pytest.mark.parametrize("with_keys", [True, False])
def test_at_another_parallelism_each_subtask_processes_the_records_of_its_own_key_groups(with_keys: bool) -> None:
    numbers = list(range(40))
    step = Step(MAP, Partitioning.KEY_GROUP, lambda number: number, parallelism=2)
    part = part_of(Batch(numbers, [n * 10 for n in numbers], numbers if with_keys else None), keyed=with_keys)
    plan = line_plan([], step, Step(CollectFactory(), parallelism=2), settings=UNALIGNED)
    for index, rig in enumerate(two_slots(plan)):
        deployed(rig, [part], SubtaskId(1, index))
        assert len(rig.all_sent(SubtaskRecovered)) == 1
        assert rig.slot._execution is not None
        own = [n for n in numbers if subtask_of_group(key_group(hash_code(n), 128), 2, 128) == index]
        assert 0 < len(own) < len(numbers)
        assert rig.slot._execution.subtasks[SubtaskId(1, index)].records_in == len(own)


def test_an_operator_that_is_chained_now_processes_its_part_in_the_middle_of_the_chain() -> None:
    plan = line_plan(
        [], MapFactory(lambda n: n + 1000), MapFactory(lambda n: n + 1), CollectFactory(), settings=UNALIGNED
    )
    assert len(plan.vertices) == 1
    part = part_of(Batch([1, 2]), uid="op2", keyed=False)
    rig = deployed(SlotRig(plan), [part], SubtaskId(0, 0))
    assert committed(rig) == [2, 3]


def test_no_timer_fires_and_no_barrier_is_taken_before_all_that_was_in_flight_is_processed() -> None:
    rig = counting_rig(**{"headgate.batch.records": "1"})
    rig.deploy(2, checkpoint=1, in_flight={COUNT: (part_of(keyed(*range(100))),)})
    rig.tell(Start(attempt=A2), InjectBarrier(attempt=A2, barrier=Barrier(CheckpointId(2), 0, unaligned_after_ms=0)))
    rig.settle()
    acked_at = [at for at, each in enumerate(rig.sent) if isinstance(each, SubtaskAcked) and each.subtask == COUNT]
    recovered_at = next(at for at, each in enumerate(rig.sent) if isinstance(each, SubtaskRecovered))
    assert acked_at[0] > recovered_at
    assert state_of(rig, COUNT, 2).in_flight == ()


# --- other modes


def test_at_least_once_a_record_behind_the_barrier_of_one_channel_is_in_the_snapshot() -> None:
    settings = {**CHECKPOINTS, "execution.checkpointing.mode": "AT_LEAST_ONCE"}
    step = Step(MAP, Partitioning.REBALANCE)
    plan = line_plan([], Step(MAP, parallelism=2), step, CollectFactory(), settings=settings)
    rig, _ = two_slots(plan)
    rig.run()
    assert rig.slot._execution is not None
    target = next(each for each in rig.slot._execution.subtasks.values() if len(each._inputs) == 2)
    target._inputs[0].push(Barrier(CheckpointId(1), 0))
    target._inputs[0].push(Batch([1]))
    rig.settle()
    assert target.records_in == 1
    target._inputs[1].push(Barrier(CheckpointId(1), 0))
    rig.settle()
    assert [message.subtask for message in rig.all_sent(SubtaskAcked)] == [target.id]


def test_an_attempt_that_only_finishes_puts_out_nothing() -> None:
    rig = SlotRig(line_plan([1, 2, 3], CollectFactory(), settings=CHECKPOINTS))
    rig.deploy(2, checkpoint=1, finishing=True)
    rig.tell(Start(attempt=A2))
    rig.settle()
    assert rig.slot._execution is not None
    assert [each.records_in for each in rig.slot._execution.subtasks.values()] == [0]
