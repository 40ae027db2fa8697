"""Deleting checkpoints and savepoints, and files that earlier drivers have left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup import deletion
from headgate.checkpoint.cleanup.registry import SharedFiles, SharedStateRegistry
from headgate.checkpoint.drivers import job_records, ownership
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.restore.latest import Resolution, Search, resolve_latest
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.elements import SavepointFormat
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import Attempt, CheckpointId, JobId
from headgate.job_status import JobStatus
from tests.unit.checkpoint.manifests import JOB, file, keyed, manifest, operator
from tests.unit.checkpoint.stores import store_of, written

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
    deletion.dispose_savepoint(location, OPEN)
    assert [path.name for path in tmp_path.iterdir()] == ["beside"]
    with pytest.raises(RestoreError, match="there is no snapshot at"):
        deletion.dispose_savepoint(location, OPEN)


def test_a_file_that_somebody_put_beside_a_savepoint_stays(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61", "notes.txt")
    deletion.dispose_savepoint(location, OPEN)
    assert OPEN(location).list_files("") == ["notes.txt"]


def test_a_savepoint_that_names_what_lies_outside_of_it_is_refused_and_nothing_goes(tmp_path: Path) -> None:
    outside = tmp_path / "a1-count-0-keyed"
    outside.write_text("another's")
    saved = replace(naming(4, "../a1-count-0-keyed"), savepoint=SavepointFormat.NATIVE)
    location = tmp_path / "savepoint-cd61"
    OPEN(str(location)).write(paths.METADATA, [encode(saved)])
    with pytest.raises(RestoreError, match=r"names '\.\./a1-count-0-keyed', which is not a state file"):
        deletion.dispose_savepoint(str(location), OPEN)
    assert outside.read_text() == "another's"
    assert (location / paths.METADATA).exists()


def test_a_job_whose_folder_is_below_a_savepoint_keeps_its_checkpoints(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61")
    job = FileSystemStore.open(location, JOB)
    put(job, naming(3, "chk-3/a1-count-0-keyed", "shared/3-a1-count-0-y"))
    before = job.list_files("")
    deletion.dispose_savepoint(location, OPEN)
    assert job.list_files("") == before


def test_what_a_killed_process_has_left_of_a_savepoint_goes_with_it(tmp_path: Path) -> None:
    location = savepoint_at(tmp_path / "savepoint-cd61", "_metadata.5f.tmp", "a1-count-0-keyed.5f.tmp")
    deletion.dispose_savepoint(location, OPEN)
    assert not Path(location).exists()


def test_a_checkpoint_is_not_disposed_of_as_a_savepoint(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, manifest(3))
    with pytest.raises(RestoreError, match="chk-3/_metadata is a checkpoint, not a savepoint: its job deletes it"):
        deletion.dispose_savepoint(str(tmp_path / JOB / "chk-3"), OPEN)
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
    deletion.dispose_claimed(location, OPEN)
    assert store.list_files("") == ["_result", "chk-2/_metadata", "shared/2-a1-count-0-x"]
    assert not Path(location).exists()
    deletion.dispose_claimed(location, OPEN)


def test_while_another_checkpoint_cannot_be_read_only_the_claimed_manifest_goes(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, naming(2, "shared/2-a1-count-0-x"), naming(3, "shared/3-a1-count-0-y"))
    metadata = tmp_path / JOB / "chk-2" / "_metadata"
    metadata.write_bytes(metadata.read_bytes().replace(b"beef", b"bee5").replace(b"Count", b"Coint"))
    deletion.dispose_claimed(str(tmp_path / JOB / "chk-3"), OPEN)
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
    deletion.remove_leftovers(store, own, found_in(store), Attempt(3))
    complete = ("chk-2/_metadata", "chk-3/_metadata")
    assert store.list_files("") == sorted([*KEPT, *LIVE, *complete, paths.epoch("2-bb")])


def test_empty_folders_of_checkpoints_go_as_well(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, manifest(2), others=("chk-3/a1-claim",))
    deletion.remove_leftovers(store, ownership.take_epoch(store, "aa"), found_in(store), Attempt(2))
    assert sorted(path.name for path in (tmp_path / JOB).iterdir()) == ["_epoch", "chk-2"]


def test_another_jobs_folder_is_never_looked_at(tmp_path: Path) -> None:
    other = FileSystemStore.open(str(tmp_path), JobId("ef02"))
    put(other, others=LEFT)
    before = other.list_files("")
    store = FileSystemStore.open(str(tmp_path), JOB)
    put(store, manifest(2), others=LEFT)
    deletion.remove_leftovers(store, ownership.take_epoch(store, "aa"), found_in(store), Attempt(3))
    assert other.list_files("") == before


def test_nothing_goes_while_a_damaged_checkpoint_is_passed_over_as_it_may_be_mended() -> None:
    store = MemoryStore()
    put(store, manifest(2), naming(3, "shared/3-a1-count-0-y"), others=("shared/3-a1-count-0-z",))
    store.delete(["shared/3-a1-count-0-y"])
    found = found_in(store)
    assert found.passed_over == (CheckpointId(3),)
    before = store.list_files("")
    deletion.remove_leftovers(store, ownership.take_epoch(MemoryStore(), "aa"), found, Attempt(3))
    assert store.list_files("") == before


# --- checkpoints ---------------------------------------------------------------------------------------------------

FIRST = Attempt(1)
ONE, TWO, THREE = CheckpointId(1), CheckpointId(2), CheckpointId(3)


def shared_with(*complete: Manifest) -> SharedFiles:
    registry = SharedStateRegistry(checkpoints_kept=2)
    for each in complete:
        registry.register(each)
    return registry.files()


def test_retaining_deletes_what_is_older_and_not_named() -> None:
    store = store_of(manifest(1), manifest(2, operator("op", keyed("op", 0, 127, file("chk-1/a1-op-0-keyed")))))
    store.write("chk-1/a1-op-0-keyed", [b"shared"])
    store.write("chk-1/a1-op-1-keyed", [b"old"])
    store.write("chk-3/a1-op-0-keyed", [b"under way"])
    deletion.retain(store, [TWO], shared_with(manifest(2)))
    assert store.list_files("") == ["chk-1/a1-op-0-keyed", "chk-2/_metadata", "chk-3/a1-op-0-keyed"]


def test_nothing_is_deleted_when_a_kept_manifest_cannot_be_read() -> None:
    store = store_of(manifest(1), manifest(2))
    store.files["chk-2/_metadata"] = encode(manifest(2)) + b"!"
    with pytest.raises(DamagedFileError):
        deletion.retain(store, [TWO], shared_with(manifest(2)))
    assert len(store.files) == 2


def test_a_retention_that_a_later_one_has_overtaken_deletes_nothing() -> None:
    store = store_of(manifest(1), manifest(3))
    deletion.retain(store, [TWO], shared_with(manifest(2)))
    assert len(store.files) == 2


def test_deleted_checkpoints_leave_no_empty_folders(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    for checkpoint_id in (1, 2):
        written(store, manifest(checkpoint_id))
    store.write("chk-3/a1-op-0-keyed", [b"state"])
    deletion.retain(store, [TWO], shared_with(manifest(2)))
    deletion.discard_files(store, THREE, FIRST)
    assert [folder.name for folder in (tmp_path / JOB).iterdir()] == ["chk-2"]


def test_a_folder_of_shared_files_that_is_empty_goes_with_the_job(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    written(store, manifest(2))
    store.write("shared/1-a1-op-0-sst", [b"state"])
    deletion.retain(store, [TWO], shared_with(manifest(2)))
    deletion.delete_checkpoints(store)
    assert list((tmp_path / JOB).iterdir()) == []


def test_giving_up_deletes_the_attempts_files_and_a_torn_manifest() -> None:
    store = MemoryStore()
    store.write("chk-1/a1-op-0-keyed", [b"state"])
    store.write("chk-1/_metadata", [encode(manifest(1))[:50]])
    deletion.discard_files(store, ONE, FIRST)
    assert store.files == {}


def test_a_shared_file_that_the_checkpoint_given_up_was_to_use_again_stays() -> None:
    first = manifest(1, operator("op", keyed("op", 0, 127, file("shared/1-a1-op-0-sst"))))
    store = store_of(first)
    store.write("shared/1-a1-op-0-sst", [b"of checkpoint 1"])
    store.write("shared/2-a1-op-0-sst", [b"of checkpoint 2"])
    store.write("shared/2-a3-op-0-sst", [b"of another attempt"])
    store.write("chk-2/a1-op-0-CURRENT", [b"state"])
    deletion.discard_files(store, TWO, FIRST)
    assert store.list_files("") == ["chk-1/_metadata", "shared/1-a1-op-0-sst", "shared/2-a3-op-0-sst"]


def test_a_shared_file_goes_when_no_kept_checkpoint_needs_it_and_after_the_manifests_that_named_it() -> None:
    old, new = "shared/1-a1-op-0-old", "shared/1-a1-op-0-new"
    both = operator("op", keyed("op", 0, 63, file(old)), keyed("op", 64, 127, file(new)))
    one = operator("op", keyed("op", 64, 127, file(new)))
    complete = [manifest(1, both), manifest(2, one), manifest(3, one)]
    store = store_of(*complete)
    for path in (old, new, "shared/4-a1-op-0-pending", "taskowned/anything"):
        store.write(path, [b"x"])
    deleted: list[str] = []
    delete = store.delete

    def watched(paths: Iterable[str]) -> None:
        deleted.extend(paths)
        delete(deleted)

    store.delete = watched  # type: ignore[method-assign]
    deletion.retain(store, [THREE], shared_with(*complete))
    assert deleted == ["chk-1/_metadata", "chk-2/_metadata", old]
    assert "taskowned/anything" in store.files


@pytest.mark.parametrize(
    "clean_up",
    [
        lambda store: deletion.discard_files(store, TWO, FIRST),
        lambda store: deletion.retain(store, [THREE], shared_with(manifest(3))),
    ],
)
def test_what_slots_share_while_it_is_being_cleaned_up_stays(clean_up: Callable[[MemoryStore], None]) -> None:
    store = store_of(manifest(3))
    store.write("shared/2-a1-op-0-sst", [b"of a checkpoint that was given up"])
    list_files = store.list_files

    def listed_just_before(folder: str) -> list[str]:
        listing = list_files(folder)
        if not paths.checkpoint_of(folder):
            store.files["shared/4-a1-op-0-sst"] = b"of a checkpoint under way"
        return listing

    store.list_files = listed_just_before  # type: ignore[method-assign]
    clean_up(store)
    assert list_files("shared") == ["shared/4-a1-op-0-sst"]


def test_what_is_task_owned_outlives_the_job() -> None:
    store = store_of(manifest(1))
    for path in ("taskowned/anything", "shared/1-a1-op-0-sst"):
        store.write(path, [b"x"])
    deletion.delete_checkpoints(store)
    assert store.list_files("") == ["taskowned/anything"]


def test_a_checkpoint_with_a_whole_manifest_is_not_discarded_even_by_mistake() -> None:
    store = store_of(manifest(1))
    store.write("chk-1/a1-op-0-keyed", [b"state"])
    deletion.discard_files(store, ONE, FIRST)
    assert len(store.files) == 2


def test_the_result_stays_when_all_checkpoints_go(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    written(store, manifest(1))
    job_records.write_result(store, job_records.JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=5))
    deletion.delete_checkpoints(store)
    assert store.list_files("") == ["_result"]
    assert not (tmp_path / JOB / paths.checkpoint_folder(ONE)).exists()
