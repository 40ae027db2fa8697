from __future__ import annotations

import pickle
from functools import reduce
from typing import Any, NamedTuple

import pytest

from headgate.functions.aggregation import Max, Min, Sum, max_by, min_by
from headgate.functions.api import ReduceFunction
from headgate.types.row import Row


class Reading(NamedTuple):
    sensor: str
    value: int


def total(function: ReduceFunction, *records: Any) -> Any:
    return reduce(function.reduce, records)


@pytest.mark.parametrize(
    ("function", "records", "expected"),
    [
        (Sum(0), [1, 2, 3], 6),
        (Sum(1), [("a", 1, "x"), ("b", 2, "y")], ("a", 3, "x")),
        (Sum(-1), [("a", 1), ("b", 2)], ("a", 3)),
        (Sum(1), [["a", 1], ["b", 2]], ["a", 3]),
        (Sum("n"), [Row(k="a", n=1), Row(k="b", n=2)], Row(k="a", n=3)),
        (Sum(1), [Reading("a", 1), Reading("a", 2)], Reading("a", 3)),
        (Min(1), [("a", 5), ("b", 3), ("c", 4)], ("a", 3)),
        (Max(1), [("a", 3), ("b", 5), ("c", 4)], ("a", 5)),
        (Min(0), ["b", "a"], "a"),
        (min_by(1), [("a", 5), ("b", 3), ("c", 3)], ("b", 3)),
        (max_by(1), [("a", 3), ("b", 5), ("c", 5)], ("b", 5)),
        (max_by("n"), [Row(k="a", n=1), Row(k="b", n=2)], Row(k="b", n=2)),
    ],
)
def test_records_are_combined(function: ReduceFunction, records: list[Any], expected: Any) -> None:
    result = total(function, *records)
    assert result == expected
    assert type(result) is type(expected)


def test_input_records_are_not_changed() -> None:
    first = Row(k="a", n=1)
    total(Sum("n"), first, Row(k="a", n=2))
    assert first == Row(k="a", n=1)


def test_texts_are_summed_by_joining_them() -> None:
    assert total(Sum(1), ("a", "x"), ("a", "y")) == ("a", "xy")


def test_a_sum_of_what_is_no_number_names_field_and_value() -> None:
    with pytest.raises(TypeError, match="field 1 holds 'x', which cannot be added to 1"):
        total(Sum(1), ("a", 1), ("a", "x"))


def test_a_field_of_a_plain_value_is_an_error_that_shows_it() -> None:
    with pytest.raises(TypeError, match="no field 'n': 7 is neither a tuple nor a Row"):
        total(Sum("n"), 7, 8)


def test_aggregations_travel_as_bytes() -> None:
    assert total(pickle.loads(pickle.dumps(max_by(0))), (1,), (2,)) == (2,)  # noqa: S301 - made here
