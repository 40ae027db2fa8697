"""The proof of shared storage, with slots that answer in every order, and some that come late."""

from __future__ import annotations

from headgate.checkpoint.storage_probe import answer_probe
from headgate.checkpoint.store import MemoryStore
from headgate.deploy.spark.shared_storage import StorageProof
from headgate.ids import Launch, SlotIndex

ONE, TWO = SlotIndex(0), SlotIndex(1)


def begun(store: MemoryStore) -> StorageProof:
    proof = StorageProof(store, "n2", Launch(2), slots=2)
    proof.begin()
    return proof


def test_slots_that_all_see_the_same_storage_are_fit_and_nothing_is_left() -> None:
    store = MemoryStore()
    proof = begun(store)
    for slot in (ONE, TWO):
        answer_probe(store, "n2", slot, "host")
        assert proof.answered(Launch(2), slot, "host") is None
    assert store.files == {}


def test_a_slot_whose_file_the_driver_does_not_see_is_found_with_the_last_one() -> None:
    store = MemoryStore()
    proof = begun(store)
    answer_probe(store, "n2", ONE, "host a")
    assert proof.answered(Launch(2), ONE, "host a") is None
    assert "slot 1 on host b" in str(proof.answered(Launch(2), TWO, "host b"))


def test_a_slot_of_an_earlier_launch_that_was_frozen_and_comes_late_proves_nothing() -> None:
    store = MemoryStore()
    proof = begun(store)
    answer_probe(store, "n2", TWO, "host")
    assert proof.answered(Launch(1), ONE, "host") is None
    assert proof.answered(Launch(2), TWO, "host") is None
    answer_probe(store, "n2", ONE, "host")
    assert proof.answered(Launch(2), ONE, "host") is None
    assert store.files == {}
