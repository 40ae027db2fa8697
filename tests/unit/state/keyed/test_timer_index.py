"""The index of timers against a sorted list."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import native
from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from headgate.state.keyed.timer_index import NEVER, HeapTimerIndex, timer_index

TIMES = st.integers(0, 6) | st.sampled_from([MIN_TIMESTAMP, -4096, -1, 4095, 4096, 8192, 1 << 40, MAX_TIMESTAMP])
KEYS = st.sampled_from(["a", "b", "c", ("t", 1), 2])


BOTH = pytest.mark.parametrize("compiled", sorted({False, native.chosen("auto") is not None}))


def index_of(*, compiled: bool) -> HeapTimerIndex:
    return timer_index(native.chosen("on") if compiled else None)


@BOTH
@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "pop"]), TIMES, KEYS), max_size=60), st.integers(1, 3))
def test_timers_come_out_by_time_then_in_the_order_of_registration(
    compiled: bool, steps: list[tuple[str, int, object]], limit: int
) -> None:
    index = index_of(compiled=compiled)
    model: list[tuple[int, object]] = []
    for step, time, key in steps:
        if step == "add" and (time, key) not in model:
            index.add(time, key)
            model.append((time, key))
        elif step == "remove":
            index.remove(time, key)
            model = [timer for timer in model if timer != (time, key)]
        elif step == "pop" and index.head_ms != NEVER:
            head_ms = index.head_ms
            popped, keys = index.pop(limit)
            assert popped == head_ms
            due = [timer[1] for timer in model if timer[0] == popped][: len(keys)]
            assert list(keys) == due
            assert len(keys) <= limit
            model = [timer for timer in model if timer[0] != popped or timer[1] not in due]
        assert index.head_ms == min((timer[0] for timer in model), default=NEVER)


@BOTH
def test_a_time_that_many_keys_wait_for_comes_in_pieces(compiled: bool) -> None:
    index = index_of(compiled=compiled)
    for key in range(10):
        index.add(5, key)
    assert [list(index.pop(4)[1]) for _ in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert index.head_ms == NEVER


@BOTH
def test_timers_that_are_asked_for_again_and_again_at_a_past_time_need_bounded_memory(compiled: bool) -> None:
    index = index_of(compiled=compiled)
    index.add(4000, "later")
    tracemalloc.start()
    try:
        for _ in range(20_000):
            index.add(1, "now")
            assert index.pop(10)[0] == 1
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 80_000
    assert index.head_ms == 4000


def test_timers_that_are_put_off_for_ever_need_bounded_memory() -> None:
    index = HeapTimerIndex()
    for time in range(100_000):
        index.add(time, "key")
        index.remove(time - 1, "key")
    assert len(index) == 1
    assert len(index._heap) < 5000
