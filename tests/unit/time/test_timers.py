"""Timers of a keyed operator, over the hash map."""

from __future__ import annotations

import tracemalloc

import pytest

from headgate.state.keyed.timer_index import NEVER
from headgate.time.timers import EVENT_TIMERS, Timers
from tests.unit.state.backends import at, backend_of


def test_a_key_knows_its_first_timer() -> None:
    backend = backend_of()
    timers = Timers(backend, EVENT_TIMERS)
    with at(backend, "a key"):
        assert timers.earliest() is None
        timers.register(20)
        timers.register(10)
        assert timers.earliest() == 10
    with at(backend, "another key"):
        assert timers.earliest() is None


@pytest.mark.slow
def test_timers_that_are_taken_back_leave_nothing_in_memory() -> None:
    backend = backend_of()
    timers = Timers(backend, EVENT_TIMERS)
    tracemalloc.start()
    try:
        for time_ms in range(0, 2_000_000, 100):
            with at(backend, "a key"):
                timers.register(time_ms)
                timers.delete(time_ms)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 500_000
    assert timers.head_ms == NEVER
