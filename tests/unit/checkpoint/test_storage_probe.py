"""The proof that the driver and all slots share the storage."""

from __future__ import annotations

import pytest

from headgate.checkpoint import paths, storage_probe
from headgate.checkpoint.store import MemoryStore
from headgate.errors import StorageError
from headgate.ids import SlotIndex

HOSTS = {SlotIndex(0): "alpha", SlotIndex(1): "beta"}


def test_slots_that_share_the_storage_prove_it_and_leave_nothing_behind() -> None:
    store = MemoryStore()
    storage_probe.write_probe(store, "n1")
    for slot, host in HOSTS.items():
        storage_probe.answer_probe(store, "n1", slot, host)
    storage_probe.check_probes(store, "n1", HOSTS)
    assert store.files == {}


def test_a_proof_leaves_that_of_another_driver_of_the_job_alone() -> None:
    store = MemoryStore()
    storage_probe.write_probe(store, "n2")
    storage_probe.write_probe(store, "n1")
    for slot, host in HOSTS.items():
        storage_probe.answer_probe(store, "n1", slot, host)
    storage_probe.check_probes(store, "n1", HOSTS)
    assert list(store.files) == [paths.probe("n2", storage_probe.MASTER)]


def test_a_slot_that_does_not_see_the_drivers_file_names_host_and_path() -> None:
    with pytest.raises(StorageError, match=r"not shared: slot 1 on host beta .* memory:_probe/n1-master\. Set the"):
        storage_probe.answer_probe(MemoryStore(), "n1", SlotIndex(1), "beta")


def test_a_slot_whose_file_the_driver_does_not_see_is_named() -> None:
    store = MemoryStore()
    storage_probe.write_probe(store, "n1")
    storage_probe.answer_probe(store, "n1", SlotIndex(0), "alpha")
    with pytest.raises(StorageError, match=r"does not see the file of slot 1 on beta memory:_probe/n1-slot-1"):
        storage_probe.check_probes(store, "n1", HOSTS)
