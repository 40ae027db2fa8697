"""Map, flat map, filter and reduce on a keyed stream may use state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headgate.elements import Batch
from headgate.functions.api import FilterFunction, FlatMapFunction, MapFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.keyed_functions import KeyedFilterFactory, KeyedFlatMapFactory, KeyedMapFactory, ReduceFactory
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.harness import OperatorHarness
from headgate.types.typeinfo import Types


class Numbered:
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def next(self) -> int:
        number: int = (self.count.value() or 0) + 1
        self.count.update(number)
        return number


class Number(Numbered, MapFunction):
    def map(self, value: Any) -> Any:
        return value, self.next()


class Unique(Numbered, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.next() == 1


class Repeat(Numbered, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        return [value] * self.next()


def test_a_map_numbers_the_records_of_each_key() -> None:
    with OperatorHarness.of(Number(), key_by=str) as harness:
        assert harness.process("a", "b", "a") == [("a", 1), ("b", 1), ("a", 2)]


def test_a_filter_lets_the_first_of_each_key_pass_with_its_timestamp() -> None:
    with OperatorHarness.of(Unique(), key_by=str) as harness:
        out = harness.process_batch(Batch(["a", "b", "a", "b", "c"], [1, 2, 3, 4, 5]))
    assert (out.records, out.timestamps) == (["a", "b", "c"], [1, 2, 5])


def test_a_flat_map_repeats_by_the_count_of_its_key() -> None:
    with OperatorHarness.of(Repeat(), key_by=str) as harness:
        assert harness.process("a", "a", "b") == ["a", "a", "a", "b"]


def test_plain_callables_do_as_well() -> None:
    assert run(KeyedMapFactory(lambda n: -n), 1, 2) == [-1, -2]
    assert run(KeyedFilterFactory(lambda n: n > 1), 1, 2) == [2]
    assert run(KeyedFlatMapFactory(lambda n: None if n == 1 else [n, n]), 1, 2) == [2, 2]


def run(factory: Any, *records: Any) -> list[Any]:
    with OperatorHarness(factory, key_by=lambda n: 0) as harness:
        return harness.process(*records)


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
