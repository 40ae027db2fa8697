"""Finding the latest checkpoint in storage, and reading what subtasks start from."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.checkpoint.drivers.epochs import Base, EpochOwner
from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorShape
from headgate.checkpoint.restore.latest import Search, read_assignment, resolve_latest
from headgate.checkpoint.store import CheckpointStore, MemoryStore
from headgate.errors import DamagedFileError, RestoreError
from headgate.ids import CheckpointId, JobId, SubtaskId
from headgate.state.operator.list_elements import ListMode
from tests.unit.checkpoint.manifests import JOB, file, keyed, manifest, operator
from tests.unit.checkpoint.stores import store_of, written

TWO = CheckpointId(2)
ONE = CheckpointId(1)


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
