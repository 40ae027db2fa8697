"""Backends driven as the keyed operator drives them, for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headgate.state.cells import EPOCH
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.handles import ValueState
from headgate.state.hashmap import HashMapBackend, KeyedSnapshot
from headgate.types.typeinfo import Types

GROUPS = 128


def backend_of(groups: range = range(GROUPS)) -> HashMapBackend:
    return HashMapBackend(groups, GROUPS)


def value_state(backend: HashMapBackend, name: str = "v") -> ValueState[Any]:
    return backend.value_state(ValueStateDescriptor(name, Types.PICKLED_BYTE_ARRAY()))


@contextmanager
def at(backend: HashMapBackend, *keys: Any) -> Iterator[None]:
    """Make the last key the current one, after the others; leave the batch at the end."""
    for key in keys:
        cell = backend.cells.get(key)
        if cell is None or cell[EPOCH] != backend.epoch:
            cell = backend.enter(key, cell)
        backend.cell = cell
    try:
        yield
    finally:
        backend.leave()


def put(backend: HashMapBackend, state: ValueState[Any], key: Any, value: Any) -> None:
    with at(backend, key):
        state.update(value)


def get(backend: HashMapBackend, state: ValueState[Any], key: Any) -> Any:
    with at(backend, key):
        return state.value()


def finish(backend: HashMapBackend, pending: KeyedSnapshot) -> bytes:
    while not pending.advance():
        pass
    data = b"".join(pending.finish())
    backend.forget(pending)
    return data


def saved(backend: HashMapBackend) -> bytes:
    return finish(backend, backend.snapshot())


def restored(*files: bytes, groups: range = range(GROUPS)) -> HashMapBackend:
    backend = backend_of(groups)
    for data in files:
        backend.restore(data, "the file")
    return backend


def contents(backend: HashMapBackend, name: str = "v") -> dict[Any, Any]:
    state = value_state(backend, name)
    found = {key: get(backend, state, key) for key in list(backend.cells)}
    return {key: value for key, value in found.items() if value is not None}
