"""The slot: savepoints whatever becomes of checkpoints, and attempts that start from the files of others."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.checkpoint.messages import RestoredOperator, SubtaskAcked, SubtaskDeclined
from headgate.elements import Barrier, Batch, SavepointFormat, SavepointOrder
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.graph.placement import as_programmed
from headgate.ids import CheckpointId, SubtaskId
from headgate.runtime.control.messages import CheckpointAborted, InjectBarrier, Start
from headgate.state.descriptors import ListStateDescriptor
from headgate.state.files import FileHandle, KeyedState
from headgate.types.typeinfo import Types
from tests.unit.runtime.plans import SlotRig
from tests.unit.runtime.slots import (
    A1,
    A2,
    CHECKPOINTS,
    LOG,
    Counting,
    collected,
    collecting,
    completed,
    counting,
    trigger,
)

FORMATS = list(SavepointFormat)
FILES_ONLY = {"execution.checkpointing.data-inline-threshold": "1 b"}
INCREMENTAL = {**CHECKPOINTS, **FILES_ONLY, "execution.checkpointing.incremental": "true"}
WITHOUT: dict[str, Any] = {}
IN_MEMORY = {**CHECKPOINTS, "execution.checkpointing.storage": "jobmanager"}
WITH_COPIES = {**INCREMENTAL, "execution.checkpointing.local-backup.enabled": "true"}


@pytest.fixture(autouse=True)
def _clear_log() -> None:
    LOG.clear()


def savepoint(number: int, form: SavepointFormat, location: str = "/savepoints/1") -> InjectBarrier:
    order = SavepointOrder(location, form)
    return InjectBarrier(attempt=A1, barrier=Barrier(CheckpointId(number), 0, savepoint=order))


def running(settings: dict[str, Any], records: Any = range(10), function: Any = None) -> SlotRig:
    rig = collecting(counting(function), records=records, settings={**FILES_ONLY, **settings})
    rig.run()
    rig.settle()
    return rig


def keyed_of(rig: SlotRig, number: int) -> tuple[SubtaskId, KeyedState]:
    """The counts in a snapshot that was acknowledged."""
    assert rig.all_sent(SubtaskDeclined) == []
    acked = [message for message in rig.all_sent(SubtaskAcked) if message.checkpoint_id == number]
    assert {message.subtask for message in acked} == set(as_programmed(rig.plan).subtasks())
    [(subtask, state)] = [
        (message.subtask, operator.keyed)
        for message in acked
        for operator in message.state.operators
        if operator.uid == "op1"
    ]
    assert state is not None
    return subtask, state


def paths(state: KeyedState) -> list[str]:
    return [handle.path for handle in state.handles() if isinstance(handle, FileHandle)]


def taken(settings: dict[str, Any], form: SavepointFormat) -> tuple[SlotRig, RestoredOperator, SubtaskId]:
    """A slot that has taken a savepoint, and what is restored from that."""
    rig = running(settings)
    rig.tell(savepoint(1, form))
    rig.settle()
    subtask, state = keyed_of(rig, 1)
    assert paths(state)
    return rig, RestoredOperator(keyed=(state,)), subtask


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("settings", [WITHOUT, IN_MEMORY, INCREMENTAL, WITH_COPIES], ids=str)
@pytest.mark.slow
def test_a_savepoint_is_taken_and_restored_whatever_becomes_of_checkpoints(
    settings: dict[str, Any], form: SavepointFormat, backend: str
) -> None:
    chosen = {**settings, "state.backend.type": backend}
    rig, restored, subtask = taken(chosen, form)
    again = SlotRig(collecting(counting(), records=[], settings={**FILES_ONLY, **chosen}).plan, folders=rig.folders)
    again.deploy(2, checkpoint=1, restored={subtask: {"op1": restored}}, root="/savepoints/1")
    again.tell(Start(attempt=A2))
    execution = again.slot._execution
    assert execution is not None
    execution.subtasks[subtask]._inputs[0].push(Batch([10, 11], None, [0, 1]))
    again.settle()
    again.tell(trigger(2, A2))
    again.settle()
    again.tell(completed(2, A2))
    assert collected(again) == [(0, 6), (1, 6)]


def test_savepoints_are_whole_and_the_next_checkpoint_builds_on_the_last_one_as_before() -> None:
    rig = running(INCREMENTAL)
    rig.tell(trigger(1))
    rig.settle()
    rig.tell(completed(1), savepoint(2, SavepointFormat.NATIVE))
    rig.settle()
    rig.tell(trigger(3))
    rig.settle()
    (_, first), (_, second), (_, third) = (keyed_of(rig, number) for number in (1, 2, 3))
    assert second.log == ()
    assert not any(file.startswith("shared/") for file in paths(second))
    assert rig.folders["/savepoints/1"].list_files("") == sorted(
        [*paths(second), *(file for file in rig.folders["/savepoints/1"].list_files("") if "list" in file)]
    )
    assert third.base == first.base
    assert len(third.log) == 1


def test_a_first_checkpoint_after_a_savepoint_names_no_file_of_it() -> None:
    rig, restored, subtask = taken(INCREMENTAL, SavepointFormat.NATIVE)
    again = SlotRig(collecting(counting(), records=[], settings=INCREMENTAL).plan, folders=rig.folders)
    again.deploy(1, checkpoint=1, restored={subtask: {"op1": restored}}, root="/savepoints/1")
    again.tell(Start(attempt=A1))
    again.tell(trigger(2))
    again.settle()
    _, state = keyed_of(again, 2)
    assert state.log == ()
    assert all(file.startswith("shared/2-a1-") for file in paths(state))
    assert set(paths(state)) <= set(again.store.list_files(""))


def test_an_attempt_that_starts_from_a_savepoint_takes_nothing_from_local_copies() -> None:
    rig, restored, subtask = taken(WITH_COPIES, SavepointFormat.NATIVE)
    rig.tell(trigger(2))
    rig.settle()
    rig.deploy(2, checkpoint=1, restored={subtask: {"op1": restored}}, root="/savepoints/1")
    rig.folders["/savepoints/1"].delete_folder("")
    rig.deploy(3, checkpoint=1, restored={subtask: {"op1": restored}}, root="/savepoints/1")
    (error,) = [str(message) for message in rig.sent if "is missing" in str(message)]
    assert "a1-op1-0-" in error


def test_a_savepoint_given_up_is_walked_no_further_and_the_next_one_is_taken() -> None:
    rig = running(WITHOUT)
    rig.tell(savepoint(1, SavepointFormat.CANONICAL), CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1)))
    rig.settle()
    assert rig.slot._uploads is not None
    assert not rig.slot._uploads.pending
    rig.tell(savepoint(2, SavepointFormat.CANONICAL, "/savepoints/2"))
    rig.settle()
    keyed_of(rig, 2)


def test_a_savepoint_that_cannot_be_written_is_declined_with_the_reason_and_the_job_runs_on() -> None:
    rig = running(WITHOUT)

    def broken(path: str, chunks: Any) -> Any:
        raise OSError("disk full")

    rig.folders["/savepoints/1"].write = broken  # type: ignore[method-assign]
    rig.tell(savepoint(1, SavepointFormat.CANONICAL))
    rig.settle()
    assert any("disk full" in message.reason for message in rig.all_sent(SubtaskDeclined))
    assert rig.slot._execution is not None


class Told(Counting, CheckpointedFunction, CheckpointListener):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list", Types.LONG()))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        LOG.append(f"snapshot {context.get_checkpoint_id()}")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        LOG.append(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        LOG.append(f"aborted {checkpoint_id}")


def test_in_a_job_without_checkpoints_functions_hear_of_savepoints_only() -> None:
    function: KeyedProcessFunction = Told()
    rig = running(WITHOUT, function=function)
    rig.tell(savepoint(1, SavepointFormat.NATIVE))
    rig.settle()
    rig.tell(CheckpointAborted(attempt=A1, checkpoint_id=CheckpointId(1)))
    rig.tell(savepoint(2, SavepointFormat.NATIVE, "/savepoints/2"))
    rig.settle()
    rig.tell(completed(2), trigger(3))
    rig.settle()
    rig.tell(completed(3))
    assert LOG == ["snapshot 1", "aborted 1", "snapshot 2", "complete 2"]
