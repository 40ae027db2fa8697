"""Which snapshots stay: those that are claimed and those that are not, and what a job leaves when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.drivers import intents
from headgate.checkpoint.drivers.job_records import read_result
from headgate.checkpoint.manifest_storage import Stored
from headgate.checkpoint.store import Chunk
from headgate.elements import SavepointFormat
from headgate.errors import SinkError, StorageError
from headgate.functions.sink import SinkIdentity
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, CheckpointId
from headgate.job_status import JobStatus
from headgate.state.files import FileHandle
from tests.unit.checkpoint.stores import OverMemory
from tests.unit.runtime.job_storage.drivers import (
    FIRST,
    ONE,
    PLAN,
    Committing,
    Driver,
    Rig,
    complete,
    elsewhere,
    keyed,
    listed,
    outcome,
    plan_with,
    snapshot,
)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


# --- claims ------------------------------------------------------------------------------------------------------

NOTHING_SHARED = SharedFiles(in_use=frozenset(), newest=CheckpointId(99), attempt=Attempt(9), used_ahead={})


def claiming(location: str, **settings: str) -> JobGraph:
    return plan_with(
        execution__state_recovery__path=location,
        execution__state_recovery__claim_mode="CLAIM",
        execution__checkpointing__num_retained="2",
        **settings,
    )


@pytest.mark.parametrize("savepoint", [None, SavepointFormat.CANONICAL, SavepointFormat.NATIVE])
def test_a_claimed_snapshot_goes_when_the_job_has_enough_checkpoints_of_its_own(
    savepoint: SavepointFormat | None, rig: Rig
) -> None:
    file = "chk-7/a1-op1-0-keyed" if savepoint is None else "a1-op1-0-keyed"
    location = elsewhere(rig.folder, snapshot(7, keyed(file), savepoint=savepoint), file)
    driver = rig.driver()
    driver.resolve(claiming(location), FIRST, None)
    for keep in ((8,), (8, 9)):
        complete(driver, keep[-1])
        assert Path(location, paths.METADATA).exists()
        driver.retain(tuple(map(CheckpointId, keep)), NOTHING_SHARED)
    assert not Path(location).exists()
    assert intents.read_claim(rig.store) is None


def test_a_claim_outlives_the_driver(rig: Rig) -> None:
    location = elsewhere(rig.folder, snapshot(7, listed("a")))
    driver = rig.driver()
    driver.resolve(claiming(location), FIRST, None)
    complete(driver, 8, 9)
    later = rig.driver()
    later.resolve(claiming(location), Attempt(2), None)
    later.retain((CheckpointId(8), CheckpointId(9)), NOTHING_SHARED)
    assert not Path(location).exists()


def test_a_claim_ends_with_a_driver_that_is_told_not_to_claim_and_starts_from_the_snapshot_too(rig: Rig) -> None:
    location = elsewhere(rig.folder, snapshot(7, listed("a")))
    rig.driver().resolve(claiming(location), FIRST, None)
    later = rig.driver()
    later.resolve(plan_with(execution__state_recovery__path=location), Attempt(2), None)
    complete(later, 8, 9)
    later.retain((CheckpointId(8), CheckpointId(9)), NOTHING_SHARED)
    assert Path(location).exists()


def test_a_snapshot_that_is_not_claimed_stays_for_ever(rig: Rig) -> None:
    location = elsewhere(rig.folder, snapshot(7, listed("a")))
    driver = rig.driver()
    driver.resolve(plan_with(execution__state_recovery__path=location), FIRST, None)
    complete(driver, 8, 9)
    driver.retain((CheckpointId(9),), NOTHING_SHARED)
    driver.finish(PLAN, outcome(JobStatus.FINISHED))
    assert Path(location, paths.METADATA).exists()


@pytest.mark.parametrize("status", [JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED])
def test_a_job_that_ends_before_it_has_enough_keeps_what_it_claimed_unless_it_has_finished(
    status: JobStatus, rig: Rig
) -> None:
    location = elsewhere(rig.folder, snapshot(7, listed("a")))
    driver = rig.driver()
    driver.resolve(claiming(location), FIRST, None)
    driver.finish(PLAN, outcome(status))
    assert Path(location, paths.METADATA).exists() == (status is not JobStatus.FINISHED)


# --- what stays when a job ends ----------------------------------------------------------------------------------

MATRIX = [
    ("NO_EXTERNALIZED_CHECKPOINTS", JobStatus.FINISHED, False),
    ("NO_EXTERNALIZED_CHECKPOINTS", JobStatus.CANCELED, False),
    ("NO_EXTERNALIZED_CHECKPOINTS", JobStatus.FAILED, True),
    ("DELETE_ON_CANCELLATION", JobStatus.FINISHED, False),
    ("DELETE_ON_CANCELLATION", JobStatus.CANCELED, False),
    ("DELETE_ON_CANCELLATION", JobStatus.FAILED, True),
    ("RETAIN_ON_CANCELLATION", JobStatus.FINISHED, False),
    ("RETAIN_ON_CANCELLATION", JobStatus.CANCELED, True),
    ("RETAIN_ON_CANCELLATION", JobStatus.FAILED, True),
]


@pytest.mark.parametrize(("retention", "status", "stays"), MATRIX)
def test_checkpoints_stay_or_go_by_the_matrix_and_savepoints_stay(
    retention: str, status: JobStatus, stays: bool, rig: Rig
) -> None:
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1)
    saved = str(rig.folder / "savepoint-ab")
    assert driver.store(snapshot(2, listed("a"), savepoint=SavepointFormat.NATIVE), saved) == Stored()
    driver.finish(plan_with(execution__checkpointing__externalized_checkpoint_retention=retention), outcome(status))
    assert rig.has(paths.metadata(ONE)) == stays
    assert Path(saved, paths.METADATA).exists()
    result = read_result(rig.store)
    assert result is not None
    assert result.status is status


@pytest.mark.parametrize("retention", ["NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION"])
def test_of_a_job_whose_driver_just_died_everything_stays_so_that_it_can_go_on(retention: str, rig: Rig) -> None:
    driver = rig.driver()
    plan = plan_with(execution__checkpointing__externalized_checkpoint_retention=retention)
    driver.resolve(plan, FIRST, None)
    complete(driver, 1)
    assert rig.driver().resolve(plan, Attempt(2), None).checkpoint_id == 1


def test_when_a_job_ends_no_more_stays_than_are_to_be_retained_and_nothing_that_none_of_them_names(rig: Rig) -> None:
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1, 2, 3)  # the last one may be stored when its attempt has ended, and no retention follows
    for left in ("shared/ahead-1-a1-op1-0-d", "shared/3-a1-op1-0-x", "chk-4/a1-op1-0-keyed"):
        rig.store.write(left, [b"left"])
    plan = plan_with(
        execution__checkpointing__num_retained="2",
        execution__checkpointing__externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
    )
    driver.finish(plan, outcome(JobStatus.CANCELED))
    of_checkpoints = [path for path in rig.store.list_files("") if path.startswith(("chk-", "shared"))]
    assert [path for path in of_checkpoints if not path.endswith("-claim")] == ["chk-2/_metadata", "chk-3/_metadata"]


@pytest.mark.parametrize("retention", ["NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION"])
def test_a_driver_that_fails_before_its_first_checkpoint_deletes_nothing_and_records_no_result(
    retention: str, rig: Rig
) -> None:
    plan = plan_with(Noting(), execution__checkpointing__externalized_checkpoint_retention=retention)
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1, 2)
    refused = rig.driver()
    refused.resolve(plan, Attempt(2), None)
    before = rig.store.list_files("")
    refused.finish(plan, outcome(JobStatus.FAILED))
    assert rig.store.list_files("") == before
    assert read_result(rig.store) is None
    assert rig.driver().resolve(plan, Attempt(3), None).checkpoint_id == 2


def test_a_job_that_is_cancelled_before_it_has_restored_keeps_what_earlier_drivers_have_stored(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    second = rig.driver()
    second.resolve(PLAN, Attempt(2), None)
    second.finish(PLAN, outcome(JobStatus.CANCELED))
    assert rig.has(paths.metadata(ONE))
    result = read_result(rig.store)
    assert result is not None
    assert (result.status, result.kept) == (JobStatus.CANCELED, True)


class Unreachable(Committing):
    """A sink whose target does not answer."""

    def prepare(self, identity: SinkIdentity) -> None:
        raise SinkError("no answer within 10 s")


def test_a_start_that_is_cancelled_while_a_sink_cannot_be_prepared_deletes_nothing(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    second = Driver(rig.store)
    plan = plan_with(Unreachable())
    with pytest.raises(SinkError):
        second.prepare(plan)
    second.finish(plan, outcome(JobStatus.CANCELED))
    assert rig.has(paths.metadata(ONE))


class Deaf(OverMemory):
    """A store that cannot be written to for a while."""

    fails = False

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        if self.fails:
            raise StorageError("no room")
        return super().write(path, chunks)


def test_a_driver_that_could_not_take_the_job_over_touches_nothing_of_the_one_that_runs_it() -> None:
    store = Deaf()
    running, late = (Driver(store) for _ in range(2))
    running.prepare(PLAN)
    running.resolve(PLAN, FIRST, None)
    complete(running, 1)
    store.fails = True
    with pytest.raises(StorageError):
        late.prepare(PLAN)
    store.fails = False
    before = dict(store.files)
    late.finish(PLAN, outcome(JobStatus.CANCELED))
    assert store.files == before


def test_a_job_that_is_cancelled_when_it_has_restored_keeps_to_its_retention(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    second = rig.driver()
    second.resolve(PLAN, Attempt(2), None)
    second.tidy()
    second.finish(PLAN, outcome(JobStatus.CANCELED))
    assert not rig.has(paths.metadata(ONE))


def test_a_job_that_is_started_again_after_its_end_deletes_nothing_that_it_was_told_to_keep(rig: Rig) -> None:
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1)
    keeping = plan_with(execution__checkpointing__externalized_checkpoint_retention="RETAIN_ON_CANCELLATION")
    driver.finish(keeping, outcome(JobStatus.CANCELED))
    again = Driver(rig.store)
    ended = again.prepare(PLAN).ended
    assert ended is not None
    again.finish(PLAN, outcome(ended.status))
    assert rig.has(paths.metadata(ONE))


# --- output of sinks ---------------------------------------------------------------------------------------------


class Noting(Committing):
    """Notes what becomes of its target."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def discard(self, identity: SinkIdentity) -> None:
        self.noted.append("discard")

    def release(self, identity: SinkIdentity) -> None:
        self.noted.append("release")


@pytest.mark.parametrize(
    ("status", "retention", "noted"),
    [
        (JobStatus.CANCELED, "DELETE_ON_CANCELLATION", ["discard", "release"]),
        (JobStatus.CANCELED, "RETAIN_ON_CANCELLATION", ["release"]),
        (JobStatus.FAILED, "DELETE_ON_CANCELLATION", ["release"]),
        (JobStatus.FAILED, "NO_EXTERNALIZED_CHECKPOINTS", ["release"]),
        (JobStatus.FINISHED, "RETAIN_ON_CANCELLATION", ["discard", "release"]),
    ],
)
def test_output_that_waits_for_its_commit_stays_with_the_checkpoint_that_is_retained(
    status: JobStatus, retention: str, noted: list[str], rig: Rig
) -> None:
    sink = Noting()
    plan = plan_with(sink, execution__checkpointing__externalized_checkpoint_retention=retention)
    rig.driver(plan).finish(plan, outcome(status))
    assert sink.noted == noted


# --- savepoints --------------------------------------------------------------------------------------------------


def test_trying_whether_a_savepoint_can_be_written_leaves_nothing(rig: Rig, tmp_path: Path) -> None:
    rig.driver().prepare_savepoint(str(tmp_path / "savepoints" / "savepoint-1"))
    assert list((tmp_path / "savepoints").iterdir()) == []


class EndsMeanwhile(OverMemory):
    """A store in which an earlier driver ends the job just before a later one claims it."""

    def __init__(self) -> None:
        super().__init__()
        self.earlier: Driver | None = None
        self.deleted: list[str] = []

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        earlier, self.earlier = self.earlier, None if path.startswith(paths.EPOCHS) else self.earlier
        if earlier is not None and self.earlier is None:
            earlier.finish(PLAN, outcome(JobStatus.FINISHED))
        return super().write(path, chunks)

    def delete(self, paths: Iterable[str]) -> None:
        gone = list(paths)
        self.deleted += gone
        super().delete(gone)


def test_a_result_is_never_away_once_the_job_has_ended() -> None:
    store = EndsMeanwhile()
    earlier, later = (Driver(store) for _ in range(2))
    earlier.prepare(PLAN)
    store.earlier = earlier
    ended = later.prepare(PLAN).ended
    assert ended is not None
    store.deleted.clear()
    later.finish(PLAN, outcome(ended.status))
    assert paths.RESULT not in store.deleted
    assert later.prepare(PLAN).ended == ended
