"""Which checkpoint a job starts from, by what storage shows, and reading what subtasks start from."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.completion_evidence import CompletionEvidence, that_counts
from headgate.checkpoint.drivers.epochs import NOBODY, Base, Chain, EpochOwner
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorShape
from headgate.checkpoint.restore.latest import (
    Damaged,
    Observed,
    Resolution,
    RestoreFacts,
    Search,
    Torn,
    read_assignment,
    resolve_latest,
    resolve_restore,
)
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import CheckpointId, JobId, SubtaskId
from headgate.state.operator.list_elements import ListMode
from tests.unit.checkpoint.manifests import JOB, file, keyed, manifest, operator
from tests.unit.checkpoint.stores import store_of, written

TWO = CheckpointId(2)
ONE = CheckpointId(1)
BROKEN = Damaged("chk-3/_metadata has changed")


def latest(store: CheckpointStore, known_complete: CheckpointId | None = None) -> Manifest | None:
    search = Search(known_complete=known_complete, may_fall_back=False)
    return resolve_latest(store, JOB, search).manifest


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
    search = Search(known_complete=None, may_fall_back=False)
    with pytest.raises(RestoreError, match="chk-1/a1-op-0-keyed is missing"):
        resolve_latest(store, JOB, search)
    chain = (Base(EpochOwner(9, "bb"), CheckpointId(0)),)
    resolution = resolve_latest(store, JOB, replace(search, chain=chain))
    assert (resolution.manifest, resolution.leftovers) == (None, (ONE,))


def test_list_states_are_read_and_dealt_out() -> None:
    store = MemoryStore()
    handle = store.write("chk-1/a1-source-0-list-splits", [pickle.dumps([b"x", b"y"])])
    snapshot = manifest(
        1, operator("source", OperatorState(uid="source", lists={"splits": ListStateHandle(ListMode.SPLIT, handle)}))
    )
    shape = OperatorShape(uid="source", name="Source", vertex=0, parallelism=2, max_parallelism=128)
    restored = read_assignment(store, snapshot, [shape], allow_non_restored=False)
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
        read_assignment(store, snapshot, [shape], allow_non_restored=False)


def resolve(
    observed: dict[int, Observed],
    *others: str,
    known_complete: int | None = None,
    may_fall_back: bool = False,
    chain: Chain = (),
    evidence: tuple[CompletionEvidence, ...] = (),
) -> Resolution:
    listing = (*others, *(f"chk-{checkpoint_id}/_metadata" for checkpoint_id in observed))
    return resolve_restore(
        RestoreFacts(
            listing=listing,
            manifests={CheckpointId(checkpoint_id): found for checkpoint_id, found in observed.items()},
            known_complete=None if known_complete is None else CheckpointId(known_complete),
            may_fall_back=may_fall_back,
            chain=chain,
            evidence=that_counts(evidence, chain),
        )
    )


def attested(checkpoint_id: int, owner: EpochOwner = NOBODY, *, stop: bool = False) -> CompletionEvidence:
    return CompletionEvidence(CheckpointId(checkpoint_id), owner, "0" * 64, stop)


def test_an_empty_folder_means_a_fresh_start() -> None:
    assert resolve({}) == Resolution(manifest=None, last_id=CheckpointId(0), leftovers=(), passed_over=())


def test_the_newest_complete_checkpoint_is_restored() -> None:
    assert resolve({2: manifest(2), 10: manifest(10), 9: manifest(9)}).manifest == manifest(10)


def test_a_checkpoint_without_a_manifest_is_a_leftover_whose_id_is_not_used_again() -> None:
    resolution = resolve({2: manifest(2)}, "chk-3/a1-count-0-keyed", "_result")
    assert resolution.manifest == manifest(2)
    assert (resolution.last_id, resolution.leftovers) == (3, (3,))


def test_a_torn_manifest_was_never_complete_and_is_passed_over() -> None:
    resolution = resolve({2: manifest(2), 3: Torn()})
    assert (resolution.manifest, resolution.leftovers, resolution.last_id) == (manifest(2), (3,), 3)


def test_a_damaged_newest_checkpoint_is_an_error_that_names_it() -> None:
    with pytest.raises(RestoreError, match="checkpoint 3 was complete, but cannot be restored: chk-3/_metadata has"):
        resolve({2: manifest(2), 3: BROKEN})


def test_a_damaged_newest_checkpoint_is_passed_over_where_output_may_repeat() -> None:
    resolution = resolve({2: manifest(2), 3: BROKEN}, may_fall_back=True)
    assert (resolution.manifest, resolution.passed_over, resolution.last_id) == (manifest(2), (3,), 3)


def test_a_damaged_older_checkpoint_harms_nobody() -> None:
    assert resolve({3: BROKEN, 4: manifest(4)}).manifest == manifest(4)


@pytest.mark.parametrize("left", [{2: manifest(2)}, {2: manifest(2), 3: Torn()}])
def test_a_manifest_that_this_master_saw_complete_may_not_vanish(left: dict[int, Observed]) -> None:
    with pytest.raises(RestoreError, match=r"checkpoint 3 was complete.*missing, empty or cut short"):
        resolve(left, known_complete=3)


def test_everything_gone_is_no_fresh_start_for_a_master_that_saw_a_checkpoint_complete() -> None:
    with pytest.raises(RestoreError, match="checkpoint 3 was complete"):
        resolve({}, known_complete=3)


def test_a_manifest_in_the_folder_of_another_checkpoint_is_damage() -> None:
    with pytest.raises(RestoreError, match="is the manifest of checkpoint 2"):
        resolve({3: manifest(2)})


def test_older_complete_checkpoints_are_told_and_what_was_never_completed_below_them_is_left_over() -> None:
    resolution = resolve({1: manifest(1), 2: Torn(), 3: BROKEN, 4: manifest(4), 5: manifest(5)})
    assert (resolution.manifest, resolution.older) == (manifest(5), (manifest(4), manifest(1)))
    assert (resolution.leftovers, resolution.passed_over) == ((2,), ())


def test_a_manifest_of_a_driver_that_was_taken_over_before_never_was_complete() -> None:
    chain = (Base(EpochOwner(2, "bb"), CheckpointId(3)),)
    late, own = manifest(4), replace(manifest(5), epoch=2, nonce="bb")
    assert resolve({3: manifest(3), 4: late}, chain=chain).manifest == manifest(3)
    resolution = resolve({3: manifest(3), 4: late, 5: own}, chain=chain)
    assert (resolution.manifest, resolution.older, resolution.leftovers) == (own, (manifest(3),), (4,))


@pytest.mark.parametrize("left", [{2: manifest(2)}, {2: manifest(2), 3: Torn()}, {}], ids=["missing", "torn", "alone"])
def test_a_checkpoint_with_evidence_whose_manifest_is_gone_is_damaged(left: dict[int, Observed]) -> None:
    with pytest.raises(RestoreError, match=r"checkpoint 3 was complete.*chk-3/_metadata was whole, and is now missing"):
        resolve(left, evidence=(attested(2), attested(3)))


def test_where_output_may_repeat_the_checkpoint_before_the_damaged_one_is_taken_and_the_id_is_not_used_again() -> None:
    resolution = resolve({2: manifest(2)}, evidence=(attested(3),), may_fall_back=True)
    assert (resolution.manifest, resolution.passed_over, resolution.leftovers) == (manifest(2), (3,), ())
    assert resolution.last_id == 3


def test_evidence_of_older_checkpoints_harms_nobody() -> None:
    assert resolve({4: manifest(4)}, evidence=(attested(2), attested(3), attested(4))).manifest == manifest(4)


def test_a_whole_manifest_counts_without_evidence() -> None:
    assert resolve({2: manifest(2), 3: manifest(3)}, evidence=(attested(2),)).manifest == manifest(3)


def test_evidence_of_a_driver_that_was_taken_over_before_does_not_count() -> None:
    chain = (Base(EpochOwner(2, "bb"), CheckpointId(3)),)
    resolution = resolve({3: manifest(3), 4: Torn()}, evidence=(attested(3), attested(4)), chain=chain)
    assert (resolution.manifest, resolution.leftovers) == (manifest(3), (4,))
    with pytest.raises(RestoreError, match="checkpoint 5 was complete"):
        resolve({3: manifest(3)}, evidence=(attested(5, EpochOwner(2, "bb")),), chain=chain)


def test_a_job_that_was_to_end_with_a_savepoint_does_not_go_on_when_the_record_of_that_is_gone() -> None:
    with pytest.raises(RestoreError, match=r"to end with this savepoint.*_stopped/"):
        resolve({2: manifest(2)}, evidence=(attested(2), attested(3, stop=True)))
