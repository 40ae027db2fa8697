"""Records that a function fails for are left out where the stream says so: all their results, and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from headgate.elements import Barrier, Batch
from headgate.errors import SuppressRestartsException
from headgate.functions.api import Function, KeyedProcessFunction, MapFunction, ProcessFunction
from headgate.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from headgate.functions.checkpointed import CheckpointedFunction, FunctionInitializationContext, FunctionSnapshotContext
from headgate.functions.connected import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.record_errors import FailedRecord, RecordErrors
from headgate.ids import CheckpointId
from headgate.operators.base import UserCodeError
from headgate.operators.broadcast import BroadcastFactory, KeyedBroadcastFactory
from headgate.operators.connected import (
    CoFlatMapFactory,
    CoMapFactory,
    CoProcessFactory,
    KeyedCoFlatMapFactory,
    KeyedCoMapFactory,
    KeyedCoProcessFactory,
)
from headgate.operators.keyed_functions import (
    KeyedFilterFactory,
    KeyedFlatMapFactory,
    KeyedMapFactory,
    KeyedProcessFactory,
    ReduceFactory,
)
from headgate.operators.plain_functions import FilterFactory, FlatMapFactory, MapFactory, ProcessFactory
from headgate.operators.record_guard import FAILED_COUNT, LOGGED_MAX
from headgate.operators.samples import SAMPLES_MAX, TEXT_MAX
from headgate.operators.user_function import FunctionFactory
from headgate.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from headgate.testing.harness import OperatorHarness
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types
from tests.unit.operators import functions
from tests.unit.operators.functions import Judge

BAD = OutputTag("bad")
ODD = OutputTag("odd")
SKIP = RecordErrors.skip()
ASIDE = RecordErrors.side_output(BAD)
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def judge(value: Any) -> None:
    if value == "bad":
        raise ValueError("no good")


class CoMapping(CoMapFunction):
    def __init__(self, judged: Judge) -> None:
        self.method = functions.Mapping(judged).map

    def map1(self, value: Any) -> Any:
        return self.method(value)

    def map2(self, value: Any) -> Any:
        return self.method(value)


class CoFlatMapping(CoFlatMapFunction):
    def __init__(self, judged: Judge) -> None:
        self.method = functions.FlatMapping(judged).flat_map

    def flat_map1(self, value: Any) -> Iterable[Any]:
        return self.method(value)

    def flat_map2(self, value: Any) -> Iterable[Any]:
        return self.method(value)


class CoProcessing(CoProcessFunction):
    def __init__(self, judged: Judge) -> None:
        self.method = functions.Processing(judged).process_element

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self.method(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self.method(value, ctx)


class KeyedCoProcessing(KeyedCoProcessFunction):
    def __init__(self, judged: Judge) -> None:
        self.method = functions.Processing(judged).process_element

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self.method(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self.method(value, ctx)


PLAIN: list[tuple[type[FunctionFactory], Callable[[Judge], Function], list[str]]] = [
    (MapFactory, functions.Mapping, ["a", "b"]),
    (FilterFactory, functions.Filtering, ["a", "b"]),
    (FlatMapFactory, functions.FlatMapping, ["a", "a", "b", "b"]),
    (FlatMapFactory, functions.FlatMappingToList, ["a", "a", "b", "b"]),
    (ProcessFactory, functions.Processing, ["a", "b"]),
    (CoMapFactory, CoMapping, ["a", "b"]),
    (CoFlatMapFactory, CoFlatMapping, ["a", "a", "b", "b"]),
    (CoProcessFactory, CoProcessing, ["a", "b"]),
]
KEYED: list[tuple[type[FunctionFactory], Callable[[Judge], Function], list[str]]] = [
    (KeyedMapFactory, functions.Mapping, ["a", "b"]),
    (KeyedFilterFactory, functions.Filtering, ["a", "b"]),
    (KeyedFlatMapFactory, functions.FlatMapping, ["a", "a", "b", "b"]),
    (KeyedProcessFactory, functions.KeyedProcessing, ["a", "b"]),
    (ReduceFactory, functions.Reducing, ["a", "b"]),
    (KeyedCoMapFactory, CoMapping, ["a", "b"]),
    (KeyedCoFlatMapFactory, CoFlatMapping, ["a", "a", "b", "b"]),
    (KeyedCoProcessFactory, KeyedCoProcessing, ["a", "b"]),
]
EVERY = [(*each, None) for each in PLAIN] + [(*each, lambda value: 7) for each in KEYED]
TWO_INPUTS = [each for each in EVERY if "Co" in each[0].__name__]
NAMES = [f"{factory.__name__}-{function.__name__}" for factory, function, *_ in EVERY]


def failures_of(harness: OperatorHarness) -> int:
    return harness.operator.context.metrics.counter(FAILED_COUNT).get_count()


@pytest.mark.parametrize(("factory", "function", "expected", "key_by"), EVERY, ids=NAMES)
def test_a_failing_record_is_skipped_with_all_that_it_had_put_out(
    factory: Any, function: Any, expected: list[str], key_by: Any
) -> None:
    with OperatorHarness(factory(function(judge), errors=SKIP), key_by=key_by) as harness:
        assert harness.process("a", "bad", "b") == expected
        assert failures_of(harness) == 1


@pytest.mark.parametrize(("factory", "function", "expected", "key_by"), EVERY, ids=NAMES)
def test_a_failing_record_goes_to_the_side_output_with_its_time_and_error(
    factory: Any, function: Any, expected: list[str], key_by: Any
) -> None:
    with OperatorHarness(factory(function(judge), errors=ASIDE), key_by=key_by) as harness:
        out = harness.process("a", "bad", "b", timestamp_ms=50)
        (failed,) = harness.side(BAD)
        assert failures_of(harness) == 1
    assert out == expected
    key = None if key_by is None else 7
    assert failed == FailedRecord("bad", failed.error, "operator", key, 50)
    assert failed.error.startswith("Traceback")
    assert 'raise ValueError("no good")' in failed.error
    assert failed.error.rstrip().endswith("ValueError: no good")
    assert "/record_guard.py" not in failed.error


@pytest.mark.parametrize(
    ("factory", "function", "expected", "key_by"), TWO_INPUTS, ids=[each[0].__name__ for each in TWO_INPUTS]
)
def test_so_does_one_of_the_second_input(factory: Any, function: Any, expected: list[str], key_by: Any) -> None:
    options = {} if key_by is None else {"key_by": key_by, "key_by_second": key_by}
    with OperatorHarness(factory(function(judge), errors=ASIDE), **options) as harness:
        assert harness.process_second("a", "bad", "b") == expected
        assert [failed.record for failed in harness.side(BAD)] == ["bad"]
        harness.process("bad")
        assert failures_of(harness) == 2


@pytest.mark.parametrize(("factory", "function", "expected", "key_by"), EVERY, ids=NAMES)
def test_an_error_of_another_kind_fails_the_job_and_names_the_record(
    factory: Any, function: Any, expected: list[str], key_by: Any
) -> None:
    errors = RecordErrors.skip(KeyError, TypeError)
    with OperatorHarness(factory(function(judge), errors=errors), key_by=key_by) as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process("a", "bad", "b")
        assert failures_of(harness) == 0
    assert caught.value.record == "bad"
    assert isinstance(caught.value.__cause__, ValueError)


def test_results_keep_their_order_and_their_timestamps() -> None:
    factory = FlatMapFactory(lambda n: [n] * (6 // n), errors=SKIP)
    with OperatorHarness(factory) as harness:
        out = harness.process_batch(Batch([3, 0, 2, 0, 6], [10, 20, 30, 40, 50]))
    assert (out.records, out.timestamps) == ([3, 3, 2, 2, 2, 6], [10, 10, 30, 30, 30, 50])


def test_a_map_may_still_return_none() -> None:
    with OperatorHarness(MapFactory(lambda n: None, errors=SKIP)) as harness:
        assert harness.process(1, 2) == [None, None]


def test_failed_records_keep_their_order_among_themselves() -> None:
    with OperatorHarness(MapFactory(lambda n: 1 // (n % 2), errors=ASIDE)) as harness:
        harness.process(*range(5))
        harness.process(8, 6)
        assert [failed.record for failed in harness.side(BAD)] == [0, 2, 4, 8, 6]


class Sorting(ProcessFunction):
    """Puts odd numbers out aside, and then fails for large ones."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[Any]:
        yield value
        if value % 2:
            yield ODD, value
        if value > 10:
            raise ValueError("too large")


def test_side_output_of_a_failing_record_is_dropped_too() -> None:
    with OperatorHarness(ProcessFactory(Sorting(), errors=ASIDE)) as harness:
        assert harness.process(1, 11, 3) == [1, 3]
        assert harness.side(ODD) == [1, 3]
        assert [failed.record for failed in harness.side(BAD)] == [11]


class Remembering(KeyedProcessFunction):
    """Counts its records, sets a timer, and fails for some; the timer fails for time 99."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value)
        if value % 2:
            raise ValueError("odd")
        yield self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        if timestamp == 99:
            raise ValueError("bad time")
        yield "timer", timestamp


def test_state_and_timers_that_a_failing_record_has_changed_stay_changed() -> None:
    with OperatorHarness(KeyedProcessFactory(Remembering(), errors=SKIP), key_by=lambda n: 0) as harness:
        assert harness.process(2, 5, 4) == [1, 3]
        assert harness.watermark(10) == [("timer", 2), ("timer", 4), ("timer", 5)]


def test_a_timer_that_fails_fails_the_job() -> None:
    with OperatorHarness(KeyedProcessFactory(Remembering(), errors=SKIP), key_by=lambda n: 0) as harness:
        harness.process(99)
        with pytest.raises(UserCodeError, match=r"on_timer\(99\)"):
            harness.watermark(100)


def test_a_reduction_goes_on_without_the_failing_record() -> None:
    with OperatorHarness(ReduceFactory(lambda a, b: a + b, errors=ASIDE), key_by=lambda n: "k") as harness:
        assert harness.process(1, "x", 2) == [1, 3]
        assert [(failed.record, failed.key) for failed in harness.side(BAD)] == [("x", "k")]


class Opening(MapFunction, CheckpointedFunction):
    """Fails in one of the methods beside `map`."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail_in(self, method: str) -> None:
        if method == self.where:
            raise ValueError(method)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.fail_in("open")

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.fail_in("initialize_state")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.fail_in("snapshot_state")

    def close(self) -> None:
        self.fail_in("close")

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("where", ["open", "initialize_state", "snapshot_state", "close"])
def test_errors_beside_the_records_fail_the_job(where: str) -> None:
    harness = OperatorHarness(MapFactory(Opening(where), errors=SKIP))
    with pytest.raises(UserCodeError, match=where), harness:
        harness.operator.snapshot(Barrier(CheckpointId(1), 0))


def raising(error: BaseException, cause: BaseException | None = None) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        raise error from cause

    return function


class NoState(MapFunction):
    """Asks for keyed state where there is none."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        return self.context.get_state(ValueStateDescriptor("count", Types.LONG()))


@pytest.mark.parametrize(
    "function",
    [
        NoState(),
        raising(SuppressRestartsException("stop")),
        raising(ValueError("x"), SuppressRestartsException("stop")),
        raising(MemoryError()),
        raising(SystemExit(1)),
    ],
    ids=["misuse of state", "final", "raised from a final one", "memory", "exit"],
)
@pytest.mark.parametrize("errors", [SKIP, ASIDE], ids=["skip", "side output"])
def test_what_is_no_error_of_a_record_fails_the_job(function: Any, errors: RecordErrors) -> None:
    with OperatorHarness(MapFactory(function, errors=errors)) as harness:
        with pytest.raises(UserCodeError):
            harness.process("a")
        assert failures_of(harness) == 0


class Pricing(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield ctx.get_broadcast_state(RULES)[value]

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedPricing(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield ctx.get_broadcast_state(RULES)[value]

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "keyed"])
def test_beside_a_broadcast_stream_records_are_left_out_and_broadcast_elements_are_not(keyed: bool) -> None:
    factory = (
        KeyedBroadcastFactory(KeyedPricing(), (RULES,), errors=ASIDE)
        if keyed
        else BroadcastFactory(Pricing(), (RULES,), errors=ASIDE)
    )
    with OperatorHarness(factory, key_by=(lambda name: name) if keyed else None) as harness:
        harness.process_second(("tea", 3))
        assert harness.process("tea", "ink", "tea") == [3, 3]
        assert [(failed.record, failed.key) for failed in harness.side(BAD)] == [("ink", "ink" if keyed else None)]
        with pytest.raises(UserCodeError, match="process_broadcast_element"):
            harness.process_second("what is this")


def refuse(value: Any) -> None:
    raise ValueError(f"not {value}")


def test_the_log_shows_the_first_failed_records_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    records = ["x" * 100_000, *range(1000)]
    with caplog.at_level(logging.WARNING), OperatorHarness(MapFactory(refuse, errors=SKIP)) as harness:
        assert harness.process(*records) == []
        assert failures_of(harness) == len(records)
    shown = [record.getMessage() for record in caplog.records]
    assert len(shown) == LOGGED_MAX + 1
    assert "operator 'operator', subtask 0: a record failed" in shown[0]
    assert "ValueError: not 0; record: 0" in shown[1]
    assert max(map(len, shown)) < 1000
    assert "only counted, in numRecordsFailed" in shown[-1]


def test_of_a_flood_of_failures_a_few_samples_are_kept_until_they_are_reported() -> None:
    with OperatorHarness(MapFactory(refuse, errors=SKIP)) as harness:
        harness.process("x" * 100_000, *range(1000))
        kept = harness.operator.context.failed
        taken = kept.take()
        assert len(taken) == SAMPLES_MAX
        assert max(len(sample.record) for sample in taken) <= TEXT_MAX
        assert max(len(sample.error) for sample in taken) <= TEXT_MAX
        assert (taken[1].record, taken[1].error, taken[1].dealt) == ("0", "ValueError: not 0", "skipped")
        assert "refuse" in taken[1].traceback
        assert kept.take() == []
        harness.process(7)
        assert [sample.record for sample in kept.take()] == ["7"]


def test_a_sample_says_where_a_record_was_sent_and_its_key() -> None:
    class Refuses(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
            raise ValueError("no")

    with OperatorHarness(KeyedProcessFactory(Refuses(), errors=ASIDE), key_by=lambda value: value % 2) as harness:
        harness.process(3)
        (sample,) = harness.operator.context.failed.take()
        assert (sample.record, sample.key, sample.dealt) == ("3", "1", "bad")


def test_the_count_is_there_before_the_first_failure() -> None:
    with OperatorHarness(MapFactory(str, errors=SKIP)) as harness:
        assert [report.name for report in harness.operator.context.metrics.report(0.0)] == [FAILED_COUNT]
    with OperatorHarness(MapFactory(str)) as harness:
        assert list(harness.operator.context.metrics.report(0.0)) == []
