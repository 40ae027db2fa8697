"""Operators with two inputs: what each does with the records of either, and what keyed ones share between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.elements import MIN_TIMESTAMP, Batch
from headgate.errors import StateAccessError
from headgate.functions.api import Function
from headgate.functions.connected import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import UserCodeError
from headgate.operators.failure import failure_of
from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types
from tests.unit.operators.functions import time_of

UNMATCHED = OutputTag("unmatched", Types.STRING())


def key_of(value: Any) -> Any:
    return value[0]


class Mapping(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return ("first", value)

    def map2(self, value: Any) -> Any:
        return ("second", value) if value else None


class FlatMapping(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        yield from value

    def flat_map2(self, value: Any) -> list[Any] | None:
        return [value] if value else None


class Processing(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
        yield 1, value, time_of(ctx)

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
        yield 2, value, time_of(ctx)
        yield UNMATCHED, value


class Join(KeyedCoProcessFunction):
    """Joins orders with payments that may come first; after ten time units without one an order is unmatched."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.order = runtime_context.get_state(ValueStateDescriptor("order", Types.STRING()))
        self.payment = runtime_context.get_state(ValueStateDescriptor("payment", Types.LONG()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        self.order.update(value[1])
        ctx.timer_service().register_event_time_timer((time_of(ctx) or 0) + 10)
        yield from self.match(ctx)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        self.payment.update(value[1])
        yield from self.match(ctx)

    def match(self, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        if self.order.value() is not None and self.payment.value() is not None:
            yield ctx.get_current_key(), self.order.value(), self.payment.value()
            self.order.clear()
            self.payment.clear()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any]:
        if self.order.value() is not None:
            yield UNMATCHED, f"{ctx.get_current_key()}: {self.order.value()}"


@pytest.mark.parametrize("key_by", [None, str], ids=["plain", "keyed"])
def test_a_co_map_has_a_method_for_each_input_and_drops_none(key_by: Any) -> None:
    with OperatorHarness.of(Mapping(), key_by=key_by) as harness:
        assert harness.process("a", "b") == [("first", "a"), ("first", "b")]
        assert harness.process_second("a", "", "b") == [("second", "a"), ("second", "b")]


@pytest.mark.parametrize("key_by", [None, str], ids=["plain", "keyed"])
def test_a_co_flat_map_puts_out_any_number(key_by: Any) -> None:
    with OperatorHarness.of(FlatMapping(), key_by=key_by) as harness:
        assert harness.process("ab", "", "c") == ["a", "b", "c"]
        assert harness.process_second("ab", "") == ["ab"]


@pytest.mark.parametrize("key_by", [None, str], ids=["plain", "keyed"])
def test_a_co_process_has_a_context_and_side_outputs_on_both_inputs(key_by: Any) -> None:
    with OperatorHarness.of(Processing(), key_by=key_by) as harness:
        assert harness.process("a", timestamp_ms=4) == [(1, "a", 4)]
        assert harness.process_second("b", timestamp_ms=5) == [(2, "b", 5)]
        assert harness.process_second("c") == [(2, "c", None)]
        assert harness.side(UNMATCHED) == ["b", "c"]


def test_results_keep_the_timestamps_of_their_records() -> None:
    with OperatorHarness.of(FlatMapping()) as harness:
        out = harness.process_batch(Batch(["ab", "", "c"], [1, 2, 3]))
    assert (out.records, out.timestamps) == (["a", "b", "c"], [1, 1, 3])


def test_without_keys_there_is_no_keyed_state_and_no_timer_but_the_time() -> None:
    class Asking(Processing):
        def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
            yield ctx.timer_service().current_watermark(), ctx.timer_service().current_processing_time()
            ctx.timer_service().register_event_time_timer(5)

    with OperatorHarness.of(Asking()) as harness, pytest.raises(UserCodeError) as caught:
        harness.process("a")
    assert isinstance(caught.value.__cause__, StateAccessError)

    class Stateful(Processing):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("none", Types.LONG()))

    with pytest.raises(UserCodeError, match="open"):
        OperatorHarness.of(Stateful()).open()


def test_both_inputs_share_the_state_of_a_key() -> None:
    with OperatorHarness.of(Join(), key_by=key_of) as harness:
        assert harness.process(("a", "book"), ("b", "pen")) == []
        assert harness.process_second(("b", 5), ("c", 9)) == [("b", "pen", 5)]
        assert harness.process(("c", "ink")) == [("c", "ink", 9)]


def test_keys_are_taken_from_each_input_in_its_own_way() -> None:
    with OperatorHarness.of(Join(), key_by=key_of, key_by_second=lambda value: value[2]) as harness:
        harness.process(("a", "book"))
        assert harness.process_second((None, 7, "a")) == [("a", "book", 7)]


def test_a_timer_of_one_input_sees_what_the_other_has_done() -> None:
    with OperatorHarness.of(Join(), key_by=key_of) as harness:
        harness.process(("a", "book"), ("b", "pen"), timestamp_ms=100)
        harness.process_second(("a", 7), timestamp_ms=101)
        assert harness.watermark(109) == []
        assert harness.side(UNMATCHED) == []
        assert harness.watermark(110) == []
        assert harness.side(UNMATCHED) == ["b: pen"]


def test_a_co_process_function_on_keyed_streams_has_state() -> None:
    class Counting(Processing):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

        def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
            self.seen.add(value[1])
            ctx.timer_service().register_event_time_timer(MIN_TIMESTAMP)
            yield list(self.seen.get() or ())

    with OperatorHarness.of(Counting(), key_by=key_of) as harness:
        assert harness.process(("a", "x"), ("b", "y"), ("a", "z")) == [["x"], ["y"], ["x", "z"]]
        assert harness.watermark(0) == []


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 3), (3, 2)])
def test_restored_subtasks_go_on_with_the_state_and_timers_of_both_inputs(before: int, after: int) -> None:
    keys = [f"key {n}" for n in range(40)]
    saved: list[SavedOperator] = []
    for subtask in range(before):
        with OperatorHarness.of(Join(), key_by=key_of, setup=Setup(subtask=subtask, parallelism=before)) as harness:
            own = [key for key in keys if harness.owns(key)]
            harness.process(*[(key, "order") for key in own if int(key[4:]) % 2], timestamp_ms=50)
            harness.process_second(*[(key, 3) for key in own if not int(key[4:]) % 2], timestamp_ms=50)
            saved.append(harness.snapshot())
    matched, unmatched = [], []
    for subtask in range(after):
        place = Setup(subtask=subtask, parallelism=after)
        with OperatorHarness.of(Join(), key_by=key_of, setup=place, restored=saved) as harness:
            own = [key for key in keys if harness.owns(key)]
            matched += harness.process(*[(key, "late") for key in own if not int(key[4:]) % 2], timestamp_ms=51)
            harness.watermark(60)
            unmatched += harness.side(UNMATCHED)
    assert sorted(matched) == sorted((key, "late", 3) for key in keys if not int(key[4:]) % 2)
    assert sorted(unmatched) == sorted(f"{key}: order" for key in keys if int(key[4:]) % 2)


class FailingMap(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return 1 // value

    def map2(self, value: Any) -> Any:
        return 1 // value


class FailingProcess(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        yield 1 // value

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any]:
        yield 1 // value


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    ("function", "key_by", "method"),
    [(FailingMap(), None, "map"), (FailingMap(), abs, "map"), (FailingProcess(), abs, "process_element")],
)
def test_an_error_names_the_record_the_key_and_the_input(
    function: Function, key_by: Any, method: str, second: bool
) -> None:
    with OperatorHarness.of(function, key_by=key_by) as harness, pytest.raises(UserCodeError) as caught:
        (harness.process_second if second else harness.process)(1, 0, 2)
    failure = failure_of(caught.value, "joining", 3)
    assert f"(in {method}{2 if second else 1}())" in failure.error
    assert failure.record == "0"
    assert failure.key == (None if key_by is None else "0")
