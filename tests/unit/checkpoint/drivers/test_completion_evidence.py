"""Evidence that a checkpoint was complete: when it is written, what it outlives, when it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.checkpoint import paths
from headgate.checkpoint.cleanup.registry import SharedFiles
from headgate.checkpoint.cleanup.retention import leftover_files, superseded_files
from headgate.checkpoint.drivers import intents, ownership
from headgate.checkpoint.drivers.completion_evidence import (
    CompletionEvidence,
    digest_of,
    evidence_in,
    outdated_evidence,
)
from headgate.checkpoint.drivers.epochs import EpochOwner
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.manifest import Manifest, encode
from headgate.checkpoint.manifest_storage import InDoubt, Stored
from headgate.checkpoint.restore.latest import Search, resolve_latest
from headgate.checkpoint.store import CheckpointStore, Chunk, MemoryStore
from headgate.errors import RestoreError, StorageError
from headgate.ids import Attempt, CheckpointId
from headgate.state.files import FileHandle
from tests.unit.checkpoint.manifests import JOB, manifest
from tests.unit.checkpoint.stores import OverMemory

OWNERS = st.builds(EpochOwner, st.integers(0, 999), st.text("0123456789abcdef", max_size=16))
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(st.integers(1, 10**12), OWNERS, DIGESTS, st.booleans())
def test_all_of_the_evidence_can_be_read_from_its_name(number: int, owner: EpochOwner, digest: str, stop: bool) -> None:
    evidence = CompletionEvidence(CheckpointId(number), owner, digest, stop)
    assert evidence_in(["_complete/notes", evidence.path, f"{evidence.path}.tmp"]) == [evidence]


def owned(owner: EpochOwner, checkpoint_id: int) -> Manifest:
    return replace(manifest(checkpoint_id), epoch=owner.number, nonce=owner.nonce)


def stored(store: CheckpointStore, *ids: int) -> EpochOwner:
    own = ownership.take_epoch(store, "aa")
    for checkpoint_id in ids:
        assert ownership.store_as_owner(store, owned(own, checkpoint_id), None) == Stored()
    return own


def latest(store: CheckpointStore, *, may_fall_back: bool = False) -> Manifest | None:
    chain = ownership.read_chain(store)
    return resolve_latest(store, JOB, Search(known_complete=None, may_fall_back=may_fall_back, chain=chain)).manifest


def cut(store: MemoryStore, path: str) -> None:
    store.files[path] = store.files[path][: len(store.files[path]) // 2]


def empty(store: MemoryStore, path: str) -> None:
    store.files[path] = b""


def remove(store: MemoryStore, path: str) -> None:
    del store.files[path]


def remove_folder(store: MemoryStore, path: str) -> None:
    store.delete_folder(path.partition("/")[0])


damaging = pytest.mark.parametrize("damage", [cut, empty, remove, remove_folder])


@damaging
def test_a_manifest_that_is_damaged_after_it_was_complete_is_no_older_checkpoint(
    damage: Callable[[MemoryStore, str], None],
) -> None:
    store = MemoryStore()
    own = stored(store, 1, 2)
    damage(store, paths.metadata(CheckpointId(2)))
    with pytest.raises(RestoreError, match=r"checkpoint 2 was complete.*missing, empty or cut short.*bring the file"):
        latest(store)
    assert latest(store, may_fall_back=True) == owned(own, 1)


def test_another_whole_manifest_in_its_place_is_damage() -> None:
    store = MemoryStore()
    own = stored(store, 1, 2)
    store.files["chk-2/_metadata"] = encode(replace(owned(own, 2), trigger_ms=99))
    with pytest.raises(RestoreError, match="is not the file with which the checkpoint was completed"):
        latest(store)


def test_a_manifest_whose_driver_died_before_the_evidence_counts_and_gets_it_when_it_is_restored() -> None:
    store = MemoryStore()
    stored(store, 1)
    remove(store, next(path for path in store.files if path.startswith(paths.COMPLETE)))
    found = latest(store)
    assert found is not None
    ownership.attest_restored(store, found)
    remove(store, "chk-1/_metadata")
    with pytest.raises(RestoreError, match="checkpoint 1 was complete"):
        latest(store)


class Failing(OverMemory):
    """A store that takes no evidence for a while."""

    fails = True

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        if self.fails and path.startswith(paths.COMPLETE):
            raise StorageError("no room")
        return super().write(path, chunks)


def test_a_checkpoint_whose_evidence_cannot_be_written_is_in_doubt_until_it_is() -> None:
    store = Failing()
    own = ownership.take_epoch(store, "aa")
    with pytest.raises(InDoubt, match="evidence of checkpoint 1"):
        ownership.store_as_owner(store, owned(own, 1), None)
    with pytest.raises(InDoubt):
        ownership.settle_as_owner(store, owned(own, 1), None)
    store.fails = False
    assert ownership.settle_as_owner(store, owned(own, 1), None) == Stored()
    assert ownership.settle_as_owner(store, owned(own, 1), None) == Stored()
    assert [each.checkpoint_id for each in evidence_in(store.list_files(""))] == [1]


@damaging
def test_a_recorded_stop_that_is_damaged_is_missed(damage: Callable[[MemoryStore, str], None]) -> None:
    store = MemoryStore()
    own = stored(store, 1)
    assert intents.record_stop(store, own, StopIntent("/savepoints/1", CheckpointId(2))) == Stored()
    damage(store, paths.stop_intent(str(own)))
    assert intents.read_stop(store, ()) is None
    with pytest.raises(RestoreError, match="the job is to end with this savepoint"):
        latest(store)


def test_a_stop_that_was_recorded_without_evidence_gets_it_when_it_is_followed() -> None:
    store = MemoryStore()
    own = stored(store, 1)
    intents.record_stop(store, own, StopIntent("/savepoints/1", CheckpointId(2)))
    remove(store, next(each.path for each in evidence_in(store.files) if each.stop))
    intents.attest_stop(store, ())
    remove(store, paths.stop_intent(str(own)))
    with pytest.raises(RestoreError, match="the job is to end with this savepoint"):
        latest(store)


# --- when it goes ------------------------------------------------------------------------------------------------


def attested(*ids: int) -> list[str]:
    return [CompletionEvidence(CheckpointId(each), EpochOwner(1, "aa"), digest_of(b""), False).path for each in ids]


@pytest.mark.parametrize(
    ("there", "kept", "gone"),
    [
        ((1, 2, 3), (3,), (1, 2)),
        ((1, 2, 3), (1, 3), (2,)),
        ((1, 2), (3,), ()),  # that of the newest is not durable: an older release stored it
        ((1, 2, 3, 4), (3,), (1, 2)),
        ((1, 2), (), ()),
    ],
)
def test_evidence_goes_when_a_newer_one_is_durable(
    there: tuple[int, ...], kept: tuple[int, ...], gone: tuple[int, ...]
) -> None:
    assert outdated_evidence(attested(*there), map(CheckpointId, kept)) == attested(*gone)


def test_retention_and_what_is_tidied_at_a_start_let_outdated_evidence_go_behind_its_manifest() -> None:
    listing = ["chk-1/_metadata", "chk-2/_metadata", *attested(1, 2)]
    shared = SharedFiles(in_use=frozenset(), newest=CheckpointId(2), attempt=Attempt(1), used_ahead={})
    assert superseded_files(listing, [manifest(2)], shared) == ["chk-1/_metadata", *attested(1)]
    assert leftover_files(["chk-2/_metadata", *attested(1, 2)], [manifest(2)], frozenset(), Attempt(2)) == attested(1)
