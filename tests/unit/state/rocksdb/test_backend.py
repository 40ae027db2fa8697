"""The RocksDB backend: what is in memory, what is on disk, and what of it a checkpoint shows."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import DamagedFileError, EnvironmentFault, InternalError, RestoreError, SerializationError
from headgate.ids import CheckpointId
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.state.files import FileHandle, KeyedState
from headgate.state.keyed.cells import KEY
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keygroups import key_group, key_group_range
from headgate.state.rocksdb.backend import RocksDBBackend
from headgate.time.timers import EVENT_TIMERS, Timers
from headgate.types.keys import hash_code
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.unit.state.backends import GROUPS, Files, at, begin, context_of, finish, get, put, saved, value_state
from tests.unit.state.rocksdb.stores import CHANGELOG, INCREMENTAL, TINY, fill, restored, rocksdb, values

ANY = Types.PICKLED_BYTE_ARRAY()


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("headgate.state.rocksdb.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    with pytest.raises(EnvironmentFault, match=r"pip install 'headgate\[rocksdb\]'"):
        __import__("headgate.state.rocksdb.backend")


# --- the cache


def test_the_cache_stays_within_its_limit_and_nothing_is_lost() -> None:
    backend = rocksdb({"headgate.rocksdb.cache-size": "100 kb"})
    fill(backend, range(5000), "some text")
    assert len(backend.cells) < 1000
    assert values(backend) == dict.fromkeys(range(5000), "some text")


def test_large_values_leave_room_for_fewer_cells() -> None:
    small, large = (rocksdb({"headgate.rocksdb.cache-size": "1 mb"}) for _ in range(2))
    fill(small, range(3000), "x")
    fill(large, range(3000), "x" * 1000)
    assert len(large.cells) * 3 < len(small.cells)


def test_a_batch_is_prefetched_at_once() -> None:
    backend = rocksdb(TINY)
    fill(backend, range(100))
    assert backend.prefetch is not None
    backend.prefetch([*range(100), *range(100)])
    assert set(backend.cells) == set(range(100))


def test_entries_of_maps_are_loaded_but_for_those_that_are_known() -> None:
    backend = rocksdb(TINY)
    state = backend.state(MapStateDescriptor("map", ANY, ANY))
    with at(backend, "key"):
        state.put_all({"a": 1, "b": 2})
    with at(backend, "key"):
        content = backend.current.cell[state.column]
        state.put("a", 3)
        assert [backend.lacks(content, key) for key in "abc"] == [False, True, True]
        backend.load_entries([(content, key) for key in "abc"])
        assert [backend.lacks(content, key) for key in "abc"] == [False] * 3
        assert [state.get(key) for key in "abc"] == [3, 2, None]


def test_a_key_that_is_evicted_and_emptied_is_gone_from_disk() -> None:
    backend = rocksdb(TINY)
    fill(backend, ["a", "b"], 1)
    put(backend, value_state(backend), "a", None)
    assert values(backend) == {"b": 1}
    assert values(restored(saved(backend))) == {"b": 1}


class Level(IntEnum):
    ONE = 1
    TWO = 2


def test_the_key_that_came_first_is_kept_with_its_class() -> None:
    backend = rocksdb(TINY)
    state = value_state(backend)
    for first, later in ((1, Level.ONE), (Level.TWO, 2)):
        put(backend, state, first, "x")
        with at(backend, later):
            assert (type(backend.current.cell[KEY]), state.value()) == (type(first), "x")


def test_a_long_list_and_a_large_map_do_not_wait_in_memory_for_a_snapshot() -> None:
    backend = rocksdb()
    many = backend.state(ListStateDescriptor("l", Types.INT()))
    entries = backend.state(MapStateDescriptor("m", Types.INT(), Types.INT()))
    for start in range(0, 20_000, 1000):
        with at(backend, "k"):
            many.add_all(range(start, start + 1000))
            for number in range(start, start + 1000):
                entries.put(number, number)
    held, mapped = backend.cells["k"][4:6]
    assert len(held._tail) < 10_000
    assert len(mapped._changed) < 10_000
    with at(backend, "k"):
        assert list(many.get()) == list(range(20_000))
        entries.remove(7)
        assert len(list(entries.keys())) == 19_999


def test_a_key_of_another_subtask_is_an_error_of_ours() -> None:
    backend = rocksdb(TINY, groups=range(1))
    fill(backend, range(10))
    with pytest.raises(InternalError, match="reached a subtask that owns"):
        saved(backend)


# --- snapshots


@pytest.mark.parametrize("settings", [{}, INCREMENTAL])
def test_a_checkpoint_shows_the_barrier_although_cells_are_evicted_before_it_is_stored(settings: Any) -> None:
    backend = rocksdb({**settings, "headgate.rocksdb.cache-size": "100 kb"})
    fill(backend, range(300), "old")
    pending = begin(backend)
    while not pending.advance():
        pass
    fill(backend, range(100), "new")
    fill(backend, range(1000, 1250), "late")
    assert values(restored(finish(backend, pending), settings=settings)) == dict.fromkeys(range(300), "old")
    assert values(backend)[5] == "new"


def test_when_too_much_is_new_after_a_barrier_the_files_are_linked_without_waiting_for_the_upload() -> None:
    backend = rocksdb({**INCREMENTAL, "headgate.rocksdb.cache-size": "100 kb"})
    fill(backend, range(300), "old")
    pending = begin(backend)
    fill(backend, range(2000), "new")
    assert len(backend.cells) < 1000
    assert values(restored(finish(backend, pending), settings=INCREMENTAL)) == dict.fromkeys(range(300), "old")


def test_timers_that_fire_before_the_files_are_linked_are_in_the_checkpoint() -> None:
    backend = rocksdb(INCREMENTAL)
    timers = Timers(backend, EVENT_TIMERS)
    with at(backend, "k"):
        timers.register(5)
    pending = begin(backend)
    while not pending.advance():
        pass
    assert list(timers.due(10, 10)) == [5]
    backend.leave()
    again = restored(finish(backend, pending), settings=INCREMENTAL)
    assert list(Timers(again, EVENT_TIMERS).due(10, 10)) == [5]
    assert list(Timers(backend, EVENT_TIMERS).due(10, 10)) == []


def test_a_value_that_cannot_be_pickled_is_named_with_its_state_and_key() -> None:
    backend = rocksdb()
    fill(backend, ["k"], lambda: None)
    with pytest.raises(SerializationError, match=r"state 'v' of key 'k': a function cannot be pickled"):
        begin(backend).advance()


def test_a_state_declared_after_the_barrier_is_not_in_a_whole_snapshot() -> None:
    backend = rocksdb()
    fill(backend, ["k"], 1)
    pending = begin(backend)
    while not pending.advance():
        pass
    with at(backend, "k"):
        backend.state(ListStateDescriptor("late", ANY)).add(2)
    again = restored(finish(backend, pending))
    with at(again, "k"):
        assert list(again.state(ListStateDescriptor("late", ANY)).get()) == []


# --- increments


class Job:
    """A backend whose checkpoints complete."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.files = Files(inline_bytes=100_000)
        self.settings = settings
        self.backend = rocksdb(settings, files=self.files)
        self.count = 0

    def checkpoint(self, *, completes: bool = True) -> KeyedState:
        self.count += 1
        pending = self.backend.snapshot(CheckpointId(self.count))
        while not pending.advance():
            pass
        state = pending.store(self.files)
        self.backend.forget(pending)
        if completes:
            self.backend.notify_completed(CheckpointId(self.count))
        return state

    def restore(self, state: KeyedState) -> None:
        self.backend.close()
        self.backend = rocksdb(self.settings, files=self.files)
        self.backend.restore([self.files.fetch(state)], "the checkpoint")


def tables(state: KeyedState) -> set[str]:
    return {file.handle.path for file in state.base if isinstance(file.handle, FileHandle)}


def test_an_increment_adds_files_to_those_of_the_last_completed_checkpoint() -> None:
    job = Job(INCREMENTAL)
    fill(job.backend, range(1000), "x" * 100)
    first = job.checkpoint()
    fill(job.backend, range(10), "y")
    second = job.checkpoint()
    assert tables(first) < tables(second)
    fresh = sum(len(job.files.files[path]) for path in tables(second) - tables(first))
    assert fresh * 10 < sum(len(job.files.files[path]) for path in tables(first))


def test_what_was_uploaded_for_a_checkpoint_that_did_not_complete_is_uploaded_again() -> None:
    job = Job(INCREMENTAL)
    fill(job.backend, range(10))
    lost = job.checkpoint(completes=False)
    assert not tables(lost) & tables(job.checkpoint())


def test_a_restored_checkpoint_is_built_upon() -> None:
    job = Job(INCREMENTAL)
    fill(job.backend, range(1000), "x" * 100)
    first = job.checkpoint()
    job.restore(first)
    fill(job.backend, [1], "y")
    second = job.checkpoint()
    assert tables(first) < tables(second)
    job.restore(second)
    assert values(job.backend) == {**dict.fromkeys(range(1000), "x" * 100), 1: "y"}


def test_a_changelog_writes_entries_added_to_lists_and_maps_and_no_more() -> None:
    job = Job(CHANGELOG)
    many = job.backend.state(ListStateDescriptor("l", ANY))
    entries = job.backend.state(MapStateDescriptor("m", ANY, ANY))
    with at(job.backend, "k"):
        many.add_all(["x" * 100] * 1000)
        entries.put_all(dict.fromkeys(range(1000), "x" * 100))
    job.checkpoint()
    with at(job.backend, "k"):
        many.add("y")
        entries.put("new", "y")
        entries.remove(7)
    state = job.checkpoint()
    assert sum(file.handle.size_bytes for file in state.log) < 2000
    job.restore(state)
    with at(job.backend, "k"):
        assert list(job.backend.state(ListStateDescriptor("l", ANY)).get()) == ["x" * 100] * 1000 + ["y"]
        restored_map = job.backend.state(MapStateDescriptor("m", ANY, ANY))
        assert (restored_map.get("new"), restored_map.contains(7), restored_map.contains(8)) == ("y", False, True)


# --- restoring


def test_a_whole_snapshot_restores_on_the_hash_map_and_back_with_lists_maps_and_timers() -> None:
    backend = rocksdb(TINY)
    many = backend.state(ListStateDescriptor("l", ANY))
    entries = backend.state(MapStateDescriptor("m", ANY, ANY))
    timers = Timers(backend, EVENT_TIMERS)
    for key in range(50):
        with at(backend, key):
            many.add_all([key, "x"])
            entries.put(True, key)
            timers.register(key)
    on_hash_map = HashMapBackend(context_of())
    on_hash_map.restore([saved(backend)], "the checkpoint")
    again = restored(saved(on_hash_map))
    for found in (on_hash_map, again):
        lists = found.state(ListStateDescriptor("l", ANY))
        maps = found.state(MapStateDescriptor("m", ANY, ANY))
        for key in range(50):
            with at(found, key):
                assert (list(lists.get()), list(maps.items())) == ([key, "x"], [(True, key)])
        assert list(Timers(found, EVENT_TIMERS).due(100, 100)) == list(range(50))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, INCREMENTAL, CHANGELOG])
def test_rescaling_from_two_to_three_and_to_one_keeps_every_key_once(settings: dict[str, Any]) -> None:
    parts = []
    for subtask in range(2):
        groups = key_group_range(subtask, 2, GROUPS)
        backend = rocksdb(settings, groups=groups)
        timers = Timers(backend, EVENT_TIMERS)
        state = value_state(backend)
        for key in range(300):
            if key_group(hash_code(key), GROUPS) in groups:
                put(backend, state, key, key)
                with at(backend, key):
                    timers.register(key)
        parts.append(saved(backend))
    for parallelism in (1, 3):
        found: dict[int, int] = {}
        fired: list[int] = []
        for subtask in range(parallelism):
            part = restored(*parts, settings=settings, groups=key_group_range(subtask, parallelism, GROUPS))
            mine = values(part)
            assert not found.keys() & mine
            found |= mine
            fired += Timers(part, EVENT_TIMERS).due(1000, 1000)
        assert found == {key: key for key in range(300)}
        assert sorted(fired) == list(range(300))


def test_values_of_rows_written_before_a_state_changed_are_converted_when_they_are_read() -> None:
    job = Job({**INCREMENTAL, **TINY})
    put(job.backend, job.backend.state(ValueStateDescriptor("r", Types.ROW_NAMED(["a"], [Types.INT()]))), "k", None)
    row = Types.ROW_NAMED(["a"], [Types.INT()])
    wider = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    lists = job.backend.state(ListStateDescriptor("rows", row))
    with at(job.backend, "k"):
        lists.add(Row(a=1))
    job.restore(job.checkpoint())
    lists = job.backend.state(ListStateDescriptor("rows", wider))
    with at(job.backend, "k"):
        lists.add(Row(a=2, b="x"))
    job.restore(job.checkpoint())
    with at(job.backend, "k"):
        assert list(job.backend.state(ListStateDescriptor("rows", wider)).get()) == [Row(a=1, b=None), Row(a=2, b="x")]


def test_files_of_rocksdb_are_refused_by_the_hash_map_with_what_to_do() -> None:
    backend = rocksdb(INCREMENTAL)
    fill(backend, ["k"])
    with pytest.raises(RestoreError, match=r"restore with state\.backend\.type: rocksdb"):
        HashMapBackend(context_of()).restore([saved(backend)], "the checkpoint")


def _damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    match how:
        case "shorter":
            path.write_bytes(data[: len(data) // 2])
        case "changed":
            data[len(data) // 3] ^= 0xFF
            path.write_bytes(data)


@pytest.mark.parametrize("how", ["shorter", "changed"])
@pytest.mark.parametrize("kind", [".sst", "MANIFEST"])
def test_a_damaged_file_is_named(how: str, kind: str) -> None:
    backend = rocksdb(INCREMENTAL)
    fill(backend, range(100), "x" * 100)
    part = saved(backend)
    path = next(found for file, found in part.files.items() if isinstance(found, Path) and kind in file.name)
    _damage(path, how)
    with pytest.raises(DamagedFileError, match=path.name):
        values(restored(part, settings=INCREMENTAL))


def test_closing_removes_the_files() -> None:
    backend = rocksdb()
    fill(backend, range(10))
    folder = backend._folder
    assert any(folder.iterdir())
    backend.close()
    assert not folder.exists()


def test_subtasks_share_out_the_folders_that_are_given(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    settings = {"state.backend.rocksdb.localdir": ", ".join(map(str, folders))}
    context = context_of(range(GROUPS), settings)
    backends = [RocksDBBackend(replace(context, subtask=subtask)) for subtask in range(8)]
    held = [len(list(folder.iterdir())) for folder in folders]
    assert sum(held) == 8
    assert min(held) > 0
    for backend in backends:
        backend.close()
    assert [list(folder.iterdir()) for folder in folders] == [[], []]


def test_a_local_folder_of_ones_own_is_used(tmp_path: Path) -> None:
    backend = rocksdb({"state.backend.rocksdb.localdir": str(tmp_path / "nvme")})
    fill(backend, range(10))
    assert any((tmp_path / "nvme").iterdir())
    assert get(backend, value_state(backend), 3) == 0
