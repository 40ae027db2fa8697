"""Coroutine functions within expressions, and functions with a parallelism of their own."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.errors import JobFailedError
from headgate.table.expressions import if_then_else
from headgate.table.table_environment import TableEnvironment
from tests.unit.dataframe.test_recovery import FailsOnce, failing


def values(frame: pf.DataFrame) -> list[Any]:
    return [list(row) for row in frame.collect()]


@pf.udf
async def tripled(n: int | None) -> int | None:
    """Triple a number; small numbers take longer."""
    await asyncio.sleep(0.001 * ((n or 0) % 3))
    return None if n is None else 3 * n


def test_results_keep_the_order_and_the_other_columns() -> None:
    data: dict[str, list[Any]] = {
        "n": [5, 4, None, 3],
        "f": [0.5, float("nan"), -0.0, None],
        "at": [dt.datetime(2024, 5, 1, 10, 0, 0, 5), None, dt.datetime(1960, 1, 1), dt.datetime(2024, 1, 1)],
        "t": ["a", None, "c", "d"],
        "l": [[1], [], None, [None]],
    }
    frame = pf.from_dict(data)
    called = frame.with_column("m", tripled(pf.col("n")))
    assert [row[:-1] for row in map(tuple, called.filter("f IS NULL OR f = f").collect())] == [
        tuple(row) for row in frame.filter("f IS NULL OR f = f").collect()
    ]
    assert [row.m for row in called.collect()] == [15, 12, None, 9]
    assert called.columns == [*frame.columns, "m"]


def test_calls_within_expressions_predicates_and_arguments() -> None:
    n = pf.col("id")
    frame = pf.range(5)
    assert values(frame.select(m=tripled(tripled(n) + 1) - tripled(n))) == [[3], [9], [15], [21], [27]]
    assert values(frame.filter(tripled(n) > 6).select("id")) == [[3], [4]]
    assert frame.filter(tripled(n) > 6).columns == ["id"]


def test_a_call_in_a_condition_is_made_only_where_it_is_needed() -> None:
    @pf.udf
    async def inverse(n: int) -> float:
        return 1 / n

    n = pf.col("id")
    guarded = if_then_else(n == 0, -1.0, if_then_else(n > 2, inverse(n - 2), inverse(n)))
    assert values(pf.range(5).select(guarded)) == [[-1.0], [1.0], [0.5], [1.0], [0.5]]


def test_many_calls_are_in_progress_but_not_more_than_the_limit(environment: TableEnvironment) -> None:
    class Most:
        def open(self, context: Any) -> None:
            self.running = self.most = 0

        async def eval(self, n: int) -> int:
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.001)
            self.running -= 1
            return self.most

    most = pf.udf(Most, name="most")
    assert max(row[0] for row in values(pf.range(40).select(most(pf.col("id"))))) == 10
    environment.get_config().set("table.exec.async-scalar.max-concurrent-operations", "3")
    assert max(row[0] for row in values(pf.range(40).select(most(pf.col("id"))))) == 3


class Refuses:
    """Refuses the first calls for a number."""

    def __init__(self) -> None:
        self.calls: Counter[int] = Counter()

    async def __call__(self, n: int) -> int:
        self.calls[n] += 1
        if self.calls[n] <= 2:
            raise ConnectionError("out of order")
        return self.calls[n]


def test_calls_that_raise_are_repeated_by_the_settings(environment: TableEnvironment) -> None:
    environment.get_config().set("table.exec.async-scalar.retry-delay", "1 ms")
    frame = pf.range(3).select(n=pf.udf(Refuses)(pf.col("id")))
    assert values(frame) == [[3], [3], [3]]
    environment.get_config().set("table.exec.async-scalar.max-attempts", "1")
    with pytest.raises(JobFailedError, match=r"(?s)ConnectionError: out of order.*raised by Refuses\(0,\)"):
        frame.collect()
    environment.get_config().set("table.exec.async-scalar.max-attempts", "3")
    environment.get_config().set("table.exec.async-scalar.retry-strategy", "NO_RETRY")
    with pytest.raises(JobFailedError, match="out of order"):
        frame.collect()


def test_a_call_that_takes_too_long_fails_with_its_arguments(environment: TableEnvironment) -> None:
    @pf.udf
    async def forever(n: int) -> int:
        await asyncio.sleep(3600)
        return n

    environment.get_config().set("table.exec.async-scalar.timeout", "20 ms")
    with pytest.raises(JobFailedError, match=r"forever\(7,\) has not ended in time"):
        pf.range(7, 8).select(forever(pf.col("id"))).collect()


def test_a_failure_names_the_function_its_result_and_the_line(environment: TableEnvironment) -> None:
    environment.get_config().set("table.exec.async-scalar.retry-strategy", "NO_RETRY")

    async def fails(n: int) -> int:
        return 1 // n  # the line that fails

    with pytest.raises(JobFailedError) as failed:
        pf.range(1).select(pf.udf(fails)(pf.col("id"))).collect()
    for part in ("ZeroDivisionError", "Async fails", "raised by fails(0,)", "# the line that fails"):
        assert part in str(failed.value)

    async def text(n: int) -> str:
        return "x"

    with pytest.raises(JobFailedError, match=r"text\(\) returned 'x'"):
        pf.range(1).select(pf.udf(text, return_dtype=int)(pf.col("id"))).collect()


def test_windows_of_results(environment: TableEnvironment) -> None:
    start = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    frame = pf.from_dict(
        {"at": [start + dt.timedelta(seconds=second) for second in range(6)], "n": [1, 2, 3, 4, 5, 6]},
        watermark=("at", "at"),
    )
    windows = frame.tumble(on="at", size=dt.timedelta(seconds=3)).group_by("window_start", "window_end")
    assert [row.total for row in windows.agg(total=tripled(pf.col("n")).sum).collect()] == [18, 45]


def test_results_over_rows_and_beside_columns_of_any_name() -> None:
    start = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    data: dict[str, list[Any]] = {"at": [start, start + dt.timedelta(seconds=1)], "$": [1, 2], "$1": [3, 4]}
    frame = pf.from_dict(data, watermark=("at", "at"))
    total = tripled(pf.col("$")).sum.over(order_by="at")
    assert values(frame.select("$", "$1", total)) == [[1, 3, 3], [2, 4, 9]]


def test_declarations() -> None:
    async def later(c: pa.Array) -> pa.Array:
        return c

    async def several(n: int) -> Any:
        yield n

    with pytest.raises(ValueError, match="arrow"):
        pf.udf(later, return_dtype=int)
    with pytest.raises(TypeError, match="async def"):
        pf.udf(several, return_dtype=int)
    assert "asynchronous" in pf.range(1).select(tripled(pf.col("id"))).explain()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["aligned", "unaligned"])
def test_each_row_has_one_result_over_a_failure(environment: Any, tmp_path: Path, mode: str) -> None:
    failing(environment, tmp_path, 2, mode)
    rows, done = 3_000, tmp_path / "failed"
    frame = pf.range(rows).select(n=tripled(pf.col("id"))).map_batches(FailsOnce(done, 600))
    found = [row.n for row in frame.collect()]
    assert done.exists()
    assert sorted(found) == [3 * number for number in range(rows)]


# --- parallelism


class Opened:
    """Writes a file when it is opened, and when it is closed."""

    folder: Path

    def open(self, context: Any) -> None:
        self.subtask = context.get_index_of_this_subtask()
        (self.folder / f"opened {self.subtask}").touch(exist_ok=False)

    def eval(self, n: int) -> int:
        return n

    def close(self) -> None:
        (self.folder / f"closed {self.subtask}").touch(exist_ok=False)


def test_concurrency_is_the_number_of_subtasks_that_open_and_close_the_function(tmp_path: Path) -> None:
    made = type("Made", (Opened,), {"folder": tmp_path})
    own = pf.udf(made, concurrency=2, name="own")
    n = pf.col("id")
    frame = pf.range(100).select(n, a=own(n + 1), b=own(n + 1) * 2)
    assert sorted(values(frame)) == [[number, number + 1, 2 * number + 2] for number in range(100)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed 0", "closed 1", "opened 0", "opened 1"]
    assert "concurrency 2" in frame.explain()


def test_a_function_is_opened_once_in_a_subtask_however_often_it_is_called(tmp_path: Path) -> None:
    own = pf.udf(type("Made", (Opened,), {"folder": tmp_path}), name="own")
    n = pf.col("id")
    assert values(pf.range(2).filter(own(n) > 0).select(own(n), own(n + 1))) == [[1, 2]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["closed 0", "opened 0"]


def test_map_with_concurrency() -> None:
    frame = pf.range(50).map(lambda row: row["id"] + 1, return_dtype=int, concurrency=3)
    assert sorted(values(frame)) == [[number] for number in range(1, 51)]


def test_batch_size_limits_the_rows_of_a_call() -> None:
    sizes = pf.udf(lambda c: pa.array([len(c)] * len(c), pa.int64()), return_dtype=int, func_type="arrow", batch_size=4)
    assert values(pf.range(10).select(sizes(pf.col("id")))) == [[4]] * 8 + [[2]] * 2
    n = pf.col("id")
    both = pf.udf(lambda c, k: c * k, return_dtype=int, func_type="pandas", batch_size=3)
    assert values(pf.range(5).select(both(n, 2))) == [[0], [2], [4], [6], [8]]
    with pytest.raises(ValueError, match="batch_size"):
        pf.udf(lambda n: n, return_dtype=int, batch_size=4)
    with pytest.raises(ValueError, match="batch_size"):
        pf.udf(lambda n: n, return_dtype=int, func_type="arrow", batch_size=0)
