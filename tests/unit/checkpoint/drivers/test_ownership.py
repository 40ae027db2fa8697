"""Taking an epoch, and what only the owner of a job may do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import ownership
from headgate.checkpoint.drivers.epochs import Base, EpochOwner
from headgate.checkpoint.drivers.job_records import JobResult, write_result
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest import Manifest
from headgate.checkpoint.manifest_storage import InDoubt, Refused, Stored
from headgate.checkpoint.store import CheckpointStore, Chunk, MemoryStore
from headgate.elements import SavepointFormat
from headgate.errors import StorageError
from headgate.ids import CheckpointId
from headgate.job_status import JobStatus
from headgate.state.files import FileHandle
from tests.unit.checkpoint.manifests import manifest
from tests.unit.checkpoint.stores import OverMemory

ONE, TWO, FIVE = CheckpointId(1), CheckpointId(2), CheckpointId(5)


class Shy(OverMemory):
    """A store that answers no listing once it has been told to."""

    silent = False
    claimed_meanwhile: str | None = None

    def list_files(self, folder: str) -> list[str]:
        if self.silent:
            raise StorageError("no route")
        return super().list_files(folder)

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        other, self.claimed_meanwhile = self.claimed_meanwhile, None
        if other is not None:
            super().write(paths.epoch(other), [b""])
        return super().write(path, chunks)


def owned(owner: EpochOwner, checkpoint_id: int) -> Manifest:
    return replace(manifest(checkpoint_id), epoch=owner.number, nonce=owner.nonce)


def test_each_driver_takes_a_higher_epoch_and_takes_the_job_from_those_before_it() -> None:
    store = MemoryStore()
    first = ownership.take_epoch(store, "bb")
    assert ownership.superseded(store, first) is None
    second = ownership.take_epoch(store, "aa")
    assert (first, second) == (EpochOwner(1, "bb"), EpochOwner(2, "aa"))
    assert ownership.superseded(store, second) is None
    found = ownership.superseded(store, first)
    assert found is not None
    assert "taken over by a later driver (epoch 2; this one has epoch 1)" in found.reason


def test_of_two_that_claim_at_one_time_the_one_that_sees_the_other_goes_above_it() -> None:
    store = Shy()
    store.claimed_meanwhile = "1-zz"
    assert ownership.take_epoch(store, "aa") == EpochOwner(2, "aa")


def test_an_owner_stores_manifests_and_one_that_was_taken_over_writes_none() -> None:
    store = MemoryStore()
    own = ownership.take_epoch(store, "aa")
    assert ownership.store_as_owner(store, owned(own, 1), None) == Stored()
    ownership.take_epoch(store, "bb")
    assert isinstance(ownership.store_as_owner(store, owned(own, 2), None), Superseded)
    assert store.read(paths.metadata(ONE)) is not None
    assert store.read(paths.metadata(TWO)) is None
    assert paths.id_claim(TWO, manifest(2).attempt) in store.files, "the later driver sees the id as used"


class TakenMeanwhile(OverMemory):
    """Another driver takes the job over while a manifest is written."""

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        handle = super().write(path, chunks)
        if path.endswith(paths.METADATA):
            ownership.take_epoch(self, "zz")
        return handle


def test_a_manifest_that_was_written_while_another_took_over_counts_for_nobody() -> None:
    store = TakenMeanwhile()
    own = ownership.take_epoch(store, "aa")
    assert isinstance(ownership.store_as_owner(store, owned(own, 1), None), Superseded)
    assert isinstance(ownership.settle_as_owner(store, owned(own, 1), None), Superseded)


def test_a_savepoints_manifest_goes_to_its_own_folder_and_is_fenced_in_the_jobs() -> None:
    job, folder = MemoryStore(), MemoryStore()
    own = ownership.take_epoch(job, "aa")
    savepoint = replace(owned(own, 1), savepoint=SavepointFormat.NATIVE)
    assert ownership.store_as_owner(job, savepoint, folder) == Stored()
    assert list(folder.files) == [paths.METADATA]
    ownership.take_epoch(job, "bb")
    assert isinstance(ownership.store_as_owner(job, savepoint, MemoryStore()), Superseded)


def test_who_owns_the_job_is_in_doubt_while_storage_does_not_answer() -> None:
    store = Shy()
    own = ownership.take_epoch(store, "aa")
    assert ownership.store_as_owner(store, owned(own, 1), None) == Stored()
    store.silent = True
    assert isinstance(ownership.store_as_owner(store, owned(own, 2), None), Refused), "nothing was written yet"
    with pytest.raises(InDoubt, match="cannot find out whether another driver has taken over the job"):
        ownership.settle_as_owner(store, owned(own, 1), None)
    store.silent = False
    assert ownership.settle_as_owner(store, owned(own, 1), None) == Stored()


def begun(store: CheckpointStore, nonce: str, base: int) -> EpochOwner:
    own = ownership.take_epoch(store, nonce)
    ownership.record_base(store, own, ownership.read_chain(store), CheckpointId(base))
    return own


def test_a_chain_goes_on_from_the_one_that_counted_before() -> None:
    store = MemoryStore()
    first, second = begun(store, "aa", 0), begun(store, "bb", 5)
    assert ownership.read_chain(store) == (Base(first, CheckpointId(0)), Base(second, FIVE))


def test_a_base_that_is_recorded_after_a_later_drivers_is_not_in_the_chain() -> None:
    store = MemoryStore()
    slow = ownership.take_epoch(store, "aa")
    later = begun(store, "bb", 6)
    ownership.record_base(store, slow, (), FIVE)
    assert ownership.read_chain(store) == (Base(later, CheckpointId(6)),)


def test_a_base_that_was_cut_short_is_none_and_may_be_recorded_again() -> None:
    store = MemoryStore()
    first = begun(store, "aa", 0)
    own = ownership.take_epoch(store, "bb")
    store.write(paths.epoch_base(str(own)), [b'{"chain"'])
    assert ownership.read_chain(store) == (Base(first, CheckpointId(0)),)
    ownership.record_base(store, own, (), FIVE)
    assert ownership.read_chain(store) == (Base(own, FIVE),)


def test_claims_of_earlier_drivers_go_and_the_chain_stays() -> None:
    store = MemoryStore()
    begun(store, "aa", 0)
    own = begun(store, "bb", 5)
    for path in (paths.epoch("1-aa"), paths.epoch_base("1-aa")):
        store.write(paths.temporary(path, "5f"), [b""])  # of a driver that was killed
    chain = ownership.read_chain(store)
    store.delete(ownership.older_claims(store, own))
    assert store.list_files(paths.EPOCHS) == [paths.epoch("2-bb"), paths.epoch_base("2-bb")]
    assert ownership.read_chain(store) == chain


def test_files_of_other_names_among_the_claims_stay() -> None:
    store = MemoryStore()
    own = begun(store, "aa", 0)
    store.write(f"{paths.EPOCHS}/notes", [b"not ours"])
    assert ownership.older_claims(store, own) == []


class Restless(OverMemory):
    """A store where a later driver takes the job over, and clears up, while a chain is read."""

    def read(self, path: str) -> bytes | None:
        if path == paths.epoch_base("1-aa"):
            self.delete([path])
        return super().read(path)


def test_a_chain_that_goes_while_it_is_read_is_looked_for_again() -> None:
    store = Restless()
    begun(store, "aa", 0)
    assert ownership.read_chain(store) == ()


def test_the_result_of_a_driver_that_was_taken_over_does_not_count_and_is_replaced() -> None:
    store = MemoryStore()
    first = begun(store, "aa", 0)
    second = begun(store, "bb", 5)
    write_result(store, JobResult(status=JobStatus.FAILED, cause="it was cut off", ended_ms=1, owner=str(first)))
    assert ownership.valid_result(store, ownership.read_chain(store)) is None
    write_result(store, JobResult(status=JobStatus.FINISHED, cause=None, ended_ms=2, owner=str(second)))
    found = ownership.valid_result(store, ownership.read_chain(store))
    assert found is not None
    assert found.status is JobStatus.FINISHED
