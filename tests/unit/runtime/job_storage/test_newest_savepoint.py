"""What an attempt starts from when the job prefers no checkpoint, and has completed a newer savepoint."""

from __future__ import annotations

import pickle
import shutil
import zlib
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import encode
from headgate.checkpoint.manifest_storage import Stored
from headgate.elements import SavepointFormat
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, CheckpointId
from headgate.operators.plain_functions import MapFactory
from headgate.state.files import FileHandle
from headgate.state.operator.list_elements import ListMode
from tests.unit.runtime.job_storage.drivers import (
    FIRST,
    ONE,
    PLAN,
    Committing,
    Driver,
    Rig,
    complete,
    keyed,
    listed,
    plan_with,
    snapshot,
)
from tests.unit.runtime.job_storage.test_acknowledging import Acknowledged, Notes
from tests.unit.runtime.plans import line_plan

WANTED = {"execution__checkpointing__prefer_checkpoint_for_recovery": "false"}
NEWEST = plan_with(**WANTED)
SECOND = Attempt(2)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def location(rig: Rig, number: int) -> str:
    return str(rig.folder / "savepoints" / f"savepoint-{number}")


def save(rig: Rig, driver: Driver, number: int, *, stops: bool = False) -> str:
    """Complete a savepoint, which has a file; return where it is."""
    place = location(rig, number)
    Path(place).mkdir(parents=True)
    Path(place, "a1-op1-0-keyed").write_bytes(bytes(4))
    of = snapshot(number, keyed("a1-op1-0-keyed"), savepoint=SavepointFormat.CANONICAL)
    assert driver.store(of, place, stops=stops) == Stored()
    return place


def running(rig: Rig, plan: JobGraph = NEWEST, *, stops: bool = False) -> Driver:
    """A driver whose first attempt has completed checkpoint 1 and then savepoint 2."""
    driver = rig.driver()
    driver.resolve(plan, FIRST, None)
    complete(driver, 1)
    save(rig, driver, 2, stops=stops)
    return driver


def test_a_restart_begins_from_a_savepoint_that_is_newer_than_the_checkpoint(rig: Rig) -> None:
    point = running(rig).resolve(NEWEST, SECOND, ONE)
    assert (point.checkpoint_id, point.root, point.last_id) == (2, location(rig, 2), 2)
    assert [each.checkpoint_id for each in point.older] == [1]
    assert point.own is None


def test_a_restart_begins_from_a_savepoint_where_there_is_no_checkpoint(rig: Rig) -> None:
    driver = rig.driver()
    driver.resolve(NEWEST, FIRST, None)
    place = save(rig, driver, 1)
    point = driver.resolve(NEWEST, SECOND, None)
    assert (point.root, point.older) == (place, ())


def test_by_default_a_restart_begins_from_the_checkpoint(rig: Rig) -> None:
    point = running(rig, PLAN).resolve(PLAN, SECOND, ONE)
    assert (point.checkpoint_id, point.root) == (1, None)


def test_a_checkpoint_that_is_newer_than_the_savepoint_goes_before_it(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    driver = running(rig)
    complete(driver, 3)
    assert driver.resolve(NEWEST, SECOND, CheckpointId(3)).checkpoint_id == 3
    assert "savepoint" not in caplog.text


def test_a_savepoint_that_was_late_does_not_hide_a_newer_one(rig: Rig) -> None:
    driver = running(rig)
    save(rig, driver, 4)
    save(rig, driver, 3)
    assert driver.resolve(NEWEST, SECOND, ONE).checkpoint_id == 4


def test_a_savepoint_that_was_to_end_the_job_is_not_gone_on_from(rig: Rig) -> None:
    driver = running(rig, stops=True)  # its attempt ended while the manifest was written: the job goes on without it
    assert driver.resolve(NEWEST, SECOND, ONE).checkpoint_id == 1


# --- where it would not be exactly once


def test_a_two_phase_sink_has_the_job_restart_from_the_checkpoint_with_a_warning_unless_output_may_be_repeated(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    driver = running(rig)
    assert driver.resolve(plan_with(Committing(), **WANTED), SECOND, ONE).checkpoint_id == 1
    assert f"the savepoint {location(rig, 2)} is newer: a sink of the job commits in two phases" in caplog.text
    allowed = plan_with(Committing(), headgate__recovery__allow_duplicate_output="true", **WANTED)
    assert driver.resolve(allowed, Attempt(3), ONE).checkpoint_id == 2


def test_a_source_that_acknowledges_has_the_job_restart_from_the_checkpoint_with_a_warning(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    driver = running(rig)
    driver.prepare(line_plan(Acknowledged(Notes()), MapFactory(str)))
    assert driver.resolve(NEWEST, SECOND, ONE).checkpoint_id == 1
    assert f"the savepoint {location(rig, 2)} is newer: a source of the job acknowledges" in caplog.text


# --- what becomes of savepoints


@pytest.mark.parametrize("harm", ["gone", "moved", "a file is missing", "a file is cut short", "torn", "another one"])
def test_a_savepoint_that_is_not_whole_any_more_has_the_job_restart_from_the_checkpoint_with_a_warning(
    harm: str, rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    driver = running(rig)
    place = Path(location(rig, 2))
    match harm:
        case "gone":
            shutil.rmtree(place)
        case "moved":
            place.rename(place.with_name("elsewhere"))
        case "a file is missing":
            (place / "a1-op1-0-keyed").unlink()
        case "a file is cut short":
            (place / "a1-op1-0-keyed").write_bytes(b"")
        case "torn":
            (place / paths.METADATA).write_bytes((place / paths.METADATA).read_bytes()[:20])
        case "another one":
            another = snapshot(7, listed("a"), savepoint=SavepointFormat.CANONICAL)
            (place / paths.METADATA).write_bytes(encode(another))
    point = driver.resolve(NEWEST, SECOND, ONE)
    assert (point.checkpoint_id, point.root) == (1, None)
    assert f"restarts from its newest checkpoint, though the savepoint {place} is newer" in caplog.text


def test_a_savepoint_that_a_slot_finds_damaged_is_passed_over_by_the_next_attempt(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    driver = running(rig)
    point = driver.resolve(NEWEST, SECOND, ONE)
    assert driver.note_damaged(NEWEST, point, "a1-op1-0-keyed has a wrong checksum")
    assert f"the savepoint {location(rig, 2)} is newer: a1-op1-0-keyed has a wrong checksum" in caplog.text
    assert driver.resolve(NEWEST, Attempt(3), ONE).checkpoint_id == 1


def test_a_driver_that_starts_again_goes_on_from_the_checkpoint(rig: Rig) -> None:
    running(rig)
    assert rig.driver().resolve(NEWEST, SECOND, None).checkpoint_id == 1


def test_a_savepoint_whose_lists_turn_out_to_be_damaged_is_passed_over_at_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    driver = rig.driver()
    driver.resolve(NEWEST, FIRST, None)
    complete(driver, 1)
    place = Path(location(rig, 2))
    place.mkdir(parents=True)
    data = pickle.dumps([b"x"])
    handle = FileHandle("a1-op1-0-list-a", len(data), zlib.crc32(data))
    (place / handle.path).write_bytes(bytes(len(data)))  # of the right size, with other contents
    held = OperatorState(uid="op1", lists={"a": ListStateHandle(ListMode.SPLIT, handle)})
    assert driver.store(snapshot(2, held, savepoint=SavepointFormat.CANONICAL), str(place)) == Stored()
    assert driver.resolve(NEWEST, SECOND, ONE).checkpoint_id == 1
    assert f"the savepoint {place} is newer" in caplog.text
    assert "wrong checksum" in caplog.text
