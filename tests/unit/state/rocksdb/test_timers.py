"""Timers on disk: the next ones in memory, however many there are."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from headgate.state.keyed.timer_index import NEVER
from headgate.state.rocksdb import timers as timers_module
from headgate.state.rocksdb.timers import NEAR_MAX, StoredTimerIndex
from headgate.time.timers import EVENT_TIMERS, Timers
from tests.unit.state.backends import at, begin, finish, saved
from tests.unit.state.rocksdb.stores import INCREMENTAL, TINY, restored, rocksdb


@pytest.fixture
def few_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers_module, "NEAR_MAX", 10)


@pytest.mark.slow
def test_far_timers_are_not_in_memory() -> None:
    backend = rocksdb(TINY)
    timers = Timers(backend, EVENT_TIMERS)
    for key in range(3 * NEAR_MAX):
        with at(backend, key):
            timers.register(key)
    index = backend.timers(EVENT_TIMERS)[1]
    assert isinstance(index, StoredTimerIndex)
    assert len(index._heap) <= 2 * NEAR_MAX
    assert timers.head_ms == 0


@pytest.mark.usefixtures("few_in_memory")
@pytest.mark.parametrize("seed", range(5))
def test_timers_fire_in_order_whatever_is_registered_and_deleted_meanwhile(seed: int) -> None:
    random = Random(seed)
    backend = rocksdb(TINY)
    timers = Timers(backend, EVENT_TIMERS)
    expected: set[tuple[int, int]] = set()
    now_ms = 0
    for _ in range(100):
        key, timestamp_ms = random.randrange(40), now_ms + random.randrange(1, 100)
        with at(backend, key):
            if random.random() < 0.8:
                timers.register(timestamp_ms)
                expected.add((timestamp_ms, key))
            else:
                timers.delete(timestamp_ms)
                expected.discard((timestamp_ms, key))
        if random.random() < 0.2:
            now_ms += random.randrange(20)
            fired = fire(backend, timers, now_ms)
            assert sorted(fired) == sorted(timer for timer in expected if timer[0] <= now_ms)
            assert [time for time, _ in fired] == sorted(time for time, _ in fired)
            expected -= set(fired)
    assert set(fire(backend, timers, 10_000)) == expected
    assert timers.head_ms == NEVER


def fire(backend: Any, timers: Timers, until_ms: int) -> list[tuple[int, int]]:
    fired = []
    while timers.head_ms <= until_ms:
        fired += [(time, backend.current.cell[3]) for time in timers.due(until_ms, 3)]
        backend.leave()
    return fired


@pytest.mark.usefixtures("few_in_memory")
def test_the_index_is_in_the_files_of_a_checkpoint() -> None:
    backend = rocksdb({**INCREMENTAL, **TINY})
    timers = Timers(backend, EVENT_TIMERS)
    for key in range(100):
        with at(backend, key):
            timers.register(1000 - key)
    pending = begin(backend)
    assert len(fire(backend, timers, 950)) == 50
    again = restored(finish(backend, pending), settings=INCREMENTAL)
    assert len(fire(again, Timers(again, EVENT_TIMERS), 1000)) == 100
    later = restored(saved(backend), settings=INCREMENTAL)
    assert len(fire(later, Timers(later, EVENT_TIMERS), 1000)) == 50
