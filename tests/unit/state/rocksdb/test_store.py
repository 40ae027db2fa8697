"""The store with one column without items: cells are written and read in a shorter loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from types import FrameType
from typing import Any

import pytest

from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.types.typed_key import typed
from headgate.types.typeinfo import Types
from tests.unit.state.backends import begin, finish, get, put, saved, value_state
from tests.unit.state.rocksdb.stores import CHANGELOG, TINY, fill, restored, rocksdb, values

COUNT = 1000
MIXED_KEYS = list(
    map(typed, ["text", 7, b"bytes", None, True, 1, 1.0, 2.5, Decimal("1.0"), ("a", 1), [1], {"a": None}])
)


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many functions written in Python a piece of work calls."""
    calls = 0

    def note(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_writing_and_reading_the_only_value_of_a_cell_is_one_call_each() -> None:
    backend = rocksdb()
    state = backend.state(ValueStateDescriptor("v", Types.LONG()))
    for key in range(COUNT):
        put(backend, state, key, key)
    assert calls_of(backend._clear_cache) < 2 * COUNT
    assert calls_of(lambda: backend.load(list(range(COUNT)))) < 2 * COUNT
    assert [get(backend, state, key) for key in range(COUNT)] == list(range(COUNT))


@pytest.mark.parametrize("settings", [TINY, TINY | CHANGELOG])
def test_all_keys_and_values_are_read_as_they_were_written(settings: dict[str, Any]) -> None:
    backend = rocksdb(settings)
    expected = {key: [key] for key in MIXED_KEYS}
    for key, value in expected.items():
        fill(backend, [key], value)
    fill(backend, ["deleted", ("deleted",)], 1)
    fill(backend, ["deleted", ("deleted",)], None)
    assert values(backend) == expected
    again = restored(saved(backend), settings=settings)
    assert values(again) == expected
    assert {type(key) for key in again.keys("v")} == {type(key) for key in MIXED_KEYS}


@pytest.mark.parametrize("second", [ValueStateDescriptor("w", Types.LONG()), ListStateDescriptor("w", Types.LONG())])
def test_values_that_were_written_alone_are_there_after_a_second_state_is_declared(second: Any) -> None:
    backend = rocksdb(TINY)
    fill(backend, MIXED_KEYS, "old")
    backend.state(second)
    fill(backend, ["new"], "new")
    assert values(backend) == dict.fromkeys(MIXED_KEYS, "old") | {"new": "new"}


@pytest.mark.slow
def test_a_checkpoint_holds_the_value_at_its_barrier() -> None:
    backend = rocksdb(CHANGELOG)
    fill(backend, range(COUNT), "before")
    pending = begin(backend)
    put(backend, value_state(backend), 5, "after")
    assert values(restored(finish(backend, pending)))[5] == "before"
    assert values(backend)[5] == "after"
