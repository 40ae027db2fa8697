"""Map, flat map, filter and process on a stream without keys; timestamps stay with their records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.elements import Batch
from headgate.functions.api import ProcessFunction
from headgate.functions.context import Context
from headgate.operators.base import UserCodeError
from headgate.operators.plain_functions import FilterFactory, FlatMapFactory, MapFactory
from headgate.testing.harness import OperatorHarness
from tests.unit.operators.functions import time_of


def test_each_record_becomes_one_and_keeps_its_timestamp() -> None:
    with OperatorHarness(MapFactory(lambda n: n * n)) as harness:
        out = harness.process_batch(Batch([1, 2, 3], [10, 20, 30]))
    assert (out.records, out.timestamps) == ([1, 4, 9], [10, 20, 30])


def test_none_is_a_record_like_any_other() -> None:
    with OperatorHarness(MapFactory(lambda n: None)) as harness:
        assert harness.process(1, 2) == [None, None]


def generated(n: int) -> Any:
    for _ in range(n):
        yield n


@pytest.mark.parametrize(
    "function",
    [generated, lambda n: [n] * n, lambda n: (n,) * n, lambda n: map(int, str(n) * n), lambda n: iter([n] * n)],
)
def test_every_iterable_is_output_and_each_result_has_the_timestamp_of_its_record(function: Any) -> None:
    with OperatorHarness(FlatMapFactory(function)) as harness:
        out = harness.process_batch(Batch([2, 0, 3], [20, 0, 30]))
    assert (out.records, out.timestamps) == ([2, 2, 3, 3, 3], [20, 20, 30, 30, 30])


def test_none_is_no_output() -> None:
    with OperatorHarness(FlatMapFactory(lambda n: None if n < 2 else [n])) as harness:
        assert harness.process(1, 2, 3) == [2, 3]


@pytest.mark.parametrize("timestamp_ms", [None, 7])
def test_a_result_that_cannot_be_iterated_is_an_error_at_its_record(timestamp_ms: int | None) -> None:
    with OperatorHarness(FlatMapFactory(lambda n: n if n == 2 else [n])) as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process(1, 2, 3, timestamp_ms=timestamp_ms)
        assert caught.value.record == 2
        assert "<lambda>() returned 2, of type int" in str(caught.value.__cause__)


def test_a_list_that_the_function_keeps_is_not_changed() -> None:
    mine = [1]
    with OperatorHarness(FlatMapFactory(lambda n: mine)) as harness:
        harness.process(1, 2)
    assert mine == [1]


def test_kept_records_keep_order_and_timestamps() -> None:
    with OperatorHarness(FilterFactory(lambda n: n % 2)) as harness:
        out = harness.process_batch(Batch([1, 2, 3, 4, 5], [10, 20, 30, 40, 50]))
    assert (out.records, out.timestamps) == ([1, 3, 5], [10, 30, 50])


def test_whatever_python_holds_for_true_keeps_a_record() -> None:
    with OperatorHarness(FilterFactory(lambda value: value)) as harness:
        assert harness.process(0, 1, "", "x", None, [], [0]) == [1, "x", [0]]


def test_when_nothing_is_kept_nothing_comes_out() -> None:
    with OperatorHarness(FilterFactory(lambda value: False)) as harness:
        out = harness.process_batch(Batch([1, 2], [1, 2]))
    assert (out.records, out.timestamps) == ([], [])


class Stamping(ProcessFunction):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any] | None:
        return None if value == "nothing" else [(value, time_of(ctx))]


def test_the_context_shows_the_timestamp_of_each_record() -> None:
    with OperatorHarness.of(Stamping()) as harness:
        out = harness.process_batch(Batch(["a", "nothing", "b"], [10, 20, 30]))
    assert (out.records, out.timestamps) == ([("a", 10), ("b", 30)], [10, 30])


class Hasty(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Any:
        yield ctx.timestamp() + 1


def test_without_timestamps_asking_for_one_is_an_error_that_says_how_to_give_them() -> None:
    with OperatorHarness.of(Hasty()) as harness:
        assert harness.process("a", timestamp_ms=4) == [5]
        with pytest.raises(UserCodeError) as caught:
            harness.process("b")
    assert "call assign_timestamps_and_watermarks(" in str(caught.value.__cause__)
