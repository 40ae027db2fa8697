"""Intents of a job that outlive its driver."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import intents, ownership
from headgate.checkpoint.drivers.epochs import Base, Chain
from headgate.checkpoint.drivers.intents import StopIntent
from headgate.checkpoint.drivers.ownership import Superseded
from headgate.checkpoint.manifest_storage import InDoubt, Stored
from headgate.checkpoint.store import Chunk, MemoryStore
from headgate.errors import DamagedFileError, StorageError
from headgate.ids import CheckpointId
from headgate.state.files import FileHandle
from tests.unit.checkpoint.stores import OverMemory

STOP = StopIntent("/savepoints/savepoint-cd61", CheckpointId(7))
ANOTHER = StopIntent("/savepoints/savepoint-ef02", CheckpointId(9))


def test_a_stop_is_found_by_every_later_driver() -> None:
    store = MemoryStore()
    own = ownership.take_epoch(store, "aa")
    assert intents.read_stop(store, ()) is None
    assert intents.record_stop(store, own, STOP) == Stored()
    assert intents.record_stop(store, own, STOP) == Stored(), "as often as one likes"
    later = ownership.take_epoch(store, "bb")
    assert intents.read_stop(store, (Base(later, CheckpointId(7)),)) == STOP


def test_a_driver_that_was_taken_over_cannot_stop_the_job() -> None:
    store = MemoryStore()
    own = ownership.take_epoch(store, "aa")
    ownership.take_epoch(store, "bb")
    assert isinstance(intents.record_stop(store, own, STOP), Superseded)
    assert intents.read_stop(store, ()) is None


def test_a_stop_that_the_later_driver_has_not_seen_does_not_count() -> None:
    store = MemoryStore()
    own = ownership.take_epoch(store, "aa")
    intents.record_stop(store, own, STOP)
    later = ownership.take_epoch(store, "bb")
    chain = (Base(later, CheckpointId(6)),)
    assert intents.read_stop(store, chain) is None
    assert intents.record_stop(store, later, ANOTHER) == Stored()
    assert intents.read_stop(store, chain) == ANOTHER


class TakenOver(OverMemory):
    """A store on which a later driver takes the job over and stops it when an earlier one looks at its own intent."""

    def __init__(self) -> None:
        super().__init__()
        self.chain: Chain = ()

    def read(self, path: str) -> bytes | None:
        if path == paths.stop_intent("1-aa") and not self.chain:
            later = ownership.take_epoch(self, "bb")
            self.chain = (Base(later, CheckpointId(6)),)
            intents.record_stop(self, later, ANOTHER)
        return super().read(path)


def test_a_driver_that_is_taken_over_meanwhile_leaves_the_stop_of_the_later_one() -> None:
    store = TakenOver()
    own = ownership.take_epoch(store, "aa")
    assert isinstance(intents.record_stop(store, own, STOP), Superseded)
    assert intents.read_stop(store, store.chain) == ANOTHER


class Torn(OverMemory):
    """A store that loses the end of what it is given, once."""

    tears = True

    def write(self, path: str, chunks: Iterable[Chunk]) -> FileHandle:
        data = b"".join(chunks)
        if self.tears and path.startswith(paths.STOPPED):
            self.tears = False
            super().write(path, [data[:20]])
            raise StorageError("connection reset")
        return super().write(path, [data])


def test_a_stop_whose_write_is_cut_short_is_in_doubt_until_it_is_recorded_again() -> None:
    store = Torn()
    own = ownership.take_epoch(store, "aa")
    with pytest.raises(InDoubt, match=f"cannot find out whether memory:{paths.STOPPED}/1-aa is stored"):
        intents.record_stop(store, own, STOP)
    assert intents.read_stop(store, ()) is None
    assert intents.record_stop(store, own, STOP) == Stored()
    assert intents.read_stop(store, ()) == STOP


def test_a_stop_that_has_changed_is_damage_named() -> None:
    store = MemoryStore()
    intents.record_stop(store, ownership.take_epoch(store, "aa"), STOP)
    path = paths.stop_intent("1-aa")
    store.files[path] = store.files[path].replace(b"cd61", b"cd62")
    with pytest.raises(DamagedFileError, match=f"memory:{path}"):
        intents.read_stop(store, ())


def test_a_claim_is_kept_until_it_is_dropped() -> None:
    store = MemoryStore()
    intents.record_claim(store, "/a/chk-3")
    intents.record_claim(store, "/a/chk-3")
    assert intents.read_claim(store) == "/a/chk-3"
    intents.record_claim(store, "/b/chk-4")
    assert intents.read_claim(store) == "/b/chk-4"
    intents.drop_claim(store)
    assert intents.read_claim(store) is None
