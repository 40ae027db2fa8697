"""Sweeps: what has expired goes, in the background, on disk and in the cache."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.clock import VirtualClock
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from headgate.state.rocksdb.backend import RocksDBBackend
from headgate.state.ttl import StateTtlConfig
from headgate.types.instant import Time
from headgate.types.typeinfo import Types
from tests.unit.state.backends import at
from tests.unit.state.rocksdb.stores import TINY, rocksdb

ANY = Types.PICKLED_BYTE_ARRAY()
TTL_MS = 60_000


def config(**how: bool) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))
    return (builder.disable_cleanup_in_background() if how.get("off") else builder).build()


def with_ttl(descriptor: StateDescriptor, **how: bool) -> Any:
    descriptor.enable_time_to_live(config(**how))
    return descriptor


def sweep(backend: RocksDBBackend, clock: VirtualClock) -> None:
    """Let the background work of one round be done."""
    due_ms = backend.background(clock.monotonic_ms())
    assert due_ms is not None
    clock.advance(max(0, due_ms - clock.monotonic_ms()))
    until_ms = clock.monotonic_ms() + 10_000
    while clock.monotonic_ms() < until_ms:
        due_ms = backend.background(clock.monotonic_ms())
        assert due_ms is not None
        clock.advance(max(1, min(due_ms, until_ms) - clock.monotonic_ms()))


@pytest.mark.parametrize("settings", [{}, TINY])
def test_what_nobody_reads_is_removed_once_it_has_expired(settings: dict[str, Any]) -> None:
    clock = VirtualClock(1_000_000.0)
    backend = rocksdb(settings, clock=clock)
    single = backend.state(with_ttl(ValueStateDescriptor("v", ANY)))
    many = backend.state(with_ttl(ListStateDescriptor("l", ANY)))
    entries = backend.state(with_ttl(MapStateDescriptor("m", ANY, ANY)))
    for key in (*range(700), ("a", 1.0)):
        with at(backend, key):
            single.update(key)
            many.add(key)
            entries.put(True, key)
    backend._clear_cache()
    backend.background(clock.monotonic_ms())
    clock.advance(TTL_MS // 2)
    with at(backend, 7):
        single.update("still")
        many.add("still")
        entries.put("still", 1)
    sweep(backend, clock)
    assert [set(backend.keys(name)) for name in ("v", "l", "m")] == [{7}, {7}, {7}]
    with at(backend, 7):
        assert (single.value(), list(many.get()), list(entries.keys())) == ("still", ["still"], ["still"])


def test_what_is_in_the_cache_only_is_swept_as_well() -> None:
    clock = VirtualClock(1_000_000.0)
    backend = rocksdb(clock=clock)
    state = backend.state(with_ttl(ValueStateDescriptor("v", ANY)))
    with at(backend, "k"):
        state.update(1)
    sweep(backend, clock)
    assert list(backend.keys("v")) == []


def test_state_without_clean_up_in_the_background_stays_until_it_is_read() -> None:
    clock = VirtualClock(1_000_000.0)
    backend = rocksdb(clock=clock)
    state = backend.state(with_ttl(ValueStateDescriptor("v", ANY), off=True))
    with at(backend, "k"):
        state.update(1)
    clock.advance(10 * TTL_MS)
    assert backend.background(clock.monotonic_ms()) is None
    assert list(backend.keys("v")) == ["k"]
    with at(backend, "k"):
        assert state.value() is None
