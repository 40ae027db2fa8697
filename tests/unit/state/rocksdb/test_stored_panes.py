"""Panes in front of a database: against dictionaries, over snapshots, restores and windows that come and go."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any, Final, final

import pytest

from headgate.ids import CheckpointId
from headgate.state.backend import KeyedBackend, KeyedSnapshot
from headgate.state.descriptors import ListStateDescriptor, StateDescriptor, ValueStateDescriptor
from headgate.state.files import KeyedState
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.state.keyed.panes import Namespace, Pane, Panes
from headgate.state.rocksdb.backend import RocksDBBackend
from headgate.state.rocksdb.stored_panes import StoredPanes
from headgate.time.timers import EVENT_TIMERS
from headgate.types.typed_key import all_typed
from headgate.types.typeinfo import Types
from tests.unit.state.backends import GROUPS, Files, at, context_of
from tests.unit.state.rocksdb.stores import CHANGELOG, INCREMENTAL, TINY

ANY: Final = Types.PICKLED_BYTE_ARRAY()
VALUES: Final = ValueStateDescriptor("v", ANY)
LISTS: Final = ListStateDescriptor("v", ANY)
SMALL: Final = {"headgate.rocksdb.cache-size": "4 kb"}
KEYS: Final = all_typed([*range(8), *(f"key {number}" for number in range(8)), (1, "a"), 2.5, True])

Entries = dict[Namespace, dict[Any, tuple[Any, bool]]]
"""By window and key: the value, and whether the window has been evaluated for the key."""


def window_pane(namespace: Namespace) -> Pane:
    """Return a pane of a window that waits 10 ms for late records."""
    end = namespace[-1]
    return Pane({end - 1: None, end + 9: None}, {end + 9: None})


def slice_pane(namespace: Namespace) -> Pane:
    return Pane(None, None)


def opened(backend: KeyedBackend, descriptor: StateDescriptor, make: Any) -> Panes:
    backend.namespaces.state(descriptor)
    return backend.panes(("v",), EVENT_TIMERS, make)


def entries_of(panes: Panes) -> Entries:
    """Return all that panes have."""
    found: Entries = {}
    for namespace, pane in panes.by_window.items():
        due = {key for key, _ in pane.due()}
        items = {key: (value, pane.is_evaluated or key not in due) for key, value in pane.items()}
        if items:
            found[namespace] = deepcopy(items)
    return found


@final
class Job:
    """Panes on RocksDB beside dictionaries."""

    def __init__(self, seed: int, descriptor: StateDescriptor, make: Any, settings: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.descriptor, self.make, self.settings = descriptor, make, settings
        self.files = Files()
        self.entries: Entries = {}
        self.begun: tuple[CheckpointId, KeyedSnapshot, Entries] | None = None
        self.number = 0
        self.go_on_from([])

    def open(self, parts: list[KeyedState], groups: range = range(GROUPS)) -> tuple[RocksDBBackend, StoredPanes]:
        backend = RocksDBBackend(context_of(groups, self.settings, files=self.files))
        if parts:
            backend.restore([self.files.fetch(part) for part in parts], "the checkpoint")
        panes = opened(backend, self.descriptor, self.make)
        assert isinstance(panes, StoredPanes)
        return backend, panes

    def go_on_from(self, parts: list[KeyedState]) -> None:
        self.backend, self.panes = self.open(parts)

    # --- steps

    def add(self) -> None:
        keys = [self.random.choice(KEYS) for _ in range(self.random.randint(1, 12))]
        starts = [self.random.randint(0, 3) * 10 for _ in keys]
        namespaces: list[Namespace] = [(start, start + 10) for start in starts]
        assert self.backend.prefetch is not None
        self.backend.prefetch(keys)
        if self.panes.is_spilled and self.random.random() < 0.9:
            self.panes.load(keys, namespaces)
        for key, namespace in zip(keys, namespaces, strict=True):
            self.number += 1
            pane = self.panes.by_window.get(namespace)
            if pane is None:
                pane = self.panes.by_window[namespace] = self.make(namespace)
            so_far = pane.open.get(key)
            if so_far is None:
                so_far = deepcopy(pane.sealed_value(key))
            if so_far is None:
                so_far = []
            so_far.append(self.number)
            pane.open[key] = so_far
            window = self.entries.setdefault(namespace, {})
            before = window.get(key, ([], False))[0]
            window[key] = ([*before, self.number], pane.is_evaluated)
        self.backend.leave()

    def evaluate(self) -> None:
        if self.panes.by_window and self.make is window_pane:
            namespace = self.random.choice(list(self.panes.by_window))
            pane = self.panes.by_window[namespace]
            if not pane.is_evaluated:
                found = dict(pane.due())
                window = self.entries.get(namespace, {})
                assert found == {key: value for key, (value, is_evaluated) in window.items() if not is_evaluated}
                pane.now_evaluated(self.backend.generation)
                self.entries[namespace] = {key: (value, True) for key, (value, _) in window.items()}
        self.backend.leave()

    def drop(self) -> None:
        if self.panes.by_window:
            namespace = self.random.choice(list(self.panes.by_window))
            self.panes.drop(namespace, self.backend.generation)
            self.entries.pop(namespace, None)
        self.backend.leave()

    def look(self) -> None:
        assert entries_of(self.panes) == {each: window for each, window in self.entries.items() if window}
        pieces: dict[Namespace, dict[Any, Any]] = {}
        for items_of in self.panes.parts():
            for namespace, pane in self.panes.by_window.items():
                for key, value in items_of(pane):
                    assert key not in pieces.setdefault(namespace, {})
                    pieces[namespace][key] = value
        assert {each: some for each, some in pieces.items() if some} == {
            each: {key: value for key, (value, _) in window.items()} for each, window in self.entries.items() if window
        }

    def begin(self) -> None:
        self.finish()
        self.number += 1
        checkpoint_id = CheckpointId(self.number)
        self.begun = checkpoint_id, self.backend.snapshot(checkpoint_id), deepcopy(self.entries)

    def advance(self) -> None:
        if self.begun is not None:
            self.begun[1].advance()

    def give_up(self) -> None:
        if self.begun is not None:
            (checkpoint_id, pending, _), self.begun = self.begun, None
            self.backend.forget(pending)
            self.backend.notify_aborted(checkpoint_id)

    def finish(self) -> None:
        """Store the snapshot that is under way, look at what it has, and perhaps go on from there."""
        if self.begun is None:
            return
        (checkpoint_id, pending, expected), self.begun = self.begun, None
        while not pending.advance():
            pass
        state = pending.store(self.files)
        self.backend.forget(pending)
        self.check(state, {each: window for each, window in expected.items() if window})
        if self.random.random() < 0.7:
            self.backend.notify_completed(checkpoint_id)
            if self.random.random() < 0.4:
                self.backend.close()
                self.go_on_from([state])
                self.entries = expected

    def check(self, state: KeyedState, expected: Entries) -> None:
        found: Entries = {}
        for groups in self.random.choice([[range(GROUPS)], [range(50), range(50, GROUPS)]]):
            backend, panes = self.open([state], groups)
            for namespace, window in entries_of(panes).items():
                found.setdefault(namespace, {}).update(window)
            backend.close()
        assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "cache",
    [TINY, SMALL, {}],
    ids=["tiny", "small", "usual"],
)
@pytest.mark.parametrize("kind", [{}, INCREMENTAL, CHANGELOG], ids=["whole", "incremental", "changelog"])
@pytest.mark.parametrize(
    ("descriptor", "make"), [(VALUES, window_pane), (VALUES, slice_pane), (LISTS, window_pane)], ids=["v", "s", "l"]
)
def test_panes_hold_what_dictionaries_would(descriptor: Any, make: Any, kind: Any, cache: Any) -> None:
    for seed in range(3 if cache is TINY else 1):
        job = Job(seed, descriptor, make, {**kind, **cache})
        steps = [job.add, job.add, job.add, job.evaluate, job.drop, job.look, job.begin, job.advance, job.finish]
        for _ in range(40):
            job.random.choice([*steps, *steps, job.give_up])()
        job.finish()
        job.look()
        job.backend.close()


@pytest.mark.parametrize("make", [window_pane, slice_pane])
def test_the_hash_map_takes_over_what_was_saved_on_rocksdb_and_the_other_way_round(make: Any) -> None:
    job = Job(1, VALUES, make, {**TINY})
    for _ in range(8):
        job.add()
    job.evaluate()
    expected = {each: window for each, window in job.entries.items() if window}
    pending = job.backend.snapshot(CheckpointId(1))
    while not pending.advance():
        pass
    state = pending.store(job.files)
    for _ in range(2):
        backend = HashMapBackend(context_of(files=job.files))
        backend.restore([job.files.fetch(state)], "the checkpoint")
        panes = opened(backend, VALUES, make)
        assert entries_of(panes) == expected
        again = backend.snapshot(CheckpointId(2))
        while not again.advance():
            pass
        state = again.store(job.files)
        job.check(state, expected)


def test_a_window_may_have_state_besides_what_its_pane_has() -> None:
    backend = RocksDBBackend(context_of(settings=TINY))
    panes = opened(backend, VALUES, window_pane)
    state = backend.namespaces.state(ValueStateDescriptor("count", ANY))
    pane = panes.by_window[0, 10] = window_pane((0, 10))
    pane.open["a"] = 1
    with at(backend, "a"):
        backend.namespaces.set((0, 10))
        state.update(7)
    backend.leave()
    assert dict(pane.items()) == {"a": 1}
    with at(backend, "a"):
        backend.namespaces.set((0, 10))
        assert state.value() == 7
        state.update(8)
    pane.open["a"] = 2
    backend.leave()
    assert dict(pane.items()) == {"a": 2}
    panes.drop((0, 10), backend.generation)
    backend.leave()
    with at(backend, "a"):
        backend.namespaces.set((0, 10))
        assert state.value() == 8, "whoever has put it there is to clear it"


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 4])
def test_what_is_in_memory_stays_within_the_limit(copies: int) -> None:
    backend = RocksDBBackend(context_of(settings={"headgate.rocksdb.cache-size": "400 kb"}))
    backend.namespaces.state(VALUES)
    panes = backend.panes(("v",), EVENT_TIMERS, window_pane, copies=copies)
    pane = panes.by_window[0, 10] = window_pane((0, 10))
    assert backend.prefetch is not None
    most = 0
    for start in range(0, 10_000, 100):
        keys = list(range(start, start + 100))
        backend.prefetch(keys)
        pane.open.update((key, "some text") for key in keys)
        backend.leave()
        most = max(most, len(panes))
    assert 1_200 / copies < most < 2_500 / copies
    assert dict(pane.items()) == dict.fromkeys(range(10_000), "some text")


@pytest.mark.slow
def test_a_snapshot_under_way_keeps_what_is_new_in_memory_up_to_a_limit() -> None:
    backend = RocksDBBackend(context_of(settings={"headgate.rocksdb.cache-size": "400 kb", **INCREMENTAL}))
    files = Files()
    panes = opened(backend, VALUES, window_pane)
    pane = panes.by_window[0, 10] = window_pane((0, 10))
    pane.open.update((key, 1) for key in range(1_000))
    pending = backend.snapshot(CheckpointId(1))
    assert backend.prefetch is not None
    for start in range(0, 20_000, 100):
        keys = list(range(start, start + 100))
        backend.prefetch(keys)
        pane.open.update((key, 2) for key in keys)
        backend.leave()
    assert len(panes) < 5_000
    while not pending.advance():
        pass
    state = pending.store(files)
    backend.forget(pending)
    again = RocksDBBackend(context_of(settings=INCREMENTAL))
    again.restore([files.fetch(state)], "the checkpoint")
    assert entries_of(opened(again, VALUES, window_pane)) == {(0, 10): dict.fromkeys(range(1000), (1, False))}


def snapshot(backend: RocksDBBackend, number: int) -> None:
    pending = backend.snapshot(CheckpointId(number))
    while not pending.advance():
        pass
    backend.forget(pending)


def test_a_window_that_is_evaluated_while_a_snapshot_is_under_way_keeps_its_keys() -> None:
    backend = RocksDBBackend(context_of(settings=TINY))
    panes = opened(backend, VALUES, window_pane)
    pane = panes.by_window[0, 10] = window_pane((0, 10))
    pane.open["a"] = 1
    pending = backend.snapshot(CheckpointId(1))
    pane.open["b"] = 2
    pane.now_evaluated(backend.generation)
    while not pending.advance():
        pass
    backend.forget(pending)
    snapshot(backend, 2)
    backend.leave()
    assert len(panes) == 0
    assert dict(pane.items()) == {"a": 1, "b": 2}
    assert entries_of(panes) == {(0, 10): {"a": (1, True), "b": (2, True)}}


def test_a_window_that_comes_again_keeps_its_rows_when_those_of_before_go() -> None:
    backend = RocksDBBackend(context_of(settings=TINY))
    panes = opened(backend, VALUES, window_pane)
    assert isinstance(panes, StoredPanes)
    windows: list[Namespace] = [(0, 10), (10, 20), (20, 30)]
    for namespace in windows:
        panes.by_window[namespace] = window_pane(namespace)
        panes.by_window[namespace].open.update(a=1, b=2)
    snapshot(backend, 1)
    for namespace in windows:
        panes.drop(namespace, backend.generation)
    pane = panes.by_window[20, 30] = window_pane((20, 30))
    pane.open["a"] = 3
    for _ in range(8):
        backend.leave()
    assert not panes.closed
    assert dict(pane.items()) == {"a": 3}


def test_the_changelog_is_told_what_has_changed_in_panes() -> None:
    backend = RocksDBBackend(context_of(settings=CHANGELOG))
    panes = opened(backend, VALUES, window_pane)
    assert not backend.has_changes
    panes.by_window[0, 10] = window_pane((0, 10))
    assert not backend.has_changes
    panes.by_window[0, 10].open["a"] = 1
    assert backend.has_changes
