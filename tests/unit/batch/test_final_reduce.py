"""Rolling aggregates in batch jobs: the last value of each key, and nothing before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.datastream import DataStream, ReduceFunction
from headgate.errors import JobFailedError
from headgate.functions.context import RuntimeContext
from headgate.types.row import Row
from tests.unit.batch.environments import batch

CALLS: list[str] = []
PAIRS = [("a", 3), ("b", 5), ("a", 1), ("a", 4), ("b", 5)]

ROLLING: dict[str, tuple[Callable[[Any], DataStream], list[Any]]] = {
    "reduce": (lambda keyed: keyed.reduce(lambda one, other: (one[0], one[1] * other[1])), [("a", 12), ("b", 25)]),
    "sum": (lambda keyed: keyed.sum(1), [("a", 8), ("b", 10)]),
    "min": (lambda keyed: keyed.min(1), [("a", 1), ("b", 5)]),
    "max": (lambda keyed: keyed.max(1), [("a", 4), ("b", 5)]),
    "min_by": (lambda keyed: keyed.min_by(1), [("a", 1), ("b", 5)]),
    "max_by": (lambda keyed: keyed.max_by(1), [("a", 4), ("b", 5)]),
}


@pytest.mark.parametrize("how", ROLLING)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_the_last_value_of_each_key_comes_out(how: str, parallelism: int) -> None:
    build, expected = ROLLING[how]
    keyed = batch().set_parallelism(parallelism).from_collection(PAIRS).key_by(lambda pair: pair[0])
    assert sorted(build(keyed).execute_and_collect()) == expected


def test_fields_of_rows_have_names() -> None:
    rows = [Row(word="a", count=1), Row(word="a", count=2)]
    summed = batch().from_collection(rows).key_by(lambda row: row.word).sum("count")
    assert list(summed.execute_and_collect()) == [Row(word="a", count=3)]


class Adding(ReduceFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        CALLS.append(f"open {runtime_context.get_index_of_this_subtask()}")

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2

    def close(self) -> None:
        CALLS.append("close")


def test_a_reduce_function_is_opened_and_closed() -> None:
    CALLS.clear()
    assert list(batch().from_collection([1, 2, 3]).key_by(lambda n: 0).reduce(Adding()).execute_and_collect()) == [6]
    assert CALLS == ["open 0", "close"]


def test_an_error_names_operator_key_and_record() -> None:
    stream = batch().from_collection([1, "x"]).key_by(lambda n: "k").reduce(Adding()).name("add")
    with pytest.raises(JobFailedError, match=r"(?s)add.*TypeError.*") as caught:
        list(stream.execute_and_collect())
    assert "'k'" in str(caught.value)
    assert "'x'" in str(caught.value)


def test_a_first_record_of_none_counts_as_none_at_all_as_in_streaming() -> None:
    stream = batch().from_collection([None, 1, 2]).key_by(lambda n: 0).reduce(lambda one, other: one + other)
    assert list(stream.execute_and_collect()) == [3]
