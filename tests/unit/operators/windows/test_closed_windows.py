"""What closed windows leave behind, in memory and in the database: nothing, however many there were."""

from __future__ import annotations

import gc
import tracemalloc
from functools import partial
from typing import Any, Final, cast

import pytest

from headgate import options
from headgate.common import Time
from headgate.config import Settings
from headgate.datastream import DataStream
from headgate.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from headgate.operators.keyed import KeyedOperator
from headgate.operators.windows.operator import WindowOperator
from headgate.state.rocksdb.backend import RocksDBBackend
from headgate.state.rocksdb.row_keys import LAYOUTS_ROW
from headgate.testing.harness import OperatorHarness, Setup

TEN: Final = Time.milliseconds(10)
ASSIGNERS: Final = {
    "tumbling": TumblingEventTimeWindows.of(TEN),
    "sliding": SlidingEventTimeWindows.of(Time.milliseconds(40), TEN),
    "session": EventTimeSessionWindows.with_gap(Time.milliseconds(5)),
}
BYTES_MAX: Final = 120_000
"""30 bytes for each of 4,000 windows: a window that stays takes hundreds."""


def through_windows(harness: Any, first: int, last: int) -> None:
    for window in range(first, last):
        harness.process((window % 7, 1), timestamp_ms=window * 10)
        harness.watermark(window * 10 - 1)
        if window % 500 == 0 and harness.setup.checkpointing:
            harness.snapshot()
            harness.complete()


def on(backend: str, cache_bytes: int = 20_000) -> Setup:
    settings = Settings().with_value(options.STATE_BACKEND, backend)
    settings = settings.with_value(options.ROCKSDB_WRITE_BUFFER_SIZE, 2**16)
    return Setup(settings=settings.with_value(options.ROCKSDB_CACHE_SIZE, cache_bytes))


def reduced(assigner: WindowAssigner[Any, Any], stream: DataStream) -> DataStream:
    windows = stream.key_by(lambda record: record[0]).window(assigner)
    return windows.reduce(lambda one, other: (one[0], one[1] + other[1]))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", pytest.param("rocksdb", marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", ASSIGNERS)
def test_memory_is_flat_over_thousands_of_windows(kind: str, backend: str) -> None:
    with OperatorHarness.of_stream(partial(reduced, ASSIGNERS[kind]), setup=on(backend)) as harness:
        through_windows(harness, 0, 500)
        gc.collect()
        tracemalloc.start()
        try:
            through_windows(harness, 500, 4_500)
            gc.collect()
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert grown < BYTES_MAX


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_windows_that_waited_for_late_records_are_forgotten(checkpointing: bool, incremental: bool) -> None:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(ASSIGNERS["tumbling"]).allowed_lateness(20)
        return windows.reduce(lambda one, other: (one[0], one[1] + other[1]))

    settings = Settings().with_value(options.CHECKPOINT_INCREMENTAL, incremental)
    setup = Setup(settings=settings, checkpointing=checkpointing)
    with OperatorHarness.of_stream(build, setup=setup) as harness:
        through_windows(harness, 0, 600)
        panes = cast("WindowOperator", harness.operator)._windows._panes  # type: ignore[attr-defined]
        assert len(panes.by_window) == 3
        gone = sum(map(len, panes._dropped.values()))
        assert gone == (99 if checkpointing and incremental else 0), "those since the checkpoint"


def rows_of(harness: OperatorHarness) -> int:
    """Return how many rows the database has, but for that of the layouts."""
    backend = cast("KeyedOperator", harness.operator)._backend
    assert isinstance(backend, RocksDBBackend)
    while not backend._store.rows.write():
        pass
    return sum(1 for _ in backend._store.database.rows(b"", LAYOUTS_ROW))


@pytest.mark.slow
@pytest.mark.parametrize("cache_bytes", [1, 2**20])
@pytest.mark.parametrize("kind", ["tumbling", "sliding"])
def test_windows_that_are_over_leave_no_row(kind: str, cache_bytes: int) -> None:
    with OperatorHarness.of_stream(partial(reduced, ASSIGNERS[kind]), setup=on("rocksdb", cache_bytes)) as harness:
        through_windows(harness, 0, 200)
        harness.snapshot()
        assert 2 <= rows_of(harness) <= 20, "those of windows that are open, two for each"
        harness.watermark(3_000)
        harness.process((1, 1), timestamp_ms=3_000)
        harness.snapshot()
        assert rows_of(harness) == 2
        harness.watermark(4_000)
        harness.snapshot()
        assert rows_of(harness) == 0


def test_windows_that_are_over_before_a_barrier_never_reach_the_database() -> None:
    with OperatorHarness.of_stream(partial(reduced, ASSIGNERS["tumbling"]), setup=on("rocksdb")) as harness:
        through_windows(harness, 1, 400)
        backend = cast("KeyedOperator", harness.operator)._backend
        assert isinstance(backend, RocksDBBackend)
        assert backend._store.rows.is_empty
        assert rows_of(harness) == 0


def triggered(stream: DataStream) -> DataStream:
    windows = stream.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(TEN))
    return windows.trigger(CountTrigger.of(2)).reduce(lambda one, other: (one[0], one[1] + other[1]))


def evicted(stream: DataStream) -> DataStream:
    windows = stream.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(TEN))
    evicting = windows.trigger(EventTimeTrigger.create()).evictor(CountEvictor.of(1))
    return evicting.reduce(lambda one, other: (one[0], one[1] + other[1]))


@pytest.mark.parametrize("build", [triggered, evicted])
def test_cells_of_closed_windows_leave_the_cache(build: Any) -> None:
    with OperatorHarness.of_stream(build, setup=on("rocksdb", 2**28)) as harness:
        through_windows(harness, 1, 900)
        backend = cast("KeyedOperator", harness.operator)._backend
        assert isinstance(backend, RocksDBBackend)
        assert len(backend.cells) <= 7 + 1, "of 7 keys, and of the window that is open"
