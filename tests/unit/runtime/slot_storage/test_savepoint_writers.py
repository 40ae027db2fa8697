"""Savepoints of slots: each in a folder of its own, in the form that was asked for, and restored by either backend."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.paths import Writer
from headgate.checkpoint.store import MemoryStore
from headgate.elements import Barrier, SavepointFormat, SavepointOrder
from headgate.errors import RestoreError, StorageError
from headgate.ids import Attempt, CheckpointId
from headgate.options import resolve
from headgate.runtime.slot_storage.savepoint_writers import SavepointTerms, SlotWriters
from headgate.runtime.slot_storage.slot_storage import Fetch
from headgate.runtime.slot_storage.state_writers import CheckpointWriter, InlineWriters
from headgate.state.backend import KeyedBackend, open_backend
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.state.files import FetchedKeyed, FileHandle, InlineHandle, KeyedState
from headgate.types.typeinfo import Types
from tests.unit.state.backends import at, context_of

OWN = Writer(Attempt(3), "op", 1)
NATIVE, CANONICAL = SavepointFormat.NATIVE, SavepointFormat.CANONICAL
BACKENDS = ["hashmap", "rocksdb"]


class Storage:
    """The folders of savepoints, and the writers of a slot whose own checkpoints have none."""

    def __init__(self, folder: Path, inline_bytes: int = 1) -> None:
        self.folder = folder
        self.stores: dict[str, MemoryStore] = {}
        self.opened: list[str] = []
        terms = SavepointTerms(
            open_store=self.open, scratch=lambda: folder, inline_bytes=inline_bytes, moved_classes={}
        )
        self.writers = SlotWriters(InlineWriters(100), terms)

    def open(self, location: str) -> MemoryStore:
        self.opened.append(location)
        return self.stores.setdefault(location, MemoryStore())

    def writer(self, form: SavepointFormat, location: str = "/s/1") -> CheckpointWriter:
        return self.writers.of(OWN, Barrier(CheckpointId(4), 0, savepoint=SavepointOrder(location, form)))

    def fetch(self, state: KeyedState) -> FetchedKeyed:
        def folder(name: str) -> Path:
            (self.folder / f"fetched-{name}").mkdir()
            return self.folder / f"fetched-{name}"

        fetch = Fetch(self.stores["/s/1"], folder, None, owned=False)
        (part,) = fetch.operators({"op": RestoredOperator(keyed=(state,))})["op"].keyed
        return part


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path)


def test_a_savepoint_lies_in_a_folder_of_its_own_that_is_opened_once(storage: Storage) -> None:
    big = b"x" * 100
    for name in ("base", "list"):
        writer = storage.writer(NATIVE)
        assert writer.write(name, [big], shared=True) == FileHandle(f"a3-op-1-{name}", 100, zlib.crc32(big))
    storage.writer(NATIVE, "/s/2").write_list("base", [b"x"])
    assert storage.opened == ["/s/1", "/s/2"]
    assert storage.stores["/s/2"].list_files("") == ["a3-op-1-list-base"]


def test_small_state_of_a_savepoint_is_part_of_its_manifest(tmp_path: Path) -> None:
    writer = Storage(tmp_path, inline_bytes=1000).writer(NATIVE)
    local = tmp_path / "1.sst"
    local.write_bytes(b"sorted")
    assert writer.upload("1.sst", local, shared=True) == InlineHandle(b"sorted")
    assert isinstance(writer.write_list("splits", [b"x"]), InlineHandle)


def test_a_savepoint_folder_that_cannot_be_opened_is_tried_again_next_time(storage: Storage) -> None:
    tries = iter([StorageError("no route"), None])
    open_store = storage.open

    def failing(location: str) -> MemoryStore:
        error = next(tries)
        if error is not None:
            raise error
        return open_store(location)

    terms = SavepointTerms(open_store=failing, scratch=lambda: storage.folder, inline_bytes=1, moved_classes={})
    writers = SlotWriters(InlineWriters(100), terms)
    barrier = Barrier(CheckpointId(4), 0, savepoint=SavepointOrder("/s/1", NATIVE))
    with pytest.raises(StorageError, match="no route"):
        writers.of(OWN, barrier)
    writers.of(OWN, barrier).write("base", [b"x"], shared=False)


STATES = (
    ValueStateDescriptor("count", Types.LONG()),
    ListStateDescriptor("words", Types.STRING()),
    MapStateDescriptor("tails", Types.STRING(), Types.LONG()),
    ValueStateDescriptor("free", Types.PICKLED_BYTE_ARRAY()),
)


def backend_of(kind: str) -> KeyedBackend:
    return open_backend(context_of(settings=resolve({"state.backend.type": kind})))


def fill(backend: KeyedBackend) -> None:
    count, words, tails, free = map(backend.state, STATES)
    for key in range(50):
        with at(backend, key):
            count.update(key)
            if key % 2:
                words.add_all([f"w{key}", "z"])
            if key % 3:
                tails.put(str(key), key)
            if key % 5 == 0:
                free.update({"any": (key, None)})
    with at(backend, "only"):
        words.add("alone")


def contents(backend: KeyedBackend) -> dict[Any, Any]:
    count, words, tails, free = map(backend.state, STATES)
    found = {}
    for key in [*range(50), "only", "none"]:
        with at(backend, key):
            found[key] = count.value(), list(words.get() or []), dict(tails.items()), free.value()
    return found


def stored(storage: Storage, backend: KeyedBackend, form: SavepointFormat) -> KeyedState:
    pending = backend.savepoint(CheckpointId(4), form)
    while not pending.advance():
        pass
    state = storage.writer(form).write_keyed(pending)
    backend.forget(pending)
    return state


@pytest.mark.parametrize("after", BACKENDS)
@pytest.mark.parametrize("before", BACKENDS)
def test_canonical_savepoints_of_either_backend_are_restored_by_either(
    storage: Storage, before: str, after: str
) -> None:
    backend = backend_of(before)
    fill(backend)
    state = stored(storage, backend, CANONICAL)
    assert state.kind == "canonical"
    assert all(path.endswith(".parquet") for path in storage.stores["/s/1"].list_files(""))
    other = backend_of(after)
    other.restore([storage.fetch(state)], "a savepoint")
    assert contents(other) == contents(backend)
    assert sorted(other.keys("words"), key=str) == sorted(backend.keys("words"), key=str)


@pytest.mark.parametrize(
    ("before", "kind", "check"),
    [("hashmap", "entries", lambda name: "base" in name), ("rocksdb", "rocksdb", lambda name: "base" not in name)],
)
def test_native_savepoints_hold_the_files_of_their_backend(
    storage: Storage, before: str, kind: str, check: Callable[[str], bool]
) -> None:
    backend = backend_of(before)
    fill(backend)
    state = stored(storage, backend, NATIVE)
    assert state.kind == kind
    assert all(map(check, storage.stores["/s/1"].list_files("")))
    other = backend_of("rocksdb")
    other.restore([storage.fetch(state)], "a savepoint")
    assert contents(other) == contents(backend)


def test_files_of_rocksdb_are_refused_by_the_hash_map_with_what_to_do(storage: Storage) -> None:
    backend = backend_of("rocksdb")
    fill(backend)
    part = storage.fetch(stored(storage, backend, NATIVE))
    with pytest.raises(RestoreError, match=r"state\.backend\.type: rocksdb, and switch with a canonical savepoint"):
        backend_of("hashmap").restore([part], "a savepoint")


def test_an_operator_without_any_keys_is_saved_in_no_file(storage: Storage) -> None:
    backend = backend_of("hashmap")
    state = stored(storage, backend, CANONICAL)
    assert (state.kind, state.base) == ("canonical", ())
    other = backend_of("rocksdb")
    other.restore([storage.fetch(state)], "a savepoint")
    assert list(other.cells) == []


def test_what_a_savepoint_was_written_to_for_a_while_is_removed(storage: Storage) -> None:
    backend = backend_of("rocksdb")
    fill(backend)
    stored(storage, backend, CANONICAL)
    assert list(storage.folder.iterdir()) == []
