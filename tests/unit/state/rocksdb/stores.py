"""RocksDB backends for the tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headgate.clock import VirtualClock
from headgate.state.files import FetchedKeyed
from headgate.state.rocksdb.backend import RocksDBBackend
from tests.unit.state.backends import GROUPS, Files, at, context_of, get, put, value_state

INCREMENTAL = {"execution.checkpointing.incremental": True}
CHANGELOG = {"state.changelog.enabled": True, "headgate.changelog.cut-interval": "100 ms"}
TINY = {"headgate.rocksdb.cache-size": "1 b"}


def rocksdb(
    settings: Mapping[str, Any] | None = None,
    groups: range = range(GROUPS),
    clock: VirtualClock | None = None,
    files: Files | None = None,
) -> RocksDBBackend:
    """Return an empty backend."""
    return RocksDBBackend(context_of(groups, dict(settings or {}), clock, files))


def restored(
    *parts: FetchedKeyed, settings: Mapping[str, Any] | None = None, groups: range = range(GROUPS)
) -> RocksDBBackend:
    """Return a backend that has taken these parts."""
    backend = rocksdb(settings, groups)
    backend.restore(parts, "the checkpoint")
    return backend


def fill(backend: RocksDBBackend, keys: Iterable[Any], value: Any = 0) -> None:
    """Give keys a value."""
    state = value_state(backend)
    for key in keys:
        put(backend, state, key, value)


def values(backend: RocksDBBackend) -> dict[Any, Any]:
    """Return all keys with their values."""
    state = value_state(backend)
    return {key: get(backend, state, key) for key in list(backend.keys("v"))}


__all__ = ["CHANGELOG", "INCREMENTAL", "TINY", "at", "fill", "restored", "rocksdb", "values"]
