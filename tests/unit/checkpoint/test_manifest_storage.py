"""Writing manifests to storage in memory, healthy and failing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headgate.checkpoint.cleanup import deletion
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored, metadata_of, settle_manifest
from headgate.checkpoint.restore.latest import Search, resolve_latest
from headgate.checkpoint.store import CheckpointStore
from headgate.ids import Attempt, CheckpointId, JobId
from tests.unit.checkpoint.manifests import JOB, manifest
from tests.unit.checkpoint.stores import FailingStore, store_of, written

FIRST = Attempt(1)
ONE, TWO, THREE = CheckpointId(1), CheckpointId(2), CheckpointId(3)


def settled(store: CheckpointStore, each: Manifest) -> Stored | Refused:
    return settle_manifest(store, metadata_of(each), encode(each))


def latest(store: CheckpointStore, known_complete: CheckpointId | None = None) -> Manifest | None:
    search = Search(known_complete=known_complete, may_fall_back=False)
    return resolve_latest(store, JOB, search).manifest


def test_a_stored_manifest_is_what_a_restore_finds() -> None:
    assert latest(store_of(manifest(1), manifest(2))) == manifest(2)


def test_a_write_that_failed_after_it_took_effect_counts_as_stored() -> None:
    assert written(FailingStore(), manifest(1)) == Stored()


@pytest.mark.parametrize("kept", [lambda data: None, lambda data: data[:40], lambda data: b""])
def test_a_write_that_left_nothing_whole_is_refused_and_never_restored(kept: Callable[[bytes], bytes | None]) -> None:
    store = FailingStore(kept=kept)
    assert written(store, manifest(1)) == Refused("cannot write chk-1/_metadata: connection reset")
    assert latest(store) is None


def test_a_write_whose_outcome_cannot_be_seen_stays_in_doubt_until_it_can() -> None:
    store = FailingStore(reads_fail=True)
    with pytest.raises(InDoubt, match="cannot find out whether memory:chk-1/_metadata is stored"):
        written(store, manifest(1))
    with pytest.raises(InDoubt):
        settled(store, manifest(1))
    store.reads_fail = False
    assert settled(store, manifest(1)) == Stored()


def test_a_manifest_of_somebody_else_is_neither_overwritten_nor_cleaned_up() -> None:
    store = store_of(manifest(1, job_id=JobId("other")))
    refused = written(store, manifest(1))
    assert isinstance(refused, Refused)
    assert "another driver" in refused.reason
    deletion.discard_files(store, ONE, FIRST)
    assert store.list_files("") == ["chk-1/_metadata"]
