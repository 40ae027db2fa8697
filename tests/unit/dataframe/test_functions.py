"""Functions of users: on values, columns, rows and batches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate import dataframe as pf
from headgate.common import Row
from headgate.errors import JobFailedError
from headgate.table.expressions import if_then_else


class Pair(TypedDict):
    n: int
    s: str


def values(frame: pf.DataFrame) -> list[Any]:
    return [list(row) for row in frame.collect()]


def test_a_general_function_gets_the_values_of_a_row() -> None:
    @pf.udf
    def label(n: int, s: str | None, k: int) -> str:
        """Label a row."""
        return f"{n}{s}{k}"

    frame = pf.from_dict({"n": [1, 2], "s": ["a", None]})
    assert values(frame.select(label(pf.col("n"), pf.col("s"), 7))) == [["1a7"], ["2None7"]]
    assert (label.__name__, label.__doc__, label.return_dtype) == ("label", "Label a row.", pf.DataType.string())


def test_pandas_and_arrow_functions_get_columns_and_constants() -> None:
    @pf.udf(return_dtype=pf.DataType.float64())
    def scaled(column: pd.Series, by: float) -> pd.Series:
        return column * by

    @pf.udf(return_dtype=pf.DataType.int64())
    def plus(column: pa.Array, other: pa.Array) -> pa.Array:
        return pc.add(column, other)

    frame = pf.range(4)
    assert values(frame.select(scaled(pf.col("id"), 0.5), plus(pf.col("id"), pf.col("id")))) == [
        [0.0, 0],
        [0.5, 2],
        [1.0, 4],
        [1.5, 6],
    ]
    with pytest.raises(TypeError, match="column"):
        frame.select(plus(1, 2))


def test_a_class_is_made_on_the_worker_and_a_scalar_function_opened_and_closed() -> None:
    class Count:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, n: int) -> int:
            self.calls += 1
            return self.calls

    assert values(pf.range(3).select(pf.udf(Count)(pf.col("id")))) == [[1], [2], [3]]

    class Scale:
        def open(self, context: Any) -> None:
            self.by = 3

        def eval(self, n: int) -> int:
            return n * self.by

    assert values(pf.range(3).select(pf.udf(Scale())(pf.col("id")))) == [[0], [3], [6]]


def test_results_become_values_of_the_declared_type() -> None:
    made = pf.udf(lambda n: {"n": n, "more": 1}, return_dtype=Pair)
    assert values(pf.range(1).select(p=made(pf.col("id")))) == [[Row(n=0, s=None)]]
    listed = pf.udf(lambda n: (n, None), return_dtype=list[int], name="listed")
    assert values(pf.range(1).select(listed(pf.col("id")))) == [[[0, None]]]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (pf.udf(lambda n: 1 // (n - 2), return_dtype=int, name="f"), r"(?s)ZeroDivisionError.*f\(\).*id=2"),
        (pf.udf(lambda n: "x" if n == 2 else n, return_dtype=int, name="f"), r"(?s)f\(\) returned 'x'.*id=2"),
        (pf.udf(lambda c: c[:1], return_dtype=int, func_type="arrow", name="f"), r"1 values for 4 rows"),
        (pf.udf(lambda c: c.cast("int32"), return_dtype=int, func_type="arrow", name="f"), "int32.*int64"),
        (pf.udf(lambda c: [1], return_dtype=int, func_type="pandas", name="f"), "list.*Series"),
    ],
)
def test_a_failure_names_the_function_and_the_row(function: Any, says: str) -> None:
    with pytest.raises(Exception, match=says):
        pf.range(4).select("id", function(pf.col("id"))).collect()


def test_a_failure_names_the_columns_that_need_the_call_and_the_line_of_the_user() -> None:
    def inverse(n: int) -> float:
        return 1 / n  # the line that fails

    def inverses(c: pa.Array) -> pa.Array:
        return pa.array([1 / n for n in c.to_pylist()])  # the line that fails

    n = pf.col("id")
    declared = pf.udf(inverse), pf.udf(inverses, return_dtype=float, name="inverses")
    for function in declared:
        guarded = if_then_else(n > -5, function(n) * 2, 0.0)
        frame = pf.range(-3, 4).select("id", half=function(n) / 2, other=n + 1, double=guarded)
        with pytest.raises(JobFailedError) as failed:
            frame.collect()
        for part in ("ZeroDivisionError", "column 'half'", "in operator 'Calc'", "Row(id=0)", "# the line that fails"):
            assert part in str(failed.value)
        assert "'other'" not in str(failed.value)


def test_a_function_of_columns_cannot_change_what_others_see() -> None:
    def zeroed(column: pd.Series) -> pd.Series:
        try:
            column.iloc[:] = 0
        except ValueError:  # read-only
            return column
        return column

    frame = pf.range(1, 4)
    changed = pf.udf(zeroed, return_dtype=int, func_type="pandas")
    emptied = pf.udf(lambda own: own.clear() or 0, return_dtype=int, name="emptied")
    assert [row.id for row in frame.select(changed(pf.col("id")), "id").collect()] == [1, 2, 3]
    lists = pf.from_dict({"l": [[1], [2, 3]]})
    seen = pf.udf(lambda own: len(own), return_dtype=int, name="seen")
    given = [1, 2]
    assert values(lists.select(emptied(pf.col("l")), seen(pf.col("l")), "l")) == [[0, 1, [1]], [0, 2, [2, 3]]]
    assert values(lists.select(emptied(given), seen(given))) == [[0, 2], [0, 2]]


def test_a_failure_within_a_condition_names_the_row() -> None:
    @pf.udf
    def number(s: str) -> int:
        return int(s)

    frame = pf.from_dict({"k": [1, 2, 3], "s": ["0", "1", "x"]})
    with pytest.raises(JobFailedError, match=r"record: Row\(k=3, s='x'\)"):
        frame.select(n=if_then_else(pf.col("k") > 1, number(pf.col("s")), 0)).collect()


def test_declarations_are_checked() -> None:
    class Needs:
        def __init__(self, n: int) -> None: ...

        def __call__(self, n: int) -> int:
            return n

    wrong_ones: list[tuple[Callable[[], Any], type[Exception]]] = [
        (lambda: pf.udf(5), TypeError),
        (lambda: pf.udf(lambda n: n), TypeError),
        (lambda: pf.udf(Needs), TypeError),
        (lambda: pf.udf(lambda n: n, return_dtype=int, func_type="numpy"), ValueError),
        (lambda: pf.udf(lambda n: n, return_dtype=int, name=""), ValueError),
        (lambda: pf.udf(lambda n: n, return_dtype=int, deterministic=1), TypeError),  # type: ignore[call-overload]
        (lambda: pf.udf(lambda n: n, func_type="arrow"), TypeError),
        (lambda: pf.udf(lambda n: n, return_dtype=list), TypeError),
    ]
    for wrong, error in wrong_ones:
        with pytest.raises(error):
            wrong()
    bound: Any = functools.partial(lambda c, n: c, n=1)
    assert values(pf.range(1).select(pf.udf(bound, return_dtype=int, name="b")(pf.col("id")))) == [[0]]


def test_a_deterministic_call_is_made_once_and_another_at_each_place() -> None:
    class Count:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, n: int) -> int:
            self.calls += 1
            return self.calls

    once = pf.udf(Count, name="once")
    each = pf.udf(Count, name="each", deterministic=False)
    n = pf.col("id")
    assert values(pf.range(1).select(a=once(n), b=once(n))) == [[1, 1]]
    twice = pf.range(1).select(a=each(n)).select(x=pf.col("a"), y=pf.col("a"))
    assert [row[0] == row[1] for row in values(twice)] == [True]


def test_explode() -> None:
    frame = pf.from_records(
        [{"id": 1, "t": ["a", "b"], "m": {"x": 1}}, {"id": 2, "t": [], "m": {}}, {"id": 3, "t": None, "m": None}]
    )
    assert values(frame.explode("t").select("id", "t")) == [[1, "a"], [1, "b"], [2, None], [3, None]]
    assert values(frame.explode("t", ignore_empty_and_null=True).select("id", "t")) == [[1, "a"], [1, "b"]]
    entries = frame.explode("m", output_column=["k", "v"])
    assert entries.columns == ["id", "t", "k", "v"]
    assert values(entries.select("id", "k", "v")) == [[1, "x", 1], [2, None, None], [3, None, None]]
    for arguments, error in [
        ({"column": "id"}, TypeError),
        ({"column": "m"}, ValueError),
        ({"column": "t", "output_column": "id"}, ValueError),
        ({"column": "t", "output_column": ["a", "b"]}, ValueError),
        ({"column": "t", "output_column": 5}, TypeError),
        ({"column": "t", "ignore_empty_and_null": 1}, TypeError),
        ({"column": 5}, TypeError),
    ]:
        with pytest.raises(error):
            frame.explode(**arguments)  # type: ignore[arg-type]


def test_explode_of_batches_with_slices() -> None:
    frame = pf.from_dict({"n": list(range(5000)), "t": [[number] * (number % 3) for number in range(5000)]})
    found = frame.filter(pf.col("n") >= 2500).explode("t", ignore_empty_and_null=True).collect()
    assert [row.t for row in found] == [number for number in range(2500, 5000) for _ in range(number % 3)]


def test_explode_beside_a_column_of_any_name() -> None:
    frame = pf.from_dict({"$": [1], "$$": [2], "l": [[3]]})
    assert values(frame.explode("l")) == [[1, 2, 3]]


def test_all_functions_are_closed_whatever_one_raises(tmp_path: Path) -> None:
    class Own:
        def __init__(self, name: str) -> None:
            self.name = name

        def eval(self, n: int) -> int:
            return n

        def close(self) -> None:
            (tmp_path / self.name).touch()
            raise ValueError(self.name)

    one, other = (pf.udf(Own(name), return_dtype=int, name=name) for name in ("one", "other"))
    with pytest.raises(Exception, match="ValueError"):
        pf.range(1).select(one(pf.col("id")).alias("a"), other(pf.col("id")).alias("b")).collect()
    assert {path.name for path in tmp_path.iterdir()} == {"one", "other"}


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_a_function_of_columns_is_not_called_without_rows(kind: str) -> None:
    def first(column: Any) -> Any:
        assert len(column)
        return column

    own = pf.udf(first, return_dtype=int, func_type=kind)
    frame, n = pf.from_dict({"n": [1, 2]}), pf.col("n")
    assert values(frame.select(m=if_then_else(n > 0, n, own(n)))) == [[1], [2]]
    assert values(frame.select(m=if_then_else(n > 5, own(n), n))) == [[1], [2]]


def test_a_partial_of_a_function_without_a_signature() -> None:
    at_least = pf.udf(functools.partial(max, 1), return_dtype=int)
    assert [row.n for row in pf.range(3).select(n=at_least(pf.col("id"))).collect()] == [1, 1, 2]
