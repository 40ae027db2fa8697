"""Functions of users that emit rows: `udtf`, `join_lateral`, `flat_map` and `map`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest

from headgate import dataframe as pf
from headgate.common import Row
from headgate.dataframe import DataType
from headgate.errors import JobFailedError


class Pair(TypedDict):
    n: int
    s: str


def values(frame: pf.DataFrame) -> list[Any]:
    return [list(row) for row in frame.collect()]


@pf.udtf
def numbers(n: int, s: str) -> Iterator[Pair]:
    """Count to n."""
    for number in range(n):
        yield {"n": number, "s": s}


def test_a_lateral_join_repeats_a_row_for_each_emitted_row() -> None:
    frame = pf.from_dict({"k": [0, 1, 2], "t": ["a", "b", None]})
    joined = frame.join_lateral(numbers(pf.col("k"), pf.col("t")).alias("number", "text"))
    assert joined.columns == ["k", "t", "number", "text"]
    assert values(joined) == [[1, "b", 0, "b"], [2, None, 0, None], [2, None, 1, None]]
    outer = frame.join_lateral(numbers(pf.col("k"), "x"), ignore_empty=False)
    assert outer.columns == ["k", "t", "n", "s"]
    assert values(outer) == [[0, "a", None, None], [1, "b", 0, "x"], [2, None, 0, "x"], [2, None, 1, "x"]]
    matching = frame.join_lateral(numbers(pf.col("k"), "x"), on=pf.col("n") == pf.col("k") - 1)
    assert values(matching.select("k", "n")) == [[1, 0], [2, 1]]


def test_a_lateral_join_computes_the_columns_that_are_read() -> None:
    frame = pf.from_dict({"k": [0, 1, 2]})
    counted = pf.udtf(lambda k: ["x"] * k, return_dtype=str, name="counted")(pf.col("k")).alias("x")
    assert values(frame.join_lateral(counted).select("k")) == [[1], [2], [2]]
    assert values(frame.join_lateral(counted).filter("k = 2").select("x")) == [["x"], ["x"]]


@pytest.mark.parametrize(
    ("returned", "kind", "rows"),
    [
        (None, str, []),
        ("text", str, ["text"]),
        (b"bytes", bytes, [b"bytes"]),
        (7, int, [7]),
        ([1, None, 3], int, [1, None, 3]),
        (iter([1, 2]), int, [1, 2]),
        ((1, "a"), tuple[int, str], [Row(f0=1, f1="a")]),
        ([(1, "a"), (2, "b")], tuple[int, str], [Row(f0=1, f1="a"), Row(f0=2, f1="b")]),
        ([{"n": 1}, None, Row(n=2, s="x")], Pair, [Row(n=1, s=None), Row(n=None, s=None), Row(n=2, s="x")]),
    ],
)
def test_the_rows_of_a_result(returned: Any, kind: Any, rows: list[Any]) -> None:
    listed = list(returned) if isinstance(returned, Iterator) else None

    def emit(_: int) -> Any:
        return returned if listed is None else iter(listed)

    call = pf.udtf(emit, return_dtype=kind)(pf.col("id"))
    names = ("f0", "f1") if kind == tuple[int, str] else ("n", "s") if kind is Pair else ("f0",)
    found = pf.range(1).join_lateral(call.alias(*names)).select(*names).collect()
    assert found == (rows if len(names) > 1 else [Row(f0=row) for row in rows])


def test_types_follow_from_annotations() -> None:
    def tuples(n: int) -> list[tuple[int, str]]:
        return [(n, str(n))]

    def single(n: int) -> float:
        return n / 2

    assert pf.udtf(tuples).return_dtype == DataType.struct({"f0": DataType.int64(), "f1": DataType.string()})
    assert pf.udtf(single).return_dtype == DataType.float64()
    assert (numbers.__name__, numbers.__doc__, pf.udtf(single, name="").name) == ("numbers", "Count to n.", "single")


def test_a_class_is_made_on_the_worker_opened_and_closed(tmp_path: Path) -> None:
    class Repeat:
        def open(self, context: Any) -> None:
            (tmp_path / "opened").touch()
            self.times = 2

        def eval(self, n: int) -> Iterator[int]:
            yield from [n] * self.times

        def close(self) -> None:
            (tmp_path / "closed").touch()

    twice = pf.udtf(Repeat, return_dtype=int)
    assert not list(tmp_path.iterdir())
    assert values(pf.range(2).join_lateral(twice(pf.col("id")).alias("n"))) == [[0, 0], [0, 0], [1, 1], [1, 1]]
    assert {path.name for path in tmp_path.iterdir()} == {"opened", "closed"}


def test_a_failure_names_function_row_and_line() -> None:
    @pf.udtf
    def halves(n: int) -> Iterator[int]:
        yield 10 // (n - 2)  # the line that fails

    with pytest.raises(JobFailedError) as failed:
        pf.range(4).join_lateral(halves(pf.col("id")).alias("half")).collect()
    for part in ("ZeroDivisionError", "halves()", "record: Row(id=2)", "# the line that fails"):
        assert part in str(failed.value)
    wrong = pf.udtf(lambda n: [(1, 2)], return_dtype=int, name="wrong")
    with pytest.raises(JobFailedError, match=r"wrong\(\) returned \[\(1, 2\)\]"):
        pf.range(1).join_lateral(wrong(pf.col("id")).alias("n")).collect()


def test_flat_map_keeps_only_the_emitted_columns() -> None:
    def pairs(row: dict[str, Any]) -> Iterator[Pair]:
        for number in range(row["id"]):
            yield {"n": number, "s": str(row["id"])}

    frame = pf.range(3).flat_map(pairs)
    assert (frame.columns, values(frame)) == (["n", "s"], [[0, "1"], [0, "2"], [1, "2"]])
    assert values(pf.range(3).flat_map(pf.udtf(pairs))) == values(frame)
    one = pf.range(2).flat_map(lambda row: None if row["id"] else "one", return_dtype=str)
    assert (one.columns, values(one)) == (["f0"], [["one"]])


def test_map_returns_one_row_for_each() -> None:
    doubled = pf.range(2).map(lambda row: row["id"] * 2, return_dtype=DataType.int64())
    assert (doubled.columns, values(doubled)) == (["f0"], [[0], [2]])
    pairs = pf.range(2).map(lambda row: (row["id"], str(row["id"])), return_dtype=Pair)
    assert (pairs.columns, values(pairs.select("s"))) == (["n", "s"], [["0"], ["1"]])


def test_map_calls_the_function_once_for_each_row() -> None:
    class Count:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, row: dict[str, Any]) -> Pair:
            self.calls += 1
            return {"n": self.calls, "s": str(self.calls)}

    frame = pf.range(3).map(Count)
    twice = frame.filter(pf.col("n") > 1).select("n", "s", again=pf.col("n"))
    assert values(twice) == [[2, "2", 2], [3, "3", 3]]


def wrong_calls() -> list[tuple[Callable[[], Any], type[Exception]]]:
    frame = pf.range(2)
    call = numbers(pf.col("id"), "x")
    single = pf.udtf(lambda n: n, return_dtype=int)

    async def later(n: int) -> int:
        return n

    return [
        (lambda: pf.udtf(5), TypeError),
        (lambda: pf.udtf(later), TypeError),
        (lambda: pf.udtf(lambda n: n), TypeError),
        (lambda: pf.udtf(lambda n: n, return_dtype=tuple[int, ...]), TypeError),
        (lambda: pf.udtf(lambda n: n, return_dtype=DataType.struct({})), ValueError),
        (lambda: pf.udtf(lambda n: n, return_dtype=int, deterministic=1), TypeError),  # type: ignore[call-overload]
        (lambda: call.alias("a"), ValueError),
        (lambda: call.alias("a", "a"), ValueError),
        (lambda: call.alias("a", ""), ValueError),
        (lambda: call.alias("a", 1), TypeError),  # type: ignore[arg-type]
        (lambda: frame.join_lateral(pf.col("id")), TypeError),  # type: ignore[arg-type]
        (lambda: frame.join_lateral(call, ignore_empty=1), TypeError),  # type: ignore[arg-type]
        (lambda: frame.join_lateral(call, on="n = id"), TypeError),  # type: ignore[arg-type]
        (lambda: frame.join_lateral(call, on=pf.col("n") == 1, ignore_empty=False), ValueError),
        (lambda: frame.join_lateral(call, on=pf.col("n")), ValueError),
        (lambda: frame.join_lateral(call.alias("id", "s")), ValueError),
        (lambda: frame.join_lateral(numbers(pf.col("no"), "x")), ValueError),
        (lambda: frame.join_lateral(single(pf.col("id"))), ValueError),
        (lambda: frame.flat_map(5, return_dtype=int), TypeError),
        (lambda: frame.flat_map(None, return_dtype=int), TypeError),
        (lambda: frame.flat_map(numbers), ValueError),
        (lambda: frame.flat_map(single, return_dtype=int), ValueError),
        (lambda: frame.flat_map(lambda: 1, return_dtype=int), ValueError),
        (lambda: frame.flat_map(lambda row, other: 1, return_dtype=int), ValueError),
        (lambda: frame.flat_map(lambda row: [(1, 2)], return_dtype=tuple[int, int]), ValueError),
        (lambda: frame.map(lambda row: row), TypeError),
        (lambda: frame.map(_of_int), ValueError),
        (lambda: frame.map(lambda row: row, return_dtype=int, concurrency=0), ValueError),
        (lambda: frame.map(lambda row: row, return_dtype=int, concurrency=True), TypeError),
    ]


def _of_int(row: int) -> int:
    return row


@pytest.mark.parametrize("place", range(29))
def test_wrong_calls_are_refused_when_they_are_written(place: int) -> None:
    wrong, error = wrong_calls()[place]
    with pytest.raises(error):
        wrong()
