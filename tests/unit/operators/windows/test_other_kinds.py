"""Windows that a changed program cannot go on with are refused at the restore: none is lost without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate import options
from headgate.common import Time
from headgate.config import Settings
from headgate.datastream import ProcessWindowFunction
from headgate.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headgate.errors import RestoreError
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.operators.windows.sums import MergeableSum

SIZE: Final = Time.milliseconds(10)


class Records(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield list(elements)


def windows(assigner: Any, compute: Callable[[Any], Any] = lambda windowed: windowed.sum(1)) -> Any:
    return lambda stream: compute(stream.key_by(lambda record: record[0]).window(assigner))


TUMBLING: Final = windows(TumblingEventTimeWindows.of(SIZE))
SLIDING: Final = windows(SlidingEventTimeWindows.of(SIZE, Time.milliseconds(5)))
SESSIONS: Final = windows(EventTimeSessionWindows.with_gap(SIZE))
COUNTED_SESSIONS: Final = windows(
    EventTimeSessionWindows.with_gap(SIZE), lambda windowed: windowed.trigger(CountTrigger.of(9)).sum(1)
)
PROCESSING: Final = windows(TumblingProcessingTimeWindows.of(SIZE))
GLOBAL: Final = windows(GlobalWindows.create(), lambda windowed: windowed.trigger(CountTrigger.of(9)).sum(1))
COUNT: Final = lambda stream: stream.key_by(lambda record: record[0]).count_window(9).sum(1)  # noqa: E731
LISTS: Final = windows(TumblingEventTimeWindows.of(SIZE), lambda windowed: windowed.process(Records()))
EVICTED: Final = windows(
    TumblingEventTimeWindows.of(SIZE), lambda windowed: windowed.evictor(CountEvictor.of(9)).process(Records())
)
AGGREGATED: Final = windows(TumblingEventTimeWindows.of(SIZE), lambda windowed: windowed.aggregate(MergeableSum()))


def restored(before: Any, after: Any, backend: str = "hashmap") -> OperatorHarness:
    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    with OperatorHarness.of_stream(before, setup=setup) as harness:
        harness.process(("a", 1), timestamp_ms=1)
        saved = harness.snapshot()
    return OperatorHarness.of_stream(after, restored=[saved], setup=setup)


def refused(harness: OperatorHarness) -> None:
    """Open the harness, which is to fail, and close it all the same."""
    try:
        harness.open()
    finally:
        harness.close()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (TUMBLING, SESSIONS, "windows that do not merge, which EventTimeSessionWindows"),
        (TUMBLING, COUNTED_SESSIONS, "windows that do not merge, which EventTimeSessionWindows"),
        (TUMBLING, GLOBAL, "windows of time, which GlobalWindows"),
        (TUMBLING, COUNT, "windows of time, which CountTumblingWindowAssigner"),
        (TUMBLING, PROCESSING, "windows of event time, which TumblingProcessingTimeWindows.* would never evaluate"),
        (PROCESSING, TUMBLING, "windows of processing time, which TumblingEventTimeWindows.* would never evaluate"),
        (PROCESSING, SLIDING, "windows of processing time, which SlidingEventTimeWindows.* would never evaluate"),
        (COUNT, TUMBLING, "windows of a number of records, which TumblingEventTimeWindows"),
        (COUNT, GLOBAL, "windows of a number of records, which GlobalWindows"),
        (GLOBAL, SLIDING, "global windows, which SlidingEventTimeWindows"),
        (GLOBAL, SESSIONS, "windows that do not merge, which EventTimeSessionWindows"),
        (COUNTED_SESSIONS, TUMBLING, "windows that merge, which TumblingEventTimeWindows"),
        (SESSIONS, TUMBLING, "sessions in the cells of keys"),
        (SLIDING, TUMBLING, "sliding windows in slices"),
        (SLIDING, SESSIONS, "sliding windows in slices"),
    ],
)
def test_windows_of_another_kind_are_refused(before: Any, after: Any, words: str, backend: str) -> None:
    with pytest.raises(RestoreError, match=f"operator 'operator' was saved with {words}"):
        refused(restored(before, after, backend))


@pytest.mark.parametrize(
    ("before", "after"),
    [(LISTS, EVICTED), (EVICTED, LISTS), (TUMBLING, LISTS), (TUMBLING, AGGREGATED), (LISTS, TUMBLING)],
)
def test_contents_of_another_kind_are_refused_in_the_terms_of_windows(before: Any, after: Any) -> None:
    with pytest.raises(RestoreError, match=r"process\(\), and with an evictor also their times"):
        refused(restored(before, after))


def test_a_trigger_of_the_other_clock_is_no_other_kind() -> None:
    often = ContinuousProcessingTimeTrigger.of(Time.milliseconds(7))
    early = windows(TumblingEventTimeWindows.of(SIZE), lambda windowed: windowed.trigger(often).sum(1))
    with restored(early, early) as harness:
        assert harness.advance_time(20) == [("a", 1), ("a", 1)]


def test_a_trigger_of_event_time_goes_on_in_a_window_without_an_end() -> None:
    trigger = ContinuousEventTimeTrigger.of(SIZE)
    build = windows(GlobalWindows.create(), lambda windowed: windowed.trigger(trigger).sum(1))
    with OperatorHarness.of_stream(build) as before:
        before.process(("a", 1), ("a", 2), timestamp_ms=5)
        saved = before.snapshot()
    with OperatorHarness.of_stream(build, restored=[saved]) as after:
        assert after.watermark(10) == [("a", 3)]


def test_nothing_is_refused_where_no_window_is_open() -> None:
    with OperatorHarness.of_stream(TUMBLING) as harness:
        harness.process(("a", 1), timestamp_ms=1)
        assert harness.watermark(9) == [("a", 1)]
        saved = harness.snapshot()
    with OperatorHarness.of_stream(SESSIONS, restored=[saved]) as harness:
        harness.process(("a", 2), timestamp_ms=20)
        assert harness.watermark(100) == [("a", 2)]


def test_windows_of_another_size_keep_their_times() -> None:
    purging = windows(
        TumblingEventTimeWindows.of(SIZE),
        lambda windowed: windowed.trigger(PurgingTrigger.of(CountTrigger.of(9))).sum(1),
    )
    longer = windows(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    with restored(TUMBLING, longer) as harness:
        harness.process(("a", 5), timestamp_ms=2)
        assert harness.watermark(9) == [("a", 1)]
        assert harness.watermark(19) == [("a", 5)]
    with restored(purging, TUMBLING) as harness:
        assert harness.state("window-contents") == {("a", (0, 10)): ("a", 1)}
