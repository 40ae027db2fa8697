"""Aggregate functions of users, `udaf`, in windows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headgate import dataframe as pf
from headgate.common import Row
from headgate.dataframe import DataType
from headgate.errors import JobFailedError
from headgate.table.table_environment import TableEnvironment
from tests.unit.dataframe.test_recovery import FailsOnce, failing

START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)


class WeightedMean:
    """The mean of values with weights; NULL without weights."""

    def create_accumulator(self) -> list[float]:
        return [0.0, 0.0]

    def accumulate(self, accumulator: list[float], value: float | None, weight: float) -> None:
        if value is not None:
            accumulator[0] += value * weight
            accumulator[1] += weight

    def get_value(self, accumulator: list[float]) -> float:
        total, weights = accumulator
        return total / weights if weights else None  # type: ignore[return-value]

    def merge(self, accumulator: list[float], others: Any) -> None:
        for total, weights in others:
            accumulator[0] += total
            accumulator[1] += weights


weighted = pf.udaf(WeightedMean, accumulator_type=list[float])


def frame(seconds: list[int], keys: list[str], values: list[float | None]) -> pf.DataFrame:
    times = [START + second * SECOND for second in seconds]
    return pf.from_dict(
        {"at": times, "k": keys, "v": values, "w": [1.0, 3.0, *[1.0] * (len(keys) - 2)]}
    ).with_watermark("at")


def windows_of(given: pf.DataFrame, *keys: str) -> Any:
    return given.tumble(on="at", size=10 * SECOND).group_by(*keys, "window_start", "window_end")


def data() -> pf.DataFrame:
    return frame([0, 1, 2, 11, 12], ["a", "a", "b", "a", "b"], [1.0, 2.0, 5.0, 7.0, None])


def found(made: pf.DataFrame) -> set[tuple[Any, ...]]:
    return {tuple(value for value in row if not isinstance(value, dt.datetime)) for row in made.collect()}


def test_a_general_function_aggregates_each_group() -> None:
    v, w = pf.col("v"), pf.col("w")
    made = windows_of(data(), "k").agg(
        mean=weighted(v, w), rows=pf.lit(1).count, spread=v.var_pop, twice=weighted(v, w) * 2
    )
    assert found(made) == {
        ("a", 1.75, 2, 0.25, 3.5),
        ("b", 5.0, 1, 0.0, 10.0),
        ("a", 7.0, 1, 0.0, 14.0),
        ("b", None, 1, None, None),
    }
    assert weighted.return_dtype == DataType.float64()
    assert "WeightedMean[ARRAY<DOUBLE>]" in made.explain()


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_the_rows_of_all_batches_are_accumulated_in_order(environment: TableEnvironment, rows: int) -> None:
    class Texts:
        def create_accumulator(self) -> list[Any]:
            return []

        def accumulate(self, accumulator: list[Any], n: int, at: dt.datetime) -> None:
            accumulator.append(f"{n}@{at:%S}")

        def get_value(self, accumulator: list[Any]) -> str:
            return ",".join(accumulator)

    environment.get_config().set("headgate.batch.records", str(rows))
    texts = pf.udaf(Texts(), accumulator_type=list[str])
    given = pf.from_dict({"at": [START + n * SECOND for n in range(7)], "n": list(range(7))}).with_watermark("at")
    made = given.tumble(on="at", size=4 * SECOND).group_by("window_start", "window_end")
    assert found(made.agg(t=texts(pf.col("n"), pf.col("at")))) == {
        ("0@00,1@01,2@02,3@03",),
        ("4@04,5@05,6@06",),
    }


def test_sessions_merge_accumulators() -> None:
    given = frame([0, 20, 11, 40], ["a"] * 4, [1.0, 2.0, 3.0, 4.0])
    sessions = given.session(on="at", gap=15 * SECOND, partition_by="k").group_by("k", "window_start", "window_end")
    assert found(sessions.agg(mean=weighted(pf.col("v"), pf.col("w")))) == {("a", 2.0), ("a", 4.0)}


def test_results_may_be_rows() -> None:
    class Ends:
        def open(self, context: Any) -> None:
            self.opened = True

        def create_accumulator(self) -> list[Any]:
            return []

        def accumulate(self, accumulator: list[Any], value: float) -> None:
            accumulator.append(value)

        def get_value(self, accumulator: list[Any]) -> Any:
            return {"low": min(accumulator), "opened": self.opened}

        def get_accumulator_type(self) -> Any:
            return "ARRAY<DOUBLE>"

        def get_result_type(self) -> Any:
            return DataType.struct({"low": DataType.float64(), "opened": DataType.bool()})

    made = windows_of(data().filter("v > 1"), "k").agg(ends=pf.udaf(Ends)(pf.col("v")))
    assert found(made) == {
        ("a", Row(low=2.0, opened=True)),
        ("b", Row(low=5.0, opened=True)),
        ("a", Row(low=7.0, opened=True)),
    }


def test_a_pandas_function_gets_all_values_of_a_group(environment: TableEnvironment) -> None:
    @pf.udaf(func_type="pandas")
    def mean(values: pd.Series, by: float) -> float:
        return float(values.mean()) * by

    @pf.udaf(func_type="pandas", return_dtype=int)
    def missing(values: pd.Series) -> Any:
        return values.isna().sum()

    class Largest:
        def __call__(self, values: pd.Series) -> float:
            return float(values.max())

    environment.get_config().set("headgate.batch.records", "2")
    largest = pf.udaf(Largest, func_type="pandas", return_dtype=float)
    v = pf.col("v")
    made = windows_of(data(), "k").agg(mean(v, 2.0), missing(v), largest(v + 1), pf.lit(1).count)
    rows = {row if row[1] == row[1] else (row[0], None, row[2], None, row[4]) for row in found(made)}
    assert rows == {("a", 3.0, 0, 3.0, 2), ("b", 10.0, 0, 6.0, 1), ("a", 14.0, 0, 8.0, 1), ("b", None, 1, None, 1)}


def test_a_pandas_function_with_an_accumulator_takes_the_group_at_once() -> None:
    class Span:
        def create_accumulator(self) -> list[Any]:
            return []

        def accumulate(self, accumulator: list[Any], values: pd.Series) -> None:
            accumulator.append(values.max() - values.min())

        def get_value(self, accumulator: list[Any]) -> float:
            return float(accumulator[0])

    made = windows_of(data().filter("v > 0")).agg(span=pf.udaf(Span, func_type="pandas")(pf.col("v")))
    assert found(made) == {(4.0,), (0.0,)}


def test_a_failure_names_the_function_and_its_values() -> None:
    class Fails(WeightedMean):
        def accumulate(self, accumulator: list[float], value: float | None, weight: float) -> None:
            accumulator[0] += 1 / (weight - 3)  # the line that fails

    fails = pf.udaf(Fails, accumulator_type=list[float], name="fails")
    with pytest.raises(JobFailedError) as failed:
        windows_of(data()).agg(fails(pf.col("v"), pf.col("w"))).collect()
    for part in ("ZeroDivisionError", "accumulate() of fails() for (2.0, 3.0)", "# the line that fails"):
        assert part in str(failed.value)
    wrong = pf.udaf(WeightedMean, accumulator_type=int, name="wrong")
    with pytest.raises(JobFailedError, match=r"create_accumulator\(\) of wrong\(\) returned \[0.0, 0.0\]"):
        windows_of(data()).agg(wrong(pf.col("v"), pf.col("w"))).collect()
    text = pf.udaf(WeightedMean, accumulator_type=list[float], return_dtype=str, name="text")
    with pytest.raises(JobFailedError, match=r"text\(\) returned 1.75"):
        windows_of(data(), "k").agg(text(pf.col("v"), pf.col("w"))).collect()


def wrong_calls() -> list[tuple[Callable[[], Any], type[Exception]]]:
    class NoMerge:
        create_accumulator = WeightedMean.create_accumulator
        accumulate = WeightedMean.accumulate
        get_value = WeightedMean.get_value

    class NeedsNumber(WeightedMean):
        def __init__(self, needs: int) -> None: ...

    async def later(values: pd.Series) -> float:
        return 0.0

    no_merge = pf.udaf(NoMerge, accumulator_type=list[float], return_dtype=float)
    sessions = data().session(on="at", gap=SECOND, partition_by="k").group_by("k", "window_start", "window_end")
    return [
        (lambda: pf.udaf(lambda values: 1, accumulator_type=list[int]), TypeError),
        (lambda: pf.udaf(WeightedMean), TypeError),
        (lambda: pf.udaf(NeedsNumber, accumulator_type=list[float]), TypeError),
        (lambda: pf.udaf(WeightedMean, accumulator_type=list), TypeError),
        (lambda: pf.udaf(WeightedMean, accumulator_type=list[float], func_type="arrow"), ValueError),
        (lambda: pf.udaf(lambda values: 1, func_type="pandas"), TypeError),
        (lambda: pf.udaf(lambda values: {}, func_type="pandas", return_dtype=dict[str, int]), ValueError),
        (lambda: pf.udaf(later, func_type="pandas"), TypeError),
        (lambda: weighted(), TypeError),
        (lambda: data().select(weighted(pf.col("v"), pf.col("w"))), TypeError),
        (lambda: windows_of(data()).agg(weighted(pf.col("no"), 1.0)), ValueError),
        (lambda: sessions.agg(no_merge(pf.col("v"), pf.col("w"))), ValueError),
    ]


@pytest.mark.parametrize("place", range(12))
def test_wrong_calls_are_refused_when_they_are_written(place: int) -> None:
    wrong, error = wrong_calls()[place]
    with pytest.raises(error):
        wrong()


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "kind"), [("aligned", "tumbling"), ("rocksdb", "sessions")])
def test_accumulators_are_restored_after_a_failure(environment: Any, tmp_path: Path, mode: str, kind: str) -> None:
    failing(environment, tmp_path, 2, mode)
    rows, done = 2_000, tmp_path / "failed"
    times = [START + dt.timedelta(milliseconds=10 * n + n // 100 * 500) for n in range(rows)]
    given = pf.from_dict({"at": times, "k": [n % 3 for n in range(rows)], "v": [float(n) for n in range(rows)]})
    timed = given.map_batches(FailsOnce(done, rows // 4)).with_watermark("at")
    if kind == "tumbling":
        windows = timed.tumble(on="at", size=SECOND).group_by("k", "window_start", "window_end")
    else:
        windows = timed.session(on="at", gap=SECOND / 5, partition_by="k").group_by("k", "window_start", "window_end")
    v = pf.col("v")
    made = windows.agg(mean=weighted(v, 2.0), expected=v.avg, rows=v.count).collect()
    assert done.exists()
    assert sum(row.rows for row in made) == rows
    assert all(abs(row.mean - row.expected) < 1e-6 for row in made)
