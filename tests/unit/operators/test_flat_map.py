"""Flat map: everything iterable may be the output of a record."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.elements import Batch
from headgate.operators.base import UserCodeError
from headgate.operators.plain_functions import FlatMapFactory
from headgate.testing.harness import OperatorHarness


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
