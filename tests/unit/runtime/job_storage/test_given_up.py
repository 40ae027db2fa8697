"""What sinks have kept for savepoints that never became complete: whoever goes on with the job has it released."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.job_records import JobResult, write_result
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import encode
from headgate.checkpoint.manifest_storage import Stored
from headgate.elements import SavepointFormat, savepoint_key
from headgate.errors import SinkError
from headgate.functions.sink import SinkIdentity
from headgate.ids import Attempt
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.lease import LeaseLost
from tests.unit.runtime.job_storage.drivers import FIRST, Committing, Rig, complete, outcome, plan_with, snapshot

HEARD: list[Any] = []


class Noting(Committing):
    """A sink that notes what it is told to give up, and when it is told to discard."""

    trouble: ClassVar[SinkError | None] = None

    def give_up(self, identity: SinkIdentity, savepoints: frozenset[str]) -> None:
        if Noting.trouble is not None:
            raise Noting.trouble
        HEARD.append(savepoints)

    def discard(self, identity: SinkIdentity) -> None:
        HEARD.append("discard")


PLAN = plan_with(Noting())


@pytest.fixture(autouse=True)
def _clear() -> None:
    HEARD.clear()
    Noting.trouble = None


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.fixture
def location(tmp_path: Path) -> str:
    return str(tmp_path / "savepoints" / "savepoint-1")


def test_a_driver_that_goes_on_gives_up_the_savepoint_that_the_one_before_died_in(rig: Rig, location: str) -> None:
    first = rig.driver(PLAN)
    first.resolve(PLAN, FIRST, None)
    first.prepare_savepoint(location)
    FileSystemStore.open_folder(location).write("a1-op1-0-list-a", [b"state"])
    second = rig.driver(PLAN)
    second.resolve(PLAN, Attempt(2), None)
    assert [{savepoint_key(location)}] == HEARD
    second.resolve(PLAN, Attempt(3), None)
    assert [{savepoint_key(location)}] * 2 == HEARD, "slots of the first driver may have kept more meanwhile"
    assert Path(location).exists()
    second.tidy()
    assert not Path(location).exists()


def test_the_driver_itself_gives_up_a_savepoint_that_it_has_aborted(rig: Rig, location: str) -> None:
    driver = rig.driver(PLAN)
    driver.resolve(PLAN, FIRST, None)
    driver.prepare_savepoint(location)
    driver.storage.discard_savepoint(location)
    driver.resolve(PLAN, Attempt(2), None)
    assert [{savepoint_key(location)}] == HEARD


def test_a_savepoint_that_is_complete_is_not_given_up_wherever_it_is_by_then(rig: Rig, location: str) -> None:
    driver = rig.driver(PLAN)
    driver.resolve(PLAN, FIRST, None)
    driver.prepare_savepoint(location)
    assert driver.store(snapshot(1, savepoint=SavepointFormat.CANONICAL), location) == Stored()
    Path(location).rename(f"{location}-moved")
    rig.driver(PLAN).resolve(PLAN, Attempt(2), None)
    assert HEARD == []


def test_nor_is_one_whose_manifest_the_dead_driver_has_written(rig: Rig, location: str) -> None:
    first = rig.driver(PLAN)
    first.resolve(PLAN, FIRST, None)
    first.prepare_savepoint(location)
    manifest = encode(snapshot(1, savepoint=SavepointFormat.CANONICAL))
    FileSystemStore.open_folder(location).write(paths.METADATA, [manifest])
    second = rig.driver(PLAN)
    second.resolve(PLAN, Attempt(2), None)
    second.tidy()
    assert HEARD == []
    assert (Path(location) / paths.METADATA).exists()


def test_a_driver_that_was_taken_over_begins_no_savepoint(rig: Rig, location: str) -> None:
    first = rig.driver(PLAN)
    first.resolve(PLAN, FIRST, None)
    rig.driver(PLAN)
    with pytest.raises(LeaseLost):
        first.prepare_savepoint(location)
    assert not rig.store.list_files(paths.SAVEPOINTS)


def test_output_is_discarded_after_savepoints_were_given_up(rig: Rig, location: str) -> None:
    driver = rig.driver(PLAN)
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1)
    driver.prepare_savepoint(location)
    driver.finish(PLAN, outcome(JobStatus.FINISHED))
    assert [{savepoint_key(location)}, "discard"] == HEARD
    assert rig.store.list_files("") == [paths.RESULT]


def test_so_it_is_by_a_driver_that_finds_that_the_job_had_ended(rig: Rig, location: str) -> None:
    first = rig.driver(PLAN)
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    first.prepare_savepoint(location)
    write_result(
        rig.store, JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=0, owner=first.storage.owner, kept=False)
    )
    rig.driver(PLAN).finish(PLAN, outcome(JobStatus.FINISHED))
    assert [{savepoint_key(location)}, "discard"] == HEARD


def test_a_target_that_does_not_answer_holds_up_the_start_and_loses_nothing(rig: Rig, location: str) -> None:
    first = rig.driver(PLAN)
    first.resolve(PLAN, FIRST, None)
    first.prepare_savepoint(location)
    second = rig.driver(PLAN)
    Noting.trouble = SinkError("no answer")
    with pytest.raises(SinkError, match="no answer"):
        second.resolve(PLAN, Attempt(2), None)
    Noting.trouble = None
    second.resolve(PLAN, Attempt(3), None)
    assert [{savepoint_key(location)}] == HEARD
