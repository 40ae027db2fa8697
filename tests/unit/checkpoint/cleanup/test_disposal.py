"""Deleting snapshots, and what earlier drivers have left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup import disposal
from headgate.checkpoint.drivers import ownership
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.restore.resolve import Resolution
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.checkpoint.workflow import Search, resolve_latest
from headgate.elements import SavepointFormat
from headgate.errors import RestoreError
from headgate.ids import Attempt, CheckpointId, JobId
from tests.unit.checkpoint.manifests import JOB, file, keyed, manifest, operator

OPEN = FileSystemStore.open_folder


def naming(checkpoint_id: int, *names: str) -> Manifest:
    states = [keyed("count", index, index, file(name)) for index, name in enumerate(names)]
    return manifest(checkpoint_id, operator("count", *states))


def put(store: CheckpointStore, *manifests: Manifest, others: tuple[str, ...] = ()) -> None:
    """Write the manifests, the files that they name, and others."""
    for each in manifests:
        path = paths.METADATA if each.savepoint is not None else paths.metadata(each.checkpoint_id)
        store.write(path, [encode(each)])
    named = {name for each in manifests for name in each.files()}
    for name in sorted({*named, *others}):
        store.write(name, [bytes(10)])


def savepoint_at(folder: Path, *others: str) -> str:
    saved = replace(naming(4, "a1-count-0-keyed", "a1-count-1-keyed"), savepoint=SavepointFormat.NATIVE)
    put(OPEN(str(folder)), saved, others=others)
    return str(folder)


def test_a_savepoint_is_disposed_of_wholly_and_only_once(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61")
    (tmp_path / "beside").write_text("")
    disposal.dispose_savepoint(location, OPEN)
    assert [path.name for path in tmp_path.iterdir()] == ["beside"]
    with pytest.raises(RestoreError, match="there is no snapshot at"):
        disposal.dispose_savepoint(location, OPEN)


def test_a_file_that_somebody_put_beside_a_savepoint_stays(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61", "notes.txt")
    disposal.dispose_savepoint(location, OPEN)
    assert OPEN(location).list_files("") == ["notes.txt"]


def test_a_savepoint_that_names_what_lies_outside_of_it_is_refused_and_nothing_goes(tmp_path: Path) -> None:
    outside = tmp_path / "a1-count-0-keyed"
    outside.write_text("another's")
    saved = replace(naming(4, "../a1-count-0-keyed"), savepoint=SavepointFormat.NATIVE)
    location = tmp_path / "savepoint-cd61"
    OPEN(str(location)).write(paths.METADATA, [encode(saved)])
    with pytest.raises(RestoreError, match=r"names '\.\./a1-count-0-keyed', which is not a state file"):
        disposal.dispose_savepoint(str(location), OPEN)
    assert outside.read_text() == "another's"
    assert (location / paths.METADATA).exists()


def test_a_job_whose_folder_is_below_a_savepoint_keeps_its_checkpoints(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61")
    job = FileSystemStore.open(location, JOB)
    put(job, naming(3, "chk-3/a1-count-0-keyed", "shared/3-a1-count-0-y"))
    before = job.list_files("")
    disposal.dispose_savepoint(location, OPEN)
    assert job.list_files("") == before


def test_what_a_killed_process_has_left_of_a_savepoint_goes_with_it(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61", "_metadata.5f.tmp", "a1-count-0-keyed.5f.tmp")
    disposal.dispose_savepoint(location, OPEN)
    assert not Path(location).exists()


def test_a_checkpoint_is_not_disposed_of_as_a_savepoint(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, manifest(3))
    with pytest.raises(RestoreError, match="chk-3/_metadata is a checkpoint, not a savepoint: its job deletes it"):
        disposal.dispose_savepoint(str(tmp_path / JOB / "chk-3"), OPEN)
    assert store.list_files("") == ["chk-3/_metadata"]


def test_of_a_claimed_checkpoint_goes_what_no_other_one_names(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(
        store,
        naming(2, "shared/2-a1-count-0-x"),
        naming(3, "shared/2-a1-count-0-x", "shared/3-a1-count-0-y", "chk-3/a1-count-0-keyed"),
        others=("chk-3/a1-claim", "_result"),
    )
    location = str(tmp_path / JOB / "chk-3")
    disposal.dispose_claimed(location, OPEN)
    assert store.list_files("") == ["_result", "chk-2/_metadata", "shared/2-a1-count-0-x"]
    assert not Path(location).exists()
    disposal.dispose_claimed(location, OPEN)


def test_while_another_checkpoint_cannot_be_read_only_the_claimed_manifest_goes(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, naming(2, "shared/2-a1-count-0-x"), naming(3, "shared/3-a1-count-0-y"))
    metadata = tmp_path / JOB / "chk-2" / "_metadata"
    metadata.write_bytes(metadata.read_bytes().replace(b"beef", b"bee5").replace(b"Count", b"Coint"))
    disposal.dispose_claimed(str(tmp_path / JOB / "chk-3"), OPEN)
    assert store.list_files("") == ["chk-2/_metadata", "shared/2-a1-count-0-x", "shared/3-a1-count-0-y"]


def found_in(store: CheckpointStore) -> Resolution:
    return resolve_latest(store, JOB, Search(known_complete=None, may_fall_back=True))


KEPT = ("chk-2/a1-count-0-keyed", "chk-3/a1-count-0-keyed", "shared/1-a1-count-0-x", "shared/ahead-2-a1-count-0-d")
LEFT = (
    "chk-1/a1-count-0-keyed",  # its manifest was deleted, and then the driver died
    "chk-4/a1-count-0-keyed",
    "chk-4/a1-claim",
    "shared/3-a1-count-0-z",
    "shared/4-a2-count-0-y",
    "shared/ahead-3-a1-count-0-d",
    "_probe/5f-slot-1",
    "_attempt/1",
    "chk-4/_metadata.5f.tmp",
    "chk-4/a1-count-0-keyed.5f.tmp",
    "shared/4-a2-count-0-w.5f.tmp",
    "_attempt/1.5f.tmp",
)
LIVE = (
    "chk-4/a3-count-0-keyed",
    "shared/5-a3-count-0-y",
    "chk-4/a3-count-0-keyed.5f.tmp",
    "shared/5-a3-count-0-w.5f.tmp",
    "_attempt/3",
    "_attempt/4",
    "_attempt/4.5f.tmp",
    "taskowned/log",
    "_master/1-5f",
    "notes",
)


def test_what_a_crashed_driver_left_goes_but_nothing_that_a_complete_checkpoint_names() -> None:
    store = MemoryStore()
    put(store, naming(2, KEPT[0], KEPT[2]), naming(3, KEPT[1], KEPT[2], KEPT[3]), others=(*LEFT, *LIVE))
    store.write("chk-5/_metadata", [b'{"cut'])
    ownership.take_epoch(store, "aa")
    own = ownership.take_epoch(store, "bb")
    disposal.remove_leftovers(store, own, found_in(store), Attempt(3))
    complete = ("chk-2/_metadata", "chk-3/_metadata")
    assert store.list_files("") == sorted([*KEPT, *LIVE, *complete, paths.epoch("2-bb")])


def test_empty_folders_of_checkpoints_go_as_well(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, manifest(2), others=("chk-3/a1-claim",))
    disposal.remove_leftovers(store, ownership.take_epoch(store, "aa"), found_in(store), Attempt(2))
    assert sorted(path.name for path in (tmp_path / JOB).iterdir()) == ["_epoch", "chk-2"]


def test_another_jobs_folder_is_never_looked_at(tmp_path: Path) -> None:
    other = FileSystemStore.open(str(tmp_path), JobId("ef02"))
    put(other, others=LEFT)
    before = other.list_files("")
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, manifest(2), others=LEFT)
    disposal.remove_leftovers(store, ownership.take_epoch(store, "aa"), found_in(store), Attempt(3))
    assert other.list_files("") == before


def test_nothing_goes_while_a_damaged_checkpoint_is_passed_over_as_it_may_be_mended() -> None:
    store = MemoryStore()
    put(store, manifest(2), naming(3, "shared/3-a1-count-0-y"), others=("shared/3-a1-count-0-z",))
    store.delete(["shared/3-a1-count-0-y"])
    found = found_in(store)
    assert found.passed_over == (CheckpointId(3),)
    before = store.list_files("")
    disposal.remove_leftovers(store, ownership.take_epoch(MemoryStore(), "aa"), found, Attempt(3))
    assert store.list_files("") == before
