"""Filter: what is kept keeps its order and timestamp."""

from __future__ import annotations

from headgate.elements import Batch
from headgate.operators.plain_functions import FilterFactory
from headgate.testing.harness import OperatorHarness


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
