"""The job master with real slots: checkpoints and savepoints that are asked for, and jobs that end with one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.coordination.failures import FailureReason
from headgate.checkpoint.manifest import Manifest, decode
from headgate.checkpoint.store import Chunk, MemoryStore
from headgate.elements import SavepointFormat
from headgate.errors import CheckpointError, ConfigError, StorageError
from headgate.functions.sink import Committer, Sink, SinkContext, SinkWriter
from headgate.ids import CheckpointId
from headgate.job_status import JobStatus
from headgate.operators.plain_functions import MapFactory
from headgate.operators.sink import SinkFactory
from headgate.runtime.control.messages import CheckpointCompleted, Deploy
from headgate.runtime.master.requests import SavepointRequest
from headgate.state.files import FileHandle
from tests.unit.runtime.master.test_job_master import CALLS, Failing, Ticking
from tests.unit.runtime.masters import MasterRig
from tests.unit.runtime.plans import line_plan

SETTINGS = {"execution.checkpointing.interval": "50 ms", "restart-strategy.type": "fixed-delay"}
SETTINGS |= {"restart-strategy.fixed-delay.delay": "20 ms", "restart-strategy.fixed-delay.attempts": "3"}
SAVEPOINTS = {"execution.checkpointing.savepoint-dir": "/savepoints"}
COMMITTED: list[int] = []
FAULTY_COMMITS: list[int] = []
"""As many commits fail as there are numbers."""


@pytest.fixture(autouse=True)
def _clear() -> None:
    COMMITTED.clear()
    FAULTY_COMMITS.clear()


class Committing(Sink[int]):
    """Adds records to `COMMITTED` when they are committed, each once."""

    def writer(self, context: SinkContext) -> SinkWriter[int]:
        return CommittingWriter()

    def committer(self, context: SinkContext) -> Committer[int]:
        return Commits()


class CommittingWriter(SinkWriter[int]):
    def __init__(self) -> None:
        self.records: list[int] = []

    def write(self, records: list[Any]) -> None:
        self.records += records

    def prepare_commit(self, checkpoint_id: CheckpointId) -> list[int]:
        records, self.records = self.records, []
        return records


class Commits(Committer[int]):
    def commit(self, committables: list[int]) -> None:
        if FAULTY_COMMITS:
            FAULTY_COMMITS.pop()
            raise OSError("the target is not there")
        COMMITTED.extend(each for each in committables if each not in COMMITTED)


def rig_of(limit: int = 1000, **settings: str) -> MasterRig:
    """A job that commits the numbers to a limit, one each 10 ms."""
    merged = SETTINGS | SAVEPOINTS | {key.replace("__", "."): value for key, value in settings.items()}
    rig = MasterRig(line_plan(Ticking(limit), MapFactory(Failing()), SinkFactory(Committing()), settings=merged))
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 2)
    return rig


def take(rig: MasterRig, wish: SavepointRequest | None = None) -> Future[str]:
    answer = Future[str]()
    rig.master.take_savepoint(wish or SavepointRequest(), answer)
    return answer


def answered(rig: MasterRig, answer: Future[str]) -> str:
    rig.run_until(answer.done)
    return answer.result()


def failure(rig: MasterRig, answer: Future[str]) -> str:
    rig.run_until(answer.done)
    error = answer.exception()
    assert isinstance(error, CheckpointError)
    return str(error)


def manifest_at(store: MemoryStore) -> Manifest:
    return decode(store.files[paths.METADATA], paths.METADATA)


def break_writes(store: MemoryStore, is_broken: Callable[[str], bool]) -> None:
    write = store.write

    def faulty(path: str, chunks: Iterable[Chunk]) -> FileHandle:
        if is_broken(path):
            raise StorageError(f"cannot write {path}: the disk is full")
        return write(path, chunks)

    store.write = faulty  # type: ignore[method-assign]


STOP = SavepointRequest(stops=True)
DRAIN = SavepointRequest(stops=True, drains=True)
both_ways = pytest.mark.parametrize("wish", [STOP, DRAIN], ids=["stop", "drain"])


# --- while the job runs on


def test_a_checkpoint_that_is_asked_for_is_answered_with_its_location() -> None:
    rig = rig_of()
    answer = Future[str]()
    rig.master.trigger_checkpoint(answer)
    location = answered(rig, answer)
    assert location == f"memory:chk-{rig.master.progress.checkpoints[-1].checkpoint_id}"


def test_a_job_that_makes_no_checkpoints_is_not_asked_for_one_which_would_lack_state() -> None:
    rig = MasterRig(line_plan(Ticking(50), MapFactory(Failing()), SinkFactory(Committing())))
    rig.master.submit()
    rig.run_until(lambda: CALLS[0] > 5)
    answer = Future[str]()
    rig.master.trigger_checkpoint(answer)
    rig.run_until(answer.done)
    assert isinstance(answer.exception(), ConfigError)
    assert "set execution.checkpointing.interval, or take a savepoint" in str(answer.exception())


@pytest.mark.parametrize("form", SavepointFormat)
def test_a_savepoint_has_a_folder_of_its_own_and_commits_nothing(form: SavepointFormat) -> None:
    rig = rig_of()
    notified = len([message for message in rig.links[0].told if isinstance(message, CheckpointCompleted)])
    before = len(rig.master.progress.checkpoints)
    location = answered(rig, take(rig, SavepointRequest(format=form)))
    folder, _, name = location.rpartition("/")
    assert folder == "/savepoints"
    assert name.startswith(f"savepoint-{rig.plan.job_id[:6]}-")
    assert len(name.rpartition("-")[2]) == 12
    manifest = manifest_at(rig.folders[location])
    assert manifest.savepoint is form
    assert manifest.files() <= set(rig.folders[location].files)
    told = [message.checkpoint_id for message in rig.links[0].told if isinstance(message, CheckpointCompleted)]
    assert manifest.checkpoint_id not in told
    assert len(told) - notified <= len(rig.master.progress.checkpoints) - before
    assert not rig.store.list_files(f"chk-{manifest.checkpoint_id}")
    assert rig.master.outcome is None


def test_a_target_that_is_given_goes_before_the_default_one_and_each_savepoint_has_its_own_folder() -> None:
    rig = rig_of()
    locations = [answered(rig, take(rig, SavepointRequest(target="s3://bucket/mine/"))) for _ in range(3)]
    assert len(set(locations)) == 3
    assert all(location.startswith("s3://bucket/mine/savepoint-") for location in locations)


def test_without_a_target_the_error_names_the_option() -> None:
    rig = MasterRig(line_plan(Ticking(100), SinkFactory(Committing()), settings=SETTINGS))
    rig.master.submit()
    rig.run_until(lambda: rig.master.progress.checkpoints)
    with pytest.raises(ConfigError, match=r"set execution\.checkpointing\.savepoint-dir"):
        take(rig).result(0)


def test_a_job_without_checkpoints_takes_savepoints_all_the_same() -> None:
    rig = MasterRig(line_plan(Ticking(100), SinkFactory(Committing()), settings=SAVEPOINTS))
    rig.master.submit()
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    location = answered(rig, take(rig))
    assert manifest_at(rig.folders[location]).checkpoint_id == 1


def test_a_savepoint_before_the_job_runs_is_refused() -> None:
    rig = MasterRig(line_plan(Ticking(100), SinkFactory(Committing()), settings=SETTINGS | SAVEPOINTS))
    rig.master.submit()
    assert FailureReason.NOT_RUNNING.told().text in failure(rig, take(rig))


def test_savepoints_that_are_refused_while_the_job_restarts_leave_no_records() -> None:
    rig = rig_of()
    rig.end_launch(1, "the stage was killed")
    refused = [failure(rig, take(rig)) for _ in range(3)]
    assert all(FailureReason.NOT_RUNNING.told().text in reason for reason in refused)
    made = len(rig.master.progress.checkpoints)
    rig.run_until(lambda: len(rig.master.progress.checkpoints) > made)
    assert rig.store.list_files(paths.SAVEPOINTS) == []


def test_an_asker_who_has_given_up_is_not_served() -> None:
    rig = rig_of()
    rig.io.run()
    checkpoint, savepoint = Future[str](), Future[str]()
    checkpoint.cancel()
    savepoint.cancel()
    rig.master.take_savepoint(SavepointRequest(), savepoint)
    rig.master.trigger_checkpoint(checkpoint)
    assert not rig.io.held


@both_ways
def test_a_folder_that_cannot_be_written_to_is_told_before_any_source_stops(wish: SavepointRequest) -> None:
    rig = rig_of()

    def refuse(location: str) -> MemoryStore:
        raise StorageError(f"cannot open {location}")

    rig.master._storage._parts.open_store = refuse
    assert "nothing can be written to /savepoints/savepoint-" in failure(rig, take(rig, wish))
    assert rig.master.progress.restarts == 0


def test_a_savepoint_whose_files_cannot_be_written_leaves_nothing_and_the_job_alone() -> None:
    rig = rig_of(1000, **{"execution.checkpointing.data-inline-threshold": "0 b"})
    answer = take(rig)
    rig.run_until(lambda: rig.folders)
    (location,) = rig.folders
    break_writes(rig.folders[location], lambda path: True)
    assert "the disk is full" in failure(rig, answer)
    rig.io.run()
    assert rig.folders[location].files == {}
    rig.run_until(lambda: rig.master.progress.checkpoints[-1].checkpoint_id > 6)
    assert rig.master.progress.restarts == 0


def test_a_savepoint_is_given_up_when_nobody_can_tell_for_long_whether_it_is_complete() -> None:
    rig = rig_of()
    answer = take(rig)
    rig.run_until(lambda: rig.folders)
    (location,) = rig.folders
    store = rig.folders[location]
    break_writes(store, lambda path: path == paths.METADATA)

    def unreachable(path: str) -> bytes:
        raise StorageError("no answer")

    store.read = unreachable  # type: ignore[method-assign]
    assert "it is not known whether it is stored" in failure(rig, answer)
    assert rig.master.progress.restarts == 0


def test_an_asker_is_told_when_the_job_is_cancelled() -> None:
    rig = rig_of()
    rig.deaf.add(0)
    answer = take(rig)
    rig.run_until(lambda: rig.folders)
    rig.master.cancel()
    assert "before it was complete" in failure(rig, answer)


# --- the end of the job


@both_ways
def test_a_job_that_is_stopped_commits_what_the_savepoint_holds_and_no_more(wish: SavepointRequest) -> None:
    rig = rig_of()
    answer = take(rig, wish)
    outcome = rig.end()
    assert (outcome.status, outcome.cause) == (JobStatus.FINISHED, None)
    manifest = manifest_at(rig.folders[answer.result(0)])
    assert manifest.final is wish.drains
    assert list(range(len(COMMITTED))) == COMMITTED
    assert 5 < len(COMMITTED) < 1000
    assert rig.master.progress.restarts == 0


@both_ways
def test_that_the_job_ends_is_recorded_before_anybody_commits(wish: SavepointRequest) -> None:
    rig = rig_of()
    committed: list[int] = []
    write = rig.store.write

    def watched(path: str, chunks: Iterable[Chunk]) -> FileHandle:
        if path.startswith(paths.STOPPED):
            committed.append(len(COMMITTED))
        return write(path, chunks)

    rig.store.write = watched  # type: ignore[method-assign]
    take(rig, wish)
    rig.end()
    assert committed[0] < len(COMMITTED)


@both_ways
def test_a_savepoint_that_fails_has_the_job_go_on_from_its_last_checkpoint(wish: SavepointRequest) -> None:
    rig = rig_of(limit=60)
    answer = take(rig, wish)
    rig.run_until(lambda: rig.folders)
    (location,) = rig.folders
    break_writes(rig.folders[location], lambda path: path == paths.METADATA)
    assert f"job {rig.plan.job_id} was not stopped" in failure(rig, answer)
    assert rig.end().status is JobStatus.FINISHED
    assert list(range(60)) == COMMITTED
    assert rig.master.progress.restarts == 1
    assert rig.folders[location].files == {}


@both_ways
def test_a_job_that_fails_after_its_stop_was_recorded_only_commits_when_it_starts_again(wish: SavepointRequest) -> None:
    rig = rig_of()
    answer = take(rig, wish)
    rig.run_until(lambda: rig.store.list_files(paths.STOPPED))
    FAULTY_COMMITS.append(1)
    assert rig.end().status is JobStatus.FINISHED
    assert rig.master.progress.restarts == 1
    deploys = [message for message in rig.links[0].told if isinstance(message, Deploy)]
    assert [(deploy.finishing, deploy.root) for deploy in deploys] == [(False, None), (True, answer.result(0))]
    assert list(range(len(COMMITTED))) == COMMITTED


@both_ways
def test_a_job_that_cannot_commit_what_its_savepoint_holds_fails_and_names_it(wish: SavepointRequest) -> None:
    rig = rig_of()
    answer = take(rig, wish)
    rig.run_until(lambda: rig.store.list_files(paths.STOPPED))
    FAULTY_COMMITS.extend(range(100))
    assert rig.end().status is JobStatus.FAILED
    (location,) = rig.folders
    text = failure(rig, answer)
    assert f"the savepoint {location} is complete, but the job could not commit what it holds" in text
    assert "the target is not there" in text


@both_ways
def test_a_failure_before_the_savepoint_is_complete_restarts_the_job_from_its_last_checkpoint(
    wish: SavepointRequest,
) -> None:
    rig = rig_of(limit=60)
    answer = take(rig, wish)
    rig.run_until(lambda: rig.folders)
    rig.end_launch(1, "the stage was killed")
    assert "before it was complete" in failure(rig, answer)
    assert rig.end().status is JobStatus.FINISHED
    assert list(range(60)) == COMMITTED
    assert rig.launches == [1, 2]


def test_a_stop_after_the_input_has_ended_anyway_leaves_the_end_as_it_is() -> None:
    rig = rig_of(limit=12)
    rig.run_until(lambda: CALLS[0] == 12)
    answer = take(rig, STOP)
    assert rig.end().status is JobStatus.FINISHED
    assert answer.done()
    assert list(range(12)) == COMMITTED


def test_a_cancel_while_the_job_is_being_stopped_ends_it_and_says_so() -> None:
    rig = rig_of()
    rig.deaf.add(0)
    answer = take(rig, STOP)
    rig.run_until(lambda: rig.folders)
    rig.master.cancel()
    assert rig.end().status is JobStatus.CANCELED
    assert "was not stopped with a savepoint" in failure(rig, answer)
