"""What attempts start from: the job's own checkpoints, a savepoint it was stopped with, or a snapshot of elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.drivers import job_records, ownership
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.manifest_storage import Stored
from headgate.elements import SavepointFormat
from headgate.errors import RestoreError
from headgate.functions.sink import SinkIdentity
from headgate.ids import Attempt
from headgate.job_status import JobStatus
from headgate.runtime.job_storage.restore import RestorePoint
from headgate.state.files import FileHandle
from headgate.state.operator.list_elements import ListMode
from tests.unit.runtime.job_storage.drivers import (
    FIRST,
    ONE,
    OTHER,
    PLAN,
    SINK,
    TWO,
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


# --- own checkpoints ---------------------------------------------------------------------------------------------


def test_a_driver_that_starts_again_goes_on_from_the_last_checkpoint_of_the_one_before(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1, 2)
    point = rig.driver().resolve(PLAN, Attempt(2), None)
    assert (point.checkpoint_id, point.root, point.last_id) == (2, None, 2)
    assert point.own is not None


def test_what_an_earlier_driver_stored_after_it_was_taken_over_is_not_started_from(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    second = rig.driver()
    assert second.resolve(PLAN, Attempt(2), None).checkpoint_id == 1
    late = replace(snapshot(2, listed("a")), epoch=1, nonce="")
    rig.store.write(paths.metadata(TWO), [encode(late)])
    point = second.resolve(PLAN, Attempt(3), ONE)
    assert (point.checkpoint_id, point.last_id) == (1, 2)
    assert rig.driver().resolve(PLAN, Attempt(4), None).checkpoint_id == 1


def test_a_driver_that_was_taken_over_stores_records_and_deletes_nothing_and_begins_no_attempt(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    rig.driver()
    before = rig.store.list_files("")
    assert isinstance(first.store(snapshot(2, listed("a"))), Superseded)
    assert isinstance(first.record_stop(TWO, "/savepoints/s"), Superseded)
    first.discard(ONE, FIRST)
    first.retain((), SharedFiles(in_use=frozenset(), newest=TWO, attempt=FIRST, used_ahead={}))
    first.tidy()
    first.finish(PLAN, outcome(JobStatus.FAILED))
    assert set(rig.store.list_files("")) == {*before, "chk-2/a1-claim"}
    with pytest.raises(RestoreError, match=r"taken over by a later driver \(epoch 2; this one has epoch 1\)"):
        first.resolve(PLAN, Attempt(7), ONE)


def test_a_driver_that_is_taken_over_while_it_ends_leaves_the_checkpoints_alone(rig: Rig) -> None:
    class Releasing(Committing):
        def release(self, identity: SinkIdentity) -> None:
            ownership.take_epoch(rig.store, "zz")

    plan = plan_with(Releasing())
    driver = rig.driver(plan)
    driver.resolve(plan, FIRST, None)
    complete(driver, 1)
    driver.finish(plan, outcome(JobStatus.FINISHED))
    assert rig.has(paths.metadata(ONE))


def test_leftovers_go_when_the_driver_has_found_what_to_start_from(rig: Rig) -> None:
    first = rig.driver()
    first.resolve(PLAN, FIRST, None)
    complete(first, 1)
    rig.store.write("chk-2/a1-op1-0-keyed", [b"left"])
    second = rig.driver()
    second.tidy()
    assert rig.has("chk-2/a1-op1-0-keyed")
    second.resolve(PLAN, Attempt(2), None)
    second.tidy()
    assert not rig.has("chk-2/a1-op1-0-keyed")
    assert rig.has(paths.metadata(ONE))


# --- damage ------------------------------------------------------------------------------------------------------


def with_files(rig: Rig) -> Driver:
    """A driver with two checkpoints, each with a file."""
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    for checkpoint_id in (1, 2):
        path = f"chk-{checkpoint_id}/a1-op1-0-keyed"
        rig.store.write(path, [bytes(4)])
        assert driver.store(snapshot(checkpoint_id, keyed(path))) == Stored()
    return driver


def test_a_checkpoint_with_a_missing_file_is_passed_over_when_no_output_can_be_repeated(rig: Rig) -> None:
    with_files(rig)
    rig.store.delete(["chk-2/a1-op1-0-keyed"])
    assert rig.driver().resolve(PLAN, Attempt(2), None).checkpoint_id == 1


def test_a_checkpoint_whose_sinks_may_have_committed_is_not_passed_over_unless_that_is_allowed(rig: Rig) -> None:
    with_files(rig)
    rig.store.delete(["chk-2/a1-op1-0-keyed"])
    with pytest.raises(RestoreError, match=r"(?s)checkpoint 2 was complete, .*a1-op1-0-keyed is missing.*allow-dup"):
        rig.driver().resolve(SINK, Attempt(2), None)
    allowed = plan_with(Committing(), headgate__recovery__allow_duplicate_output="true")
    assert rig.driver().resolve(allowed, Attempt(3), None).checkpoint_id == 1


def test_what_a_slot_finds_damaged_is_passed_over_by_the_next_attempt(rig: Rig) -> None:
    driver = with_files(rig)
    newest = driver.resolve(PLAN, Attempt(2), TWO)
    assert newest.checkpoint_id == 2
    assert driver.note_damaged(PLAN, newest, "chk-2/a1-op1-0-keyed has a wrong checksum")
    older = driver.resolve(PLAN, Attempt(3), TWO)
    assert older.checkpoint_id == 1
    assert not driver.note_damaged(SINK, older, "damaged as well")
    with pytest.raises(RestoreError, match="wrong checksum"):
        driver.resolve(SINK, Attempt(4), TWO)


def test_list_states_that_are_damaged_are_passed_over_as_well(rig: Rig) -> None:
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1)
    rig.store.write("chk-2/a1-op1-0-list-a", [b"changed"])
    handle = FileHandle("chk-2/a1-op1-0-list-a", 7, 0)
    state = OperatorState(uid="op1", lists={"a": ListStateHandle(ListMode.SPLIT, handle)})
    assert driver.store(snapshot(2, state)) == Stored()
    assert driver.resolve(PLAN, Attempt(2), None).checkpoint_id == 1


# --- from elsewhere ----------------------------------------------------------------------------------------------


def started(rig: Rig, location: str, **settings: str) -> RestorePoint:
    plan = plan_with(execution__state_recovery__path=location, **settings)
    driver = rig.driver()
    return driver.resolve(plan, Attempt(job_records.last_attempt(rig.store) + 1), None)


def test_a_job_without_checkpoints_starts_from_the_snapshot_that_is_named(rig: Rig) -> None:
    location = elsewhere(rig.folder, snapshot(7, listed("a")))
    point = started(rig, location)
    assert (point.checkpoint_id, point.last_id, point.root) == (7, 7, str(rig.folder / OTHER))
    assert point.own is None
    assert point.restored != {}


def test_its_own_checkpoints_come_first(rig: Rig) -> None:
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1)
    location = elsewhere(rig.folder, snapshot(7, listed("a")))
    assert started(rig, location).checkpoint_id == 1
    nowhere = str(rig.folder / "nowhere")
    assert started(rig, nowhere).checkpoint_id == 1, "what it once started from may be gone"


def test_a_relative_path_becomes_one_that_slots_in_other_folders_can_open(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(rig.folder)
    elsewhere(rig.folder, snapshot(7, listed("a"), savepoint=SavepointFormat.CANONICAL))
    assert started(rig, "savepoint-ef").root == str(rig.folder / "savepoint-ef")


REFUSED: dict[str, tuple[Manifest, dict[str, str], str]] = {
    "a file is missing": (snapshot(7, keyed("chk-7/a1-op1-0-gone")), {}, "chk-7/a1-op1-0-gone is missing"),
    "a file is cut short": (
        snapshot(7, keyed("chk-7/a1-op1-0-short", size=9)),
        {},
        "chk-7/a1-op1-0-short has 4 bytes, not 9",
    ),
    "an operator is gone": (snapshot(7, listed("a"), uid="old"), {}, "no operator of that uid"),
    "the max parallelism differs": (
        snapshot(7, keyed("chk-7/a1-op1-0-short"), max_parallelism=64),
        {},
        "written with max parallelism 64, which is fixed for the life of the state, but the job has 128",
    ),
    "the backend differs": (
        snapshot(7, keyed("chk-7/a1-op1-0-short", "rocksdb")),
        {"state__backend__type": "hashmap"},
        "is in files of RocksDB, which the backend hashmap cannot read.*make a savepoint in the canonical format",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_snapshot_that_does_not_fit_is_refused_before_anything_runs(why: str, rig: Rig) -> None:
    manifest, settings, reason = REFUSED[why]
    location = elsewhere(rig.folder, manifest, "chk-7/a1-op1-0-short")
    with pytest.raises(RestoreError, match=f"(?s){reason}"):
        started(rig, location, **settings)


def test_a_path_without_a_snapshot_is_refused_by_name(rig: Rig) -> None:
    with pytest.raises(RestoreError, match=f"there is no snapshot at {rig.folder}/nowhere"):
        started(rig, str(rig.folder / "nowhere"))


def test_state_without_an_operator_may_be_left_behind_when_that_is_allowed(rig: Rig) -> None:
    location = elsewhere(rig.folder, snapshot(7, listed("a"), uid="old"))
    point = started(rig, location, execution__savepoint__ignore_unclaimed_state="true")
    assert (point.checkpoint_id, point.restored) == (7, {})


# --- stopped with a savepoint ------------------------------------------------------------------------------------


def stopped(rig: Rig) -> str:
    """A job with checkpoint 1, which was then stopped with savepoint 2; return where that is."""
    driver = rig.driver()
    driver.resolve(PLAN, FIRST, None)
    complete(driver, 1)
    location = str(rig.folder / "savepoints" / "savepoint-ab")
    assert driver.store(snapshot(2, listed("a"), savepoint=SavepointFormat.NATIVE), location) == Stored()
    assert driver.record_stop(TWO, location) == Stored()
    return location


def test_a_job_that_was_stopped_only_finishes_whatever_starts_it_again(rig: Rig) -> None:
    location = stopped(rig)
    for attempt in (2, 3):
        point = rig.driver().resolve(PLAN, Attempt(attempt), None)
        assert (point.finishing, point.checkpoint_id, point.root) == (True, 2, location)


def test_a_savepoint_that_a_job_was_stopped_with_and_that_is_gone_is_an_error_and_no_older_checkpoint(rig: Rig) -> None:
    location = stopped(rig)
    Path(location, paths.METADATA).unlink()
    with pytest.raises(RestoreError, match="the job was stopped with a savepoint, and must commit what that holds"):
        rig.driver().resolve(PLAN, Attempt(2), None)
