"""A driver whose job another one has taken over: its slots remove what they have prepared and no snapshot holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import ownership
from headgate.checkpoint.store import Chunk, MemoryStore
from headgate.functions.sink import Committer, GlobalCommitter, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId
from headgate.job_status import JobStatus
from headgate.operators.plain_functions import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.state.files import FileHandle
from tests.unit.checkpoint.stores import OverMemory
from tests.unit.runtime.job_storage.test_global_commits import SETTINGS, checkpoints
from tests.unit.runtime.master.test_job_master import Failing, Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import Step, line_plan

PREPARED: dict[int, list[int]] = {}
COMMITTED: list[int] = []
ABORTED: list[int] = []


@pytest.fixture(autouse=True)
def _clear() -> None:
    for each in (PREPARED, COMMITTED, ABORTED):
        each.clear()


class ToShelf(Sink[int]):
    """Notes what becomes of each record, committed by each subtask or for all of them."""

    def __init__(self, *, together: bool) -> None:
        self.together = together

    def writer(self, context: SinkContext) -> SinkWriter[int]:
        return Gathering()

    def committer(self, context: SinkContext) -> Committer[int]:
        return Told() if self.together else Each()

    def global_committer(self) -> GlobalCommitter[int] | None:
        return All() if self.together else None


class Gathering(SinkWriter[int]):
    def __init__(self) -> None:
        self.records: list[int] = []

    def write(self, records: list[Any]) -> None:
        self.records += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[int]:
        records, self.records = self.records, []
        PREPARED.setdefault(checkpoint_id, []).extend(records)
        return records


class Told(Committer[int]):
    def commit(self, committables: list[int]) -> None:
        pass


class Each(Committer[int]):
    def commit(self, committables: list[int]) -> None:
        COMMITTED.extend(committables)

    def abort(self, committables: list[int]) -> None:
        ABORTED.extend(committables)


class All(GlobalCommitter[int]):
    def commit(self, checkpoint_id: CheckpointId, committables: list[int]) -> None:
        COMMITTED.extend(committables)

    def abort(self, checkpoint_id: CheckpointId, committables: list[int]) -> None:
        ABORTED.extend(committables)


def rig_of(together: bool, store: Any) -> MasterRig:
    sink = Step(SinkFactory(ToShelf(together=together)), parallelism=2)
    rig = MasterRig(line_plan(Ticking(100), MapFactory(Failing()), sink, settings=SETTINGS), store)
    rig.master.submit()
    return rig


def end(rig: MasterRig) -> None:
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "the job was taken over by a later driver" in (outcome.cause or "")


by_whom = pytest.mark.parametrize("together", [False, True], ids=["each subtask", "all together"])


@by_whom
def test_what_was_prepared_for_a_checkpoint_that_was_not_stored_is_removed(together: bool) -> None:
    store = MemoryStore()
    rig = rig_of(together, store)
    checkpoints(rig, 2)
    ownership.take_epoch(store, "ff")
    end(rig)
    assert ABORTED
    assert sorted(COMMITTED + ABORTED) == sorted(record for some in PREPARED.values() for record in some)


class TakenOverAt(OverMemory):
    """A job that another driver takes over when the manifest of a checkpoint is stored, before its driver looks."""

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        handle = super().write(path, chunks)
        if path == paths.metadata(CheckpointId(3)):
            ownership.take_epoch(self, "ff")
        return handle


@by_whom
def test_what_a_stored_manifest_holds_stays_for_the_other_driver(together: bool) -> None:
    rig = rig_of(together, TakenOverAt())
    end(rig)
    assert PREPARED[3]
    assert not {*PREPARED[3]} & {*COMMITTED, *ABORTED}
    assert not {*COMMITTED} & {*ABORTED}
