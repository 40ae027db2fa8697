"""Records whose windows would end after the last timestamp, as behind rolling aggregates of a batch job."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import options
from headgate.config import Settings
from headgate.datastream import DataStream
from headgate.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.batch.environments import batch


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("own_trigger", [False, True])
@pytest.mark.parametrize("lateness_ms", [0, 5])
@pytest.mark.parametrize(
    ("assigner", "windows"),
    [
        (TumblingEventTimeWindows(1_000, 0), 1),
        (SlidingEventTimeWindows(1_000, 500, 0), 2),
        (SlidingEventTimeWindows(1_000, 300, 0), 4),
        (EventTimeSessionWindows(1_000), 1),
    ],
)
def test_windows_without_an_end_are_evaluated_by_the_end_of_the_input(
    assigner: Any, windows: int, lateness_ms: int, own_trigger: bool, backend: str
) -> None:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda record: record[0]).window(assigner).allowed_lateness(lateness_ms)
        if own_trigger:
            windowed = windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create()))
        return windowed.reduce(lambda one, other: (one[0], one[1] + other[1]))

    settings = Settings().with_value(options.STATE_BACKEND, backend).with_value(options.ROCKSDB_CACHE_SIZE, 1)
    setup = Setup(settings=settings.with_value(options.CHECKPOINT_INCREMENTAL, True))
    with OperatorHarness.of_stream(build, setup=setup) as each:
        records = [("a", 1), ("b", 4), ("a", 2)]
        each.process_batch(Batch(records, [MAX_TIMESTAMP, MAX_TIMESTAMP - 3, MAX_TIMESTAMP - 1]))
        assert each.watermark(MAX_TIMESTAMP - 1) == []
        saved = each.snapshot(), each.savepoint()
    for restored in saved:
        with OperatorHarness.of_stream(build, setup=setup, restored=[restored]) as each:
            out: list[Any] = []
            while (some := each.operator.advance(MAX_TIMESTAMP, 1)) is not None:
                assert set(some.timestamps or ()) <= {MAX_TIMESTAMP}
                out += some.records
            assert sorted(out) == sorted([("a", 3), ("b", 4)] * windows)


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows(1_000, 0), EventTimeSessionWindows(1_000)])
def test_windows_in_a_batch_job_have_what_a_rolling_aggregate_emits_at_its_end(assigner: Any) -> None:
    amounts = batch().from_collection([("a", 1), ("b", 2), ("a", 3)])
    totals = amounts.key_by(lambda record: record[0]).sum(1)
    in_windows = totals.key_by(lambda record: record[0]).window(assigner).sum(1)
    assert sorted(in_windows.execute_and_collect()) == [("a", 4), ("b", 2)]
