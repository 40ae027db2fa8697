"""Reduce: the first record of a key as it is, then the combination after each record."""

from __future__ import annotations

from headgate.operators.reduce import ReduceFactory
from headgate.testing.harness import OperatorHarness


def test_the_first_record_of_a_key_comes_out_as_it_is_and_later_ones_combined() -> None:
    with OperatorHarness(ReduceFactory(lambda a, b: (a[0], a[1] + b[1])), key_by=lambda pair: pair[0]) as harness:
        assert harness.process(("a", 1), ("b", 5), ("a", 2), ("a", 3)) == [("a", 1), ("b", 5), ("a", 3), ("a", 6)]


def test_a_combination_that_is_false_is_still_a_combination() -> None:
    with OperatorHarness(ReduceFactory(lambda a, b: a - b), key_by=lambda n: 0) as harness:
        assert harness.process(1, 1, 5) == [1, 0, -5]


def test_combinations_survive_a_restore() -> None:
    factory = ReduceFactory(lambda a, b: a + b)
    with OperatorHarness(factory, key_by=lambda n: n % 2) as harness:
        harness.process(1, 2, 3)
        saved = harness.snapshot()
    with OperatorHarness(factory, key_by=lambda n: n % 2, restored=[saved]) as again:
        assert again.process(5, 6) == [9, 8]
