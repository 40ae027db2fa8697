"""Combined sessions in the cells of their keys: how they merge, when they are due, and what a restore finds."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any, Final, final

import pytest

from headgate import options
from headgate.config import Settings
from headgate.datastream import AggregateFunction, DataStream, OutputTag, ProcessWindowFunction
from headgate.datastream.state import ValueStateDescriptor
from headgate.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
)
from headgate.elements import MAX_TIMESTAMP, Batch
from headgate.errors import RestoreError
from headgate.operators.base import UserCodeError
from headgate.operators.windows import operator
from headgate.operators.windows.merging_windows import MERGING_SET, MergingWindows
from headgate.operators.windows.operator import WindowOperator
from headgate.operators.windows.session_state import DueKeys, columns_of, due_keys, first_due, rows_of
from headgate.operators.windows.session_windows import SessionWindows
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.typeinfo import Types
from tests.compiled import compiled_module
from tests.unit.operators.windows.kept import kept

LATE: Final = OutputTag("late")
BACKENDS: Final = ["hashmap", pytest.param("rocksdb", marks=pytest.mark.slow)]


class Numbers(AggregateFunction):
    """Gathers numbers in a list, which it changes in place; `merges` counts how often two become one."""

    merges = 0

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return list(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        type(self).merges += 1
        return acc_a + acc_b


@final
class Spanned(ProcessWindowFunction[Any, Any, Any, TimeWindow]):
    """Emits the session with its numbers, and counts in global state the sessions of a key; clears that with one."""

    count: Final = ValueStateDescriptor("count", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        state = context.global_state().get_state(self.count)
        state.update((state.value() or 0) + 1)
        window = context.window()
        yield key, window.start, window.end, next(iter(elements)), state.value()

    def clear(self, context: Any) -> None:
        context.global_state().get_state(self.count).clear()


@final
class OwnGap(SessionWindowTimeGapExtractor):
    """The gap of a record is its third field."""

    def extract(self, element: Any) -> int:
        gap: int = element[2]
        return gap


def harness(
    backend: str = "hashmap",
    lateness: int = 0,
    assigner: Any = None,
    function: Any = None,
    trigger: Any = None,
    **rest: Any,
) -> OperatorHarness:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda record: record[0]).window(assigner or EventTimeSessionWindows(10))
        if trigger is not None:
            windows = windows.trigger(trigger)
        windows = windows.allowed_lateness(lateness).side_output_late_data(LATE)
        return windows.aggregate(Numbers(), function) if function is not None else windows.aggregate(Numbers())

    settings = Settings().with_value(options.STATE_BACKEND, backend).with_value(options.CHECKPOINT_INCREMENTAL, True)
    return OperatorHarness.of_stream(build, setup=rest.pop("setup", Setup(settings=settings)), **rest)


def add(each: OperatorHarness, *records: Any) -> list[Any]:
    """Process records, whose numbers are their times."""
    return each.process_batch(Batch(list(records), [record[1] for record in records])).records


def windows_of(each: OperatorHarness) -> Any:
    assert isinstance(each.operator, WindowOperator)
    return each.operator._windows


# --- what becomes one


def test_a_record_between_two_sessions_makes_them_one_and_only_then_merges() -> None:
    Numbers.merges = 0
    with harness() as sessions:
        add(sessions, ("a", 0), ("a", 5), ("a", 20), ("a", 22), ("b", 21))
        assert Numbers.merges == 0
        add(sessions, ("a", 12))
        assert Numbers.merges == 1
        assert isinstance(windows_of(sessions), SessionWindows)
        assert sorted(sessions.watermark(31)) == [[0, 5, 20, 22, 12], [21]]
        assert sessions.watermark(MAX_TIMESTAMP) == []


@pytest.mark.parametrize(
    ("times", "results"),
    [
        ([0, 10], [[0, 10]]),
        ([10, 0], [[10, 0]]),
        ([0, 11], [[0], [11]]),
        ([11, 0], [[0], [11]]),
        ([40, 20, 0, 30, 10], [[40, 20, 30, 0, 10]]),
        ([0, 30, 15, 60, 41], [[0], [15], [30], [41], [60]]),
    ],
)
def test_sessions_that_touch_are_one_in_whatever_order_records_come(times: list[int], results: list[Any]) -> None:
    with harness() as sessions:
        add(sessions, *(("a", time) for time in times))
        found = sessions.watermark(1_000)
        assert [sorted(each) for each in found] == [sorted(each) for each in results]


def test_a_gap_may_depend_on_the_record_and_an_earlier_record_may_last_longer() -> None:
    with harness(assigner=EventTimeSessionWindows.with_dynamic_gap(OwnGap())) as sessions:
        add(sessions, ("a", 0, 50), ("a", 10, 5), ("a", 50, 2), ("b", 0, 3), ("b", 4, 3))
        assert sessions.watermark(49) == [[0], [4]]
        assert sessions.watermark(50) == []
        assert sessions.watermark(51) == [[0, 10, 50]]


def test_a_gap_that_is_none_is_refused() -> None:
    sessions = harness(assigner=EventTimeSessionWindows.with_dynamic_gap(OwnGap()))
    with sessions, pytest.raises(UserCodeError) as caught:
        add(sessions, ("a", 0, 0))
    assert "OwnGap.extract() returned 0" in str(caught.value.__cause__)


def test_results_come_in_order_of_time_in_bounded_pieces() -> None:
    with harness() as sessions:
        add(sessions, *((f"k{key}", 100 * number + key) for key in range(7) for number in range(3)))
        pieces = []
        while (fired := sessions.operator.advance(1_000, 4)) is not None:
            assert len(fired.records) <= 4
            pieces += list(zip(fired.records, fired.timestamps or (), strict=True))
        assert pieces == [([100 * n + key], 100 * n + key + 9) for n in range(3) for key in range(7)]


# --- late records


def test_a_late_record_evaluates_its_session_again_until_that_is_over() -> None:
    with harness(lateness=10) as sessions:
        add(sessions, ("a", 0), ("a", 5))
        assert sessions.watermark(14) == [[0, 5]]
        assert add(sessions, ("a", 3)) == [[0, 5, 3]]
        assert sessions.watermark(23) == []
        assert add(sessions, ("a", 1)) == [[0, 5, 3, 1]]
        assert sessions.watermark(24) == []
        assert add(sessions, ("a", 2)) == []
        assert sessions.side(LATE) == [("a", 2)]


def test_a_session_that_was_evaluated_goes_on_and_is_evaluated_at_its_new_end() -> None:
    with harness(lateness=100) as sessions:
        add(sessions, ("a", 0))
        assert sessions.watermark(9) == [[0]]
        assert add(sessions, ("a", 10)) == []
        assert sessions.watermark(18) == []
        assert sessions.watermark(19) == [[0, 10]]
        assert sessions.watermark(200) == []


def test_a_late_record_may_join_what_was_evaluated_with_what_was_not() -> None:
    with harness(lateness=20) as sessions:
        add(sessions, ("a", 0), ("a", 18))
        assert sessions.watermark(12) == [[0]]
        assert add(sessions, ("a", 9)) == []
        assert sessions.watermark(27) == [[0, 18, 9]]


def test_a_record_too_late_for_a_session_of_its_own_may_extend_one() -> None:
    with harness() as sessions:
        add(sessions, ("a", 20))
        assert sessions.watermark(25) == []
        add(sessions, ("a", 12), ("a", 1))
        assert sessions.side(LATE) == [("a", 1)]
        assert sessions.watermark(29) == [[20, 12]]


def test_a_record_whose_session_ends_at_the_watermark_is_late() -> None:
    with harness() as sessions:
        assert sessions.watermark(9) == []
        add(sessions, ("a", 0), ("a", 1))
        assert sessions.side(LATE) == [("a", 0)]
        assert sessions.watermark(10) == [[1]]


# --- window functions


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_function_has_the_session_and_state_of_the_key_and_clears_it_when_a_session_is_over(backend: str) -> None:
    with harness(backend, lateness=10, function=Spanned()) as sessions:
        add(sessions, ("a", 0), ("a", 5))
        assert sessions.watermark(20) == [("a", 0, 15, [0, 5], 1)]
        assert add(sessions, ("a", 4)) == [("a", 0, 15, [0, 5, 4], 2)]
        assert sessions.state("count") == {"a": 2}
        assert sessions.watermark(24) == []
        assert sessions.state("count") == {}


# --- snapshots


def saved_by_merging(backend: str, lateness: int, monkeypatch: pytest.MonkeyPatch) -> SavedOperator:
    """Return a snapshot with sessions of a key that were merged, evaluated, and neither, each in cells of its own."""
    with monkeypatch.context() as patch:
        patch.setattr(operator, "layout_of", lambda *_: MergingWindows)
        with harness(backend, lateness) as sessions:
            assert isinstance(windows_of(sessions), MergingWindows)
            add(sessions, ("a", 0), ("a", 14), ("a", 7), ("b", 3))
            sessions.watermark(13)
            add(sessions, ("a", 40), ("c", 41), ("c", 60))
            return sessions.snapshot()


@pytest.mark.parametrize("backend", BACKENDS)
def test_sessions_in_cells_of_their_own_are_taken_over(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = saved_by_merging(backend, 20, monkeypatch)
    with harness(backend, lateness=20, restored=[saved]) as sessions:
        assert isinstance(windows_of(sessions), SessionWindows)
        if backend == "hashmap":
            assert kept(sessions, MERGING_SET.name) == kept(sessions) == kept(sessions, "_timers/event") == {}
        assert sessions.watermark(13) == []
        assert add(sessions, ("b", 2)) == [[3, 2]]
        saved = sessions.snapshot()
    with harness(backend, lateness=20, restored=[saved]) as sessions:
        assert sessions.watermark(13) == []
        assert sessions.watermark(24) == [[0, 14, 7]]
        add(sessions, ("c", 51))
        assert sessions.watermark(100) == [[40], [41, 60, 51]]
        assert sessions.state("window-session") == sessions.state("window-sessions") == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_sessions_are_evaluated_once_over_a_restart(backend: str) -> None:
    with harness(backend, lateness=20) as sessions:
        add(sessions, ("a", 0), ("b", 1), ("b", 30), ("b", 60))
        assert sessions.watermark(10) == [[0], [1]]
        saved = sessions.snapshot()
    with harness(backend, lateness=20, restored=[saved]) as sessions:
        assert sessions.watermark(10) == []
        assert add(sessions, ("a", 5)) == []
        assert sessions.watermark(39) == [[0, 5], [30]]
        assert sessions.watermark(1_000) == [[60]]


def test_a_snapshot_under_way_has_what_there_was_at_the_barrier() -> None:
    with harness() as sessions:
        add(sessions, ("a", 0), ("b", 0), ("b", 20))
        begun = sessions.barrier()
        add(sessions, ("a", 1), ("b", 21), ("b", 5), ("b", 14), ("c", 1))
        saved = sessions.finish(begun)
        assert sorted(sessions.watermark(100)) == [[0, 1], [0, 5, 20, 21, 14], [1]]
    with harness(restored=[saved]) as sessions:
        assert sorted(sessions.watermark(100)) == [[0], [0], [20]]


def test_a_trigger_of_ones_own_cannot_take_over_combined_sessions() -> None:
    with harness() as sessions:
        add(sessions, ("a", 0))
        saved = sessions.snapshot()
    with pytest.raises(RestoreError, match="through a canonical savepoint"):
        harness(trigger=ContinuousEventTimeTrigger(5), restored=[saved]).open()


class Shift(TimeWindow):
    """A window of the program's own class."""


@final
class Shifts(MergingWindowAssigner[Any, TimeWindow]):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [Shift(timestamp, timestamp + 10)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        pass

    def get_default_trigger(self, env: Any) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


def test_windows_of_another_class_cannot_become_sessions() -> None:
    with harness(assigner=Shifts()) as windows:
        add(windows, ("a", 0))
        assert windows.watermark(5) == []
        saved = windows.snapshot()
    with pytest.raises(
        RestoreError, match=r"such as Shift\(start=0, end=10\) were saved, which cannot become sessions"
    ):
        harness(restored=[saved]).open()


@pytest.mark.slow
def test_nothing_grows_over_ten_thousand_sessions() -> None:
    with harness(lateness=30) as sessions:
        sizes = []
        for time in range(0, 100_000, 10):
            late = max(0, time - 25)
            add(
                sessions, (f"{time % 70}", time), (f"at {time}", time), ("late", late), ("always", time), ("late", time)
            )
            sessions.watermark(time)
            sizes.append(keys_held(windows_of(sessions)._due_keys) + len(windows_of(sessions)._backend))
        assert max(sizes[5_000:]) <= max(sizes[100:5_000])
        sessions.watermark(MAX_TIMESTAMP)
        assert keys_held(windows_of(sessions)._due_keys) == 0
        assert not len(windows_of(sessions)._backend)


def keys_held(due: DueKeys) -> int:
    """Return how many references to keys it holds, directly or in dicts and lists."""
    found = gc.get_referents(due)
    inner = [each for held in found if isinstance(held, dict) for each in held.values() if isinstance(each, list)]
    return sum(len(each) for each in [*found, *inner] if isinstance(each, dict | list))


@pytest.mark.parametrize("native", ["off", "on"])
def test_no_time_stays_behind_for_keys_that_come_and_go(native: str) -> None:
    due = due_keys(None if native == "off" else compiled_module())
    sizes = []
    for time in range(0, 20_000, 10):
        due.add(time + 50, "always")
        due.add(time + 60, f"{time % 70}")
        due.add_earlier(time + 20, f"{time % 70}")
        for _, keys in due.until(time, 100):
            for key in keys:
                due.drop(key)
        sizes.append(keys_held(due))
    assert max(sizes[1_000:]) <= max(sizes[100:1_000])
    list(due.until(MAX_TIMESTAMP, 10**6))
    assert (len(due), due.head_ms > MAX_TIMESTAMP) == (0, True)


# --- the columns, and what is due


@pytest.mark.parametrize(
    "rows", [[], [(0, 5, 1, False)], [(0, 5, 1, True)], [(0, 5, 1, False), (9, 12, 2, True)], [(0, 5, 1, True)] * 3]
)
def test_sessions_come_back_from_columns_as_they_were(rows: list[Any]) -> None:
    assert rows_of(columns_of(rows)) == rows


def test_what_was_evaluated_is_due_when_it_is_over_unless_an_other_ends_before() -> None:
    rows = [(0, 10, 1, True), (20, 30, 1, True), (40, 50, 1, False)]
    assert first_due(rows, 100) == (49, 2)
    assert first_due(rows, 15) == (24, 0)
    assert first_due(rows[:2], 15) == (24, 0)
    assert first_due(rows[:2], MAX_TIMESTAMP)[0] > MAX_TIMESTAMP


@pytest.mark.parametrize("native", ["off", "on"])
def test_a_key_counts_at_its_earliest_time_only(native: str) -> None:
    due = due_keys(None if native == "off" else compiled_module())
    due.add(50, "a")
    due.add(20, "b")
    due.add_earlier(10, "a")
    assert list(due.until(10, 9)) == [(10, ["a"])]
    due.add(30, "a")
    assert list(due.until(60, 9)) == [(20, ["b"]), (30, ["a"]), (50, [])]
    assert due.head_ms > MAX_TIMESTAMP


ONCE: Final = EventTimeSessionWindows(10)


def sessions_of(trigger: Any, restored: list[SavedOperator] | None = None, backend: str = "hashmap") -> OperatorHarness:
    def build(stream: DataStream) -> DataStream:
        windowed = stream.key_by(lambda record: record[0]).window(ONCE).allowed_lateness(30)
        return (windowed if trigger is None else windowed.trigger(trigger)).sum(1)

    setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    return OperatorHarness.of_stream(build, restored=restored or [], setup=setup)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("trigger", [None, PurgingTrigger.of(EventTimeTrigger.create())])
def test_a_savepoint_has_a_row_for_each_session_and_goes_on_with_any_trigger(trigger: Any, backend: str) -> None:
    with sessions_of(trigger, backend=backend) as windows:
        windows.process(("a", 1), ("b", 4), timestamp_ms=0)
        windows.process(("a", 2), timestamp_ms=5)
        assert sorted(windows.watermark(9)) == [("b", 4)]
        windows.process(("a", 7), timestamp_ms=40)
        assert windows.state("_timers/event") == {
            ("a", (0, 15)): {14: None, 44: None},
            ("b", (0, 10)): {39: None},
            ("a", (40, 50)): {49: None, 79: None},
        }
        contents = windows.state("window-contents")
        assert {where: value[1] for where, value in contents.items() if where[0] == "a"} == {
            ("a", (0, 15 if trigger is None else 10)): 3,
            ("a", (40, 50)): 7,
        }
        saved = windows.savepoint()
    for other in (None, PurgingTrigger.of(EventTimeTrigger.create())):
        with sessions_of(other, [saved], backend) as windows:
            assert sorted(windows.watermark(14)) == [("a", 3)]
            assert windows.watermark(49) == [("a", 7)]
