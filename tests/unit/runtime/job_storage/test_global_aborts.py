"""What was prepared for a commit of all subtasks, and will never be committed: the driver says so, once."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from headgate.checkpoint.handles import ListStateHandle, OperatorState, SubtaskState
from headgate.checkpoint.messages import SubtaskAcked
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.sink import COMMITTABLES_STATE
from headgate.runtime.job_storage.sink_commits import PreparedCommittables
from headgate.runtime.master.requests import SavepointRequest
from headgate.state.files import InlineHandle
from headgate.state.operator.list_elements import ListMode
from tests.unit.runtime.job_storage.test_global_commits import COUNT, Appending, Table, rig_of
from tests.unit.runtime.master.test_job_master import CALLS, FAIL_AT

ABORTED: list[tuple[int, list[int]]] = []


@pytest.fixture(autouse=True)
def _clear(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (Table.rows, Table.calls, Table.answers, Table.told, Table.discarded, FAIL_AT, ABORTED):
        each.clear()
    Table.look = lambda _: None
    CALLS[0] = 0

    def abort(self: Appending, checkpoint_id: CheckpointId, committables: list[int]) -> None:
        ABORTED.append((checkpoint_id, committables))

    monkeypatch.setattr(Appending, "abort", abort)


@pytest.mark.parametrize("fail_at", range(3, 24, 2))
@pytest.mark.slow
def test_what_is_aborted_is_never_committed_whenever_an_attempt_ends(fail_at: int) -> None:
    rig = rig_of(execution__checkpointing__interval="10 ms")
    FAIL_AT.add(fail_at)
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.restarts == 1
    assert sorted(Table.rows) == list(range(COUNT))
    assert not {checkpoint_id for checkpoint_id, _ in ABORTED} & {checkpoint_id for checkpoint_id, _ in Table.calls}


def test_what_a_subtask_has_prepared_when_another_fails_is_aborted() -> None:
    rig = rig_of(execution__checkpointing__interval="10 min")
    rig.run_until(lambda: CALLS[0] >= 5)
    rig.deaf.add(1)  # its subtask of the sink does not answer
    rig.master.take_savepoint(SavepointRequest(), Future[str]())
    rig.run_until(lambda: _acks(rig) > 0)
    rig.end_launch(1, "a worker was lost")
    rig.deaf.clear()
    rig.run_until(lambda: rig.master.progress.attempt == 2)
    assert [checkpoint_id for checkpoint_id, _ in ABORTED] == [1]
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(Table.rows) == list(range(COUNT))


def _acks(rig: Any) -> int:
    return len(rig.master._checkpoints._prepared._prepared)


SUBTASK = SubtaskId(0, 0)


def acked(attempt: int, checkpoint_id: int, mark: bytes) -> SubtaskAcked:
    lists = {COMMITTABLES_STATE: ListStateHandle(ListMode.SPLIT, InlineHandle(mark))}
    state = SubtaskState(operators=(OperatorState(uid="sink", lists=lists),))
    return SubtaskAcked(
        attempt=Attempt(attempt), checkpoint_id=CheckpointId(checkpoint_id), subtask=SUBTASK, state=state
    )


def marks(prepared: Any) -> list[bytes]:
    return [state.handle.data for state in prepared.values()]


def test_the_newest_acknowledgement_of_the_attempt_counts_in_whatever_order_they_come() -> None:
    output = PreparedCommittables()
    output.begin(Attempt(2), None)
    for attempt, checkpoint_id, mark in [(1, 9, b"old"), (2, 4, b"four"), (2, 3, b"three")]:
        output.acked(acked(attempt, checkpoint_id, mark))
    after, prepared = output.take(None)
    assert (after, marks(prepared)) == (0, [b"four"])
    assert output.take(None)[1] == {}, "each is told once"


@pytest.mark.parametrize(
    ("restored", "savepoint", "completed", "after"), [(5, None, None, 5), (5, 7, 6, 7), (None, None, 6, 6)]
)
def test_what_a_snapshot_holds_is_not_aborted(
    restored: int | None, savepoint: int | None, completed: int | None, after: int
) -> None:
    output = PreparedCommittables()
    output.begin(Attempt(1), None if restored is None else CheckpointId(restored))
    if savepoint is not None:
        output.saving(CheckpointId(savepoint))
    assert output.take(None if completed is None else CheckpointId(completed))[0] == after
