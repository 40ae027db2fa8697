"""Sliding windows in slices: how windows are cut and combined, what is kept of them, and what a restore finds."""

from __future__ import annotations

import random
from typing import Any, Final, final

import pytest

from headgate import options
from headgate.config import Settings
from headgate.datastream import AggregateFunction, DataStream
from headgate.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headgate.elements import MIN_TIMESTAMP, Batch
from headgate.errors import RestoreError
from headgate.operators.base import UserCodeError
from headgate.operators.windows.operator import WindowOperator
from headgate.operators.windows.pane_windows import PaneWindows
from headgate.operators.windows.slice_snapshots import WindowProgress
from headgate.operators.windows.slice_windows import SliceWindows
from headgate.operators.windows.slicing import Slicing
from headgate.operators.windows.two_stacks import TwoStacks
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.record_copies import copied as own
from tests.unit.operators.windows.kept import kept
from tests.unit.operators.windows.sums import MergeableSum, Sum

TEN_BY_FOUR: Final = SlidingEventTimeWindows(10, 4, 0)


def build(stream: DataStream, function: AggregateFunction | None = None, assigner: Any = TEN_BY_FOUR) -> DataStream:
    return stream.key_by(lambda record: record[0]).window(assigner).aggregate(function or MergeableSum())


def harness(
    function: AggregateFunction | None = None,
    assigner: Any = TEN_BY_FOUR,
    backend: str = "hashmap",
    restored: list[SavedOperator] | None = None,
    setup: Setup | None = None,
) -> OperatorHarness:
    setup = setup or Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
    return OperatorHarness.of_stream(
        lambda stream: build(stream, function, assigner), restored=restored or [], setup=setup
    )


def add(each: OperatorHarness, *records: tuple[str, int, int]) -> list[Any]:
    """Process records of a key, a number and a time."""
    return each.process_batch(Batch(list(records), [time for _, _, time in records])).records


def windows_of(each: OperatorHarness) -> Any:
    assert isinstance(each.operator, WindowOperator)
    return each.operator._windows


@pytest.mark.parametrize(("size", "slide", "offset"), [(10, 4, 0), (10, 5, -3), (7, 3, 2), (12, 1, 0), (5, 4, 1)])
def test_windows_are_whole_slices_without_gaps(size: int, slide: int, offset: int) -> None:
    slicing = Slicing(size, slide, offset, 0)
    for time in range(-30, 30):
        start, end = slicing.slice_at(time)
        assert start <= time < end
        assert slicing.slice_at(start) == slicing.slice_at(end - 1) == (start, end)
        windows = [at for at in range(time - size + 1, time + 1) if (at - offset) % slide == 0]
        assert all(at <= start and end <= at + size for at in windows)
        assert (slicing.first_window(start), slicing.window_at(start)) == (windows[0], windows[-1])


@pytest.mark.parametrize("seed", range(20))
def test_two_stacks_come_to_what_all_slices_come_to_whatever_is_late(seed: int) -> None:
    rng = random.Random(seed)
    slices: dict[int, dict[str, list[int]]] = {}

    def between(start: int, end: int) -> Any:
        return ((at, slices[at]) for at in sorted(slices) if start <= at < end)

    stacks = TwoStacks(between, lambda one, other: [*one, *other], own)
    size, at = rng.randint(2, 8), 0
    for number in range(300):
        place = max(0, at + size - 1 - rng.randint(0, size))
        key = rng.choice("abcd")
        slices.setdefault(place, {}).setdefault(key, []).append(number)
        stacks.add(place, key, [number])
        if rng.random() < 0.4:
            at += rng.choice([1, 1, 1, 2, size + 3])
            stacks.move(at, at + size)
            expected: dict[str, list[int]] = {}
            for _, values in between(at, at + size):
                for each, numbers in values.items():
                    expected.setdefault(each, []).extend(numbers)
            found = list(stacks.values())
            assert len(found) == len(expected)
            assert {each: sorted(some) for each, some in found} == {
                each: sorted(some) for each, some in expected.items()
            }


def test_a_record_is_kept_once_however_many_windows_it_is_in() -> None:
    with harness(assigner=SlidingEventTimeWindows(1_000, 1, 0)) as windows:
        add(windows, ("a", 1, 5_000), ("a", 2, 5_000), ("b", 3, 5_000))
        assert kept(windows) == {("a", ("slice", 5000, 5001)): 3, ("b", ("slice", 5000, 5001)): 3}
        assert len(windows.watermark(6_000)) == 2_000
        assert kept(windows) == {}


def test_merge_is_not_called_unless_it_is_declared() -> None:
    with harness(Sum()) as windows:
        add(windows, ("a", 1, 5), ("a", 2, 9))
        assert isinstance(windows_of(windows), PaneWindows)
        assert windows.watermark(20) == [1, 3, 3, 2]


@pytest.mark.parametrize("function", [Sum(), MergeableSum()])
def test_records_without_timestamps_are_refused(function: AggregateFunction) -> None:
    with harness(function) as windows, pytest.raises(UserCodeError) as raised:
        windows.process_batch(Batch([("a", 1, 5)]))
    assert "call assign_timestamps_and_watermarks(" in str(raised.value.__cause__)


@pytest.mark.slow
def test_nothing_grows_over_ten_thousand_windows() -> None:
    with harness(assigner=SlidingEventTimeWindows(20, 2, 0)) as windows:
        sizes = []
        for time in range(0, 20_000, 2):
            add(windows, (f"{time % 6}", 1, time), (f"at {time}", 1, time), ("late", 1, max(0, time - 9)))
            windows.watermark(time)
            inside = windows_of(windows)
            stacks = inside._values._stacks
            sizes.append(
                len(inside._starts)
                + len(inside._panes.by_window)
                + sum(len(pane.open) for pane in inside._panes.by_window.values())
                + len(stacks._front)
                + len(stacks._back)
                + len(stacks._late)
                + sum(len(before) for _, before in stacks._before)
                + len(windows.operator._backend)  # type: ignore[attr-defined]
            )
        assert max(sizes[5_000:]) == max(sizes[100:5_000])
        windows.watermark(30_000)
        assert not inside._starts
        assert not list(stacks.values())


def test_windows_that_were_evaluated_before_a_restore_are_not_evaluated_again() -> None:
    with harness() as windows:
        add(windows, ("a", 1, 5), ("a", 2, 9))
        assert windows.watermark(10) == [1, 3]
        saved = windows.snapshot()
    with harness(restored=[saved]) as windows:
        assert windows.watermark(11) == []
        add(windows, ("a", 4, 12))
        assert windows.watermark(30) == [7, 6, 4]


def of_subtask(subtask: int, parallelism: int) -> Setup:
    return Setup(subtask=subtask, parallelism=parallelism, max_parallelism=8)


def test_key_groups_that_were_further_than_others_go_on_from_there() -> None:
    saved, keys, before = [], [], []
    for subtask, watermark in ((0, 10), (1, 14)):
        with harness(setup=of_subtask(subtask, 2)) as windows:
            key = next(key for key in "abcdefgh" if windows.owns(key))
            keys.append(key)
            add(windows, (key, subtask + 1, 9))
            before.append(len(windows.watermark(watermark)))
            saved.append(windows.snapshot())
    assert before == [1, 2]
    with harness(restored=saved, setup=of_subtask(0, 1)) as windows:
        assert windows.watermark(12) == []
        assert add(windows, (keys[0], 10, 9), (keys[1], 20, 9)) == []
        assert sorted(windows.watermark(13)) == [11]
        again = windows.snapshot()
        assert sorted(windows.watermark(40)) == [11, 22]
    with harness(restored=[again], setup=of_subtask(0, 1)) as windows:
        assert sorted(windows.watermark(40)) == [11, 22]


def test_progress_of_key_groups_that_nobody_saved_is_none() -> None:
    assert WindowProgress([], range(4)).floor_ms == MIN_TIMESTAMP
    progress = WindowProgress([(0, 1, 7)], range(4))
    assert progress.stretches(MIN_TIMESTAMP) == [(0, 1, 7), (2, 3, MIN_TIMESTAMP)]
    progress.passed(7)
    assert not progress.ahead


def test_windows_that_were_saved_one_by_one_go_on_with_what_comes_to_their_slices() -> None:
    with harness(Sum()) as windows:
        add(windows, ("a", 1, 5), ("a", 2, 9))
        assert windows.watermark(9) == [1, 3]
        saved = windows.snapshot()
    with harness(MergeableSum(), restored=[saved]) as windows:
        assert isinstance(windows_of(windows), SliceWindows)
        add(windows, ("a", 4, 12), ("b", 8, 13))
        assert sorted(windows.watermark(13)) == [7, 8]
        assert sorted(windows.watermark(40)) == [4, 6, 8, 8]
        assert kept(windows) == {}


def test_windows_of_another_size_that_were_saved_one_by_one_keep_their_times() -> None:
    with harness(Sum(), assigner=SlidingEventTimeWindows(12, 6, 0)) as windows:
        add(windows, ("a", 1, 8))
        saved = windows.snapshot()
    with harness(MergeableSum(), restored=[saved]) as windows:
        add(windows, ("a", 2, 9))
        assert windows.watermark(9) == [2]
        assert windows.watermark(11) == [1]
        assert sorted(windows.watermark(17)) == [1, 2, 2]


ROWS: Final = {("a", (-4, 6)): 1, ("a", (0, 10)): 3, ("a", (4, 14)): 3, ("a", (8, 18)): 2}


@pytest.mark.parametrize("function", [Sum, MergeableSum])
def test_a_savepoint_has_a_row_for_each_window_with_its_timers_however_it_is_kept(function: type[Sum]) -> None:
    with harness(function()) as windows:
        add(windows, ("a", 1, 5), ("a", 2, 9))
        assert windows.state("window-contents") == ROWS
        assert windows.state("_timers/event") == {name: {name[1][1] - 1: None} for name in ROWS}
        assert windows.watermark(9) == [1, 3]
        assert windows.state("window-contents") == {name: ROWS[name] for name in ROWS if name[1][0] > 0}


@pytest.mark.parametrize(("before", "after"), [(Sum, MergeableSum), (MergeableSum, Sum), (MergeableSum, MergeableSum)])
def test_a_savepoint_goes_on_however_windows_are_kept(before: type[Sum], after: type[Sum]) -> None:
    with harness(before()) as windows:
        add(windows, ("a", 1, 5), ("a", 2, 9))
        assert windows.watermark(9) == [1, 3]
        saved = windows.savepoint()
    with harness(after(), restored=[saved]) as windows:
        add(windows, ("a", 4, 12))
        assert windows.watermark(40) == [7, 6, 4]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_savepoint_before_the_first_watermark_knows_what_was_evaluated_before_the_start(backend: str) -> None:
    with harness(backend=backend) as windows:
        add(windows, ("a", 1, 5), ("a", 2, 9))
        assert windows.watermark(9) == [1, 3]
        saved = windows.snapshot()
    with harness(backend=backend, restored=[saved]) as windows:
        again = windows.savepoint()
    assert not again.lists
    with harness(Sum(), backend=backend, restored=[again]) as windows:
        assert windows.watermark(40) == [3, 2]


def test_a_savepoint_tells_of_half_evaluated_windows_by_key() -> None:
    with harness() as windows:
        add(windows, *((key, number, 8) for number, key in enumerate("abcdefg")))
        first = windows.operator.advance(9, 3)
        assert first is not None
        saved = windows.savepoint()
    for function in (Sum(), MergeableSum()):
        with harness(function, restored=[saved]) as windows:
            assert sorted(first.records + windows.watermark(9)) == list(range(7))


def saved_in_slices() -> SavedOperator:
    with harness() as windows:
        add(windows, ("a", 1, 5))
        assert isinstance(windows_of(windows), SliceWindows)
        return windows.snapshot()


def test_other_windows_cannot_take_over_slices() -> None:
    with pytest.raises(RestoreError, match=r"10 ms by 4 ms .* become those of 12 ms by 4 ms"):
        harness(assigner=SlidingEventTimeWindows(12, 4, 0), restored=[saved_in_slices()]).open()
    with pytest.raises(RestoreError, match=r"through a canonical savepoint"):
        harness(Sum(), restored=[saved_in_slices()]).open()
    for assigner in (TumblingEventTimeWindows(10, 0), EventTimeSessionWindows(10)):
        with pytest.raises(RestoreError, match=r"sliding windows in slices"):
            harness(assigner=assigner, restored=[saved_in_slices()]).open()


def test_a_merge_that_returns_nothing_is_named() -> None:
    @final
    class Forgetful(Sum):
        mergeable = True

        def merge(self, acc_a: int, acc_b: int) -> Any:
            return None

    with harness(Forgetful()) as windows:
        add(windows, ("a", 1, 5), ("a", 2, 6))
        with pytest.raises(UserCodeError) as raised:
            windows.watermark(20)
        assert "of Forgetful returned None" in str(raised.value.__cause__)


@pytest.mark.parametrize("assigner", [TEN_BY_FOUR, TumblingEventTimeWindows(10, 0)])
def test_a_window_that_a_snapshot_finds_half_evaluated_goes_on_where_it_was(assigner: Any) -> None:
    with harness(assigner=assigner) as windows:
        add(windows, *((key, number, 8) for number, key in enumerate("abcdefg")))
        first = windows.operator.advance(9, 3)
        assert first is not None
        saved = windows.snapshot()
    found = list(first.records)
    halves = []
    for subtask in (0, 1):
        with harness(assigner=assigner, restored=[saved], setup=Setup(subtask=subtask, parallelism=2)) as windows:
            more = windows.operator.advance(9, 1)
            found += [] if more is None else more.records
            halves.append(windows.snapshot())
    with harness(assigner=assigner, restored=halves) as windows:
        found += windows.watermark(9)
        assert windows.watermark(10) == []
    assert sorted(found) == list(range(7))


@pytest.mark.parametrize("lateness_ms", [0, 20])
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_window_in_panes_found_half_evaluated_goes_on_under_another_trigger(backend: str, lateness_ms: int) -> None:
    def harness_of(restored: list[SavedOperator], *, purges: bool) -> OperatorHarness:
        def program(stream: DataStream) -> DataStream:
            keyed = stream.key_by(lambda record: record[0])
            windows = keyed.window(TumblingEventTimeWindows(10, 0)).allowed_lateness(lateness_ms)
            if purges:
                windows = windows.trigger(PurgingTrigger.of(EventTimeTrigger.create()))
            return windows.aggregate(Sum())

        setup = Setup(settings=Settings().with_value(options.STATE_BACKEND, backend))
        return OperatorHarness.of_stream(program, restored=restored, setup=setup)

    with harness_of([], purges=False) as windows:
        add(windows, *((key, number, 8) for number, key in enumerate("abcdefg")))
        first = windows.operator.advance(9, 3)
        assert first is not None
        saved = windows.snapshot()
    with harness_of([saved], purges=True) as windows:
        again = windows.snapshot()
        assert sorted(first.records + windows.watermark(9)) == list(range(7))
        late = add(windows, ("a", 100, 8), ("g", 100, 8))
        assert windows.watermark(40) == []
    assert late == ([100, 100] if lateness_ms else [])
    with harness_of([again], purges=True) as windows:
        assert sorted(first.records + windows.watermark(9)) == list(range(7))
