"""Timers of a keyed operator, over the hash map."""

from __future__ import annotations

import tracemalloc

import pytest

from headgate.state.keyed.timer_index import NEVER
from headgate.time.timers import EVENT_TIMERS, Timers
from tests.unit.state.backends import at, backend_of


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
