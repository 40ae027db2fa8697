"""Checkpoint workflows over storage in memory, healthy and failing."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from headgate.checkpoint import paths, workflow
from headgate.checkpoint.cleanup.registry import SharedFiles, SharedStateRegistry
from headgate.checkpoint.drivers.epochs import Base, EpochOwner
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorShape, encode
from headgate.checkpoint.seal import seal
from headgate.checkpoint.store import CheckpointStore, Chunk, MemoryStore, chunks_of
from headgate.errors import DamagedFileError, RestoreError, StorageError
from headgate.ids import Attempt, CheckpointId, JobId, SlotIndex, SubtaskId
from headgate.job_status import JobStatus
from headgate.state.files import FileHandle
from headgate.state.operator.list_elements import ListMode
from tests.unit.checkpoint.manifests import JOB, file, keyed, manifest, operator

FIRST = Attempt(1)
ONE, TWO, THREE = CheckpointId(1), CheckpointId(2), CheckpointId(3)


@dataclass
class FailingStore:
    """A store whose writes reach `kept` bytes of the file before they fail, and whose reads fail when told to."""

    files: MemoryStore = field(default_factory=MemoryStore)
    kept: Callable[[bytes], bytes | None] = lambda data: data
    reads_fail: bool = False

    def locate(self, path: str) -> str:
        return self.files.locate(path)

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        kept = self.kept(b"".join(chunks))
        if kept is not None:
            self.files.write(path, [kept])
        raise StorageError(f"cannot write {path}: connection reset")

    def upload(self, path: str, source: Path) -> FileHandle:
        return self.write(path, chunks_of(source))

    def secure(self, path: str) -> None:
        self.files.secure(path)

    def read(self, path: str) -> bytes | None:
        if self.reads_fail:
            raise StorageError(f"cannot read {path}: no route")
        return self.files.read(path)

    def download(self, handle: FileHandle, target: Path) -> None:
        self.files.download(handle, target)

    def list_files(self, folder: str) -> list[str]:
        return self.files.list_files(folder)

    def list_sizes(self, folder: str) -> dict[str, int]:
        return self.files.list_sizes(folder)

    def delete(self, paths: Iterable[str]) -> None:
        self.files.delete(paths)

    def delete_folder(self, folder: str) -> None:
        self.files.delete_folder(folder)


def written(store: CheckpointStore, each: Manifest) -> workflow.Stored | workflow.Refused:
    return workflow.store_manifest(store, workflow.metadata_of(each), encode(each))


def settled(store: CheckpointStore, each: Manifest) -> workflow.Stored | workflow.Refused:
    return workflow.settle_manifest(store, workflow.metadata_of(each), encode(each))


def store_of(*manifests: Manifest) -> MemoryStore:
    store = MemoryStore()
    for each in manifests:
        assert written(store, each) == workflow.Stored()
    return store


def latest(store: CheckpointStore, known_complete: CheckpointId | None = None) -> Manifest | None:
    search = workflow.Search(known_complete=known_complete, may_fall_back=False)
    return workflow.resolve_latest(store, JOB, search).manifest


# --- storing -----------------------------------------------------------------------------------------------------


def test_a_stored_manifest_is_what_a_restore_finds() -> None:
    assert latest(store_of(manifest(1), manifest(2))) == manifest(2)


def test_a_write_that_failed_after_it_took_effect_counts_as_stored() -> None:
    assert written(FailingStore(), manifest(1)) == workflow.Stored()


@pytest.mark.parametrize("kept", [lambda data: None, lambda data: data[:40], lambda data: b""])
def test_a_write_that_left_nothing_whole_is_refused_and_never_restored(kept: Callable[[bytes], bytes | None]) -> None:
    store = FailingStore(kept=kept)
    assert written(store, manifest(1)) == workflow.Refused("cannot write chk-1/_metadata: connection reset")
    assert latest(store) is None


def test_a_write_whose_outcome_cannot_be_seen_stays_in_doubt_until_it_can() -> None:
    store = FailingStore(reads_fail=True)
    with pytest.raises(workflow.InDoubt, match="cannot find out whether memory:chk-1/_metadata is stored"):
        written(store, manifest(1))
    with pytest.raises(workflow.InDoubt):
        settled(store, manifest(1))
    store.reads_fail = False
    assert settled(store, manifest(1)) == workflow.Stored()


def test_a_manifest_of_somebody_else_is_neither_overwritten_nor_cleaned_up() -> None:
    store = store_of(manifest(1, job_id=JobId("other")))
    refused = written(store, manifest(1))
    assert isinstance(refused, workflow.Refused)
    assert "another driver" in refused.reason
    workflow.discard_files(store, ONE, FIRST)
    assert store.list_files("") == ["chk-1/_metadata"]


# --- restoring ---------------------------------------------------------------------------------------------------


def test_damage_names_the_file(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    written(store, manifest(1))
    damaged = tmp_path / JOB / "chk-1" / "_metadata"
    damaged.write_bytes(damaged.read_bytes().replace(b'"attempt": 1', b'"attempt": 2'))
    with pytest.raises(RestoreError, match=f"{damaged} is torn or has changed"):
        latest(store)


def test_a_manifest_of_another_job_is_refused() -> None:
    with pytest.raises(RestoreError, match="memory:chk-1/_metadata belongs to job other"):
        latest(store_of(manifest(1, job_id=JobId("other"))))


def test_a_checkpoint_that_this_master_completed_cannot_vanish_unnoticed() -> None:
    with pytest.raises(RestoreError, match="checkpoint 2 was complete"):
        latest(store_of(manifest(1)), known_complete=TWO)


def test_what_a_driver_stored_after_it_was_taken_over_is_not_missed_when_its_files_are_gone() -> None:
    store = store_of(manifest(1, operator("op", keyed("op", 0, 127, file("chk-1/a1-op-0-keyed")))))
    search = workflow.Search(known_complete=None, may_fall_back=False)
    with pytest.raises(RestoreError, match="chk-1/a1-op-0-keyed is missing"):
        workflow.resolve_latest(store, JOB, search)
    chain = (Base(EpochOwner(9, "bb"), CheckpointId(0)),)
    resolution = workflow.resolve_latest(store, JOB, replace(search, chain=chain))
    assert (resolution.manifest, resolution.leftovers) == (None, (ONE,))


def test_list_states_are_read_and_dealt_out() -> None:
    store = MemoryStore()
    handle = store.write("chk-1/a1-source-0-list-splits", [pickle.dumps([b"x", b"y"])])
    snapshot = manifest(
        1, operator("source", OperatorState(uid="source", lists={"splits": ListStateHandle(ListMode.SPLIT, handle)}))
    )
    shape = OperatorShape(uid="source", name="Source", vertex=0, parallelism=2, max_parallelism=128)
    restored = workflow.read_assignment(store, snapshot, [shape], allow_non_restored=False)
    assert restored[SubtaskId(0, 0)]["source"].lists["splits"].elements == [b"x"]
    assert restored[SubtaskId(0, 1)]["source"].lists["splits"].elements == [b"y"]


def test_a_damaged_list_state_is_never_unpickled() -> None:
    store = MemoryStore()
    handle = store.write("chk-1/a1-source-0-list-splits", [pickle.dumps([b"x"])])
    store.files[handle.path] = store.files[handle.path][:-1] + b"!"
    snapshot = manifest(
        1, operator("source", OperatorState(uid="source", lists={"splits": ListStateHandle(ListMode.SPLIT, handle)}))
    )
    shape = OperatorShape(uid="source", name="Source", vertex=0, parallelism=1, max_parallelism=128)
    with pytest.raises(DamagedFileError, match="memory:chk-1/a1-source-0-list-splits has a wrong checksum"):
        workflow.read_assignment(store, snapshot, [shape], allow_non_restored=False)


def shared_with(*complete: Manifest) -> SharedFiles:
    registry = SharedStateRegistry(checkpoints_kept=2)
    for each in complete:
        registry.register(each)
    return registry.files()


# --- cleaning up -------------------------------------------------------------------------------------------------


def test_retaining_deletes_what_is_older_and_not_named() -> None:
    store = store_of(manifest(1), manifest(2, operator("op", keyed("op", 0, 127, file("chk-1/a1-op-0-keyed")))))
    store.write("chk-1/a1-op-0-keyed", [b"shared"])
    store.write("chk-1/a1-op-1-keyed", [b"old"])
    store.write("chk-3/a1-op-0-keyed", [b"under way"])
    workflow.retain(store, [TWO], shared_with(manifest(2)))
    assert store.list_files("") == ["chk-1/a1-op-0-keyed", "chk-2/_metadata", "chk-3/a1-op-0-keyed"]


def test_nothing_is_deleted_when_a_kept_manifest_cannot_be_read() -> None:
    store = store_of(manifest(1), manifest(2))
    store.files["chk-2/_metadata"] = encode(manifest(2)) + b"!"
    with pytest.raises(DamagedFileError):
        workflow.retain(store, [TWO], shared_with(manifest(2)))
    assert len(store.files) == 2


def test_a_retention_that_a_later_one_has_overtaken_deletes_nothing() -> None:
    store = store_of(manifest(1), manifest(3))
    workflow.retain(store, [TWO], shared_with(manifest(2)))
    assert len(store.files) == 2


def test_deleted_checkpoints_leave_no_empty_folders(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    for checkpoint_id in (1, 2):
        written(store, manifest(checkpoint_id))
    store.write("chk-3/a1-op-0-keyed", [b"state"])
    workflow.retain(store, [TWO], shared_with(manifest(2)))
    workflow.discard_files(store, THREE, FIRST)
    assert [folder.name for folder in (tmp_path / JOB).iterdir()] == ["chk-2"]


def test_a_folder_of_shared_files_that_is_empty_goes_with_the_job(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    written(store, manifest(2))
    store.write("shared/1-a1-op-0-sst", [b"state"])
    workflow.retain(store, [TWO], shared_with(manifest(2)))
    workflow.delete_checkpoints(store)
    assert list((tmp_path / JOB).iterdir()) == []


def test_giving_up_deletes_the_attempts_files_and_a_torn_manifest() -> None:
    store = MemoryStore()
    store.write("chk-1/a1-op-0-keyed", [b"state"])
    store.write("chk-1/_metadata", [encode(manifest(1))[:50]])
    workflow.discard_files(store, ONE, FIRST)
    assert store.files == {}


def test_a_shared_file_that_the_checkpoint_given_up_was_to_use_again_stays() -> None:
    first = manifest(1, operator("op", keyed("op", 0, 127, file("shared/1-a1-op-0-sst"))))
    store = store_of(first)
    store.write("shared/1-a1-op-0-sst", [b"of checkpoint 1"])
    store.write("shared/2-a1-op-0-sst", [b"of checkpoint 2"])
    store.write("shared/2-a3-op-0-sst", [b"of another attempt"])
    store.write("chk-2/a1-op-0-CURRENT", [b"state"])
    workflow.discard_files(store, TWO, FIRST)
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
    workflow.retain(store, [THREE], shared_with(*complete))
    assert deleted == ["chk-1/_metadata", "chk-2/_metadata", old]
    assert "taskowned/anything" in store.files


@pytest.mark.parametrize(
    "clean_up",
    [
        lambda store: workflow.discard_files(store, TWO, FIRST),
        lambda store: workflow.retain(store, [THREE], shared_with(manifest(3))),
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
    workflow.delete_checkpoints(store)
    assert store.list_files("") == ["taskowned/anything"]


def test_a_checkpoint_with_a_whole_manifest_is_not_discarded_even_by_mistake() -> None:
    store = store_of(manifest(1))
    store.write("chk-1/a1-op-0-keyed", [b"state"])
    workflow.discard_files(store, ONE, FIRST)
    assert len(store.files) == 2


def test_the_result_stays_when_all_checkpoints_go(tmp_path: Path) -> None:
    store = FileSystemStore.open(str(tmp_path), JOB)
    written(store, manifest(1))
    workflow.write_result(store, workflow.JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=5))
    workflow.delete_checkpoints(store)
    assert store.list_files("") == ["_result"]
    assert not (tmp_path / JOB / paths.checkpoint_folder(ONE)).exists()


# --- the result --------------------------------------------------------------------------------------------------


def test_a_result_of_another_release_is_refused_with_its_word_and_place() -> None:
    store = MemoryStore()
    store.write(paths.RESULT, [seal({"status": "hibernating", "cause": None, "ended_ms": 5})])
    with pytest.raises(StorageError, match=r"_result.*'hibernating'.*the release that wrote it"):
        workflow.read_result(store)


def test_a_result_is_read_as_written_and_the_first_one_stands() -> None:
    store = MemoryStore()
    assert workflow.read_result(store) is None
    result = workflow.JobResult(status=JobStatus.FAILED, cause="boom", ended_ms=5)
    workflow.write_result(store, result)
    workflow.write_result(store, workflow.JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=6))
    assert workflow.read_result(store) == result


def test_a_torn_result_is_none_while_its_driver_has_its_epoch_and_can_be_written_again() -> None:
    store = MemoryStore()
    store.write(paths.epoch("1-aa"), [b""])
    store.write(paths.RESULT, [b'{"status"'])
    assert workflow.read_result(store) is None
    workflow.write_result(store, workflow.JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=6))
    assert workflow.read_result(store) is not None


# --- shared storage ----------------------------------------------------------------------------------------------

HOSTS = {SlotIndex(0): "alpha", SlotIndex(1): "beta"}


def test_slots_that_share_the_storage_prove_it_and_leave_nothing_behind() -> None:
    store = MemoryStore()
    workflow.write_probe(store, "n1")
    for slot, host in HOSTS.items():
        workflow.answer_probe(store, "n1", slot, host)
    workflow.check_probes(store, "n1", HOSTS)
    assert store.files == {}


def test_a_proof_leaves_that_of_another_driver_of_the_job_alone() -> None:
    store = MemoryStore()
    workflow.write_probe(store, "n2")
    workflow.write_probe(store, "n1")
    for slot, host in HOSTS.items():
        workflow.answer_probe(store, "n1", slot, host)
    workflow.check_probes(store, "n1", HOSTS)
    assert list(store.files) == [paths.probe("n2", workflow.MASTER)]


def test_a_slot_that_does_not_see_the_drivers_file_names_host_and_path() -> None:
    with pytest.raises(StorageError, match=r"not shared: slot 1 on host beta .* memory:_probe/n1-master\. Set the"):
        workflow.answer_probe(MemoryStore(), "n1", SlotIndex(1), "beta")


def test_a_slot_whose_file_the_driver_does_not_see_is_named() -> None:
    store = MemoryStore()
    workflow.write_probe(store, "n1")
    workflow.answer_probe(store, "n1", SlotIndex(0), "alpha")
    with pytest.raises(StorageError, match=r"does not see the file of slot 1 on beta memory:_probe/n1-slot-1"):
        workflow.check_probes(store, "n1", HOSTS)
