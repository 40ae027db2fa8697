"""DataFrames keep their results exact over failures, at any parallelism."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf

pytestmark = pytest.mark.slow

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class FailsOnce:
    """Passes batches on, and fails once at the first batch after a number of rows."""

    def __init__(self, done: Path, rows: int) -> None:
        self._done = done
        self._rows = rows

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._rows -= batch.num_rows
        if self._rows < 0 and not self._done.exists():
            self._done.touch()
            raise ValueError("fails once")
        return batch


def failing(environment: Any, folder: Path, parallelism: int, mode: str) -> None:
    config = environment.get_config()
    config.set("parallelism.default", str(parallelism))
    config.set("execution.checkpointing.interval", "10 ms")
    config.set("execution.checkpointing.dir", str(folder / "checkpoints"))
    config.set("execution.checkpointing.unaligned.enabled", "true" if mode == "unaligned" else "false")
    config.set("state.backend.type", "rocksdb" if mode == "rocksdb" else "hashmap")
    config.set("restart-strategy.type", "fixed-delay")
    config.set("restart-strategy.fixed-delay.delay", "1 ms")
    config.set("headgate.batch.records", "128")


@pytest.mark.parametrize("parallelism", [1, 2, 3])
@pytest.mark.parametrize("mode", ["aligned", "unaligned", "rocksdb"])
def test_windows_count_each_row_once_over_a_failure(
    environment: Any, tmp_path: Path, parallelism: int, mode: str
) -> None:
    failing(environment, tmp_path, parallelism, mode)
    rows = 8_000
    frame = pf.from_dict(
        {
            "ts": [EPOCH + dt.timedelta(milliseconds=10 * number) for number in range(rows)],
            "k": [number % 7 for number in range(rows)],
        }
    )
    done = tmp_path / "failed"
    windows = (
        frame.map_batches(FailsOnce(done, rows // 2 // parallelism))
        .with_watermark("ts")
        .tumble(on="ts", size=dt.timedelta(seconds=1))
        .group_by("window_start", "window_end", "k")
        .agg(n=pf.lit(1).count)
    )
    found = windows.collect()
    assert done.exists()
    expected = Counter((number // 100, number % 7) for number in range(rows))
    counted = {((row.window_start - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1), row.k): row.n for row in found}
    assert len(found) == len(expected)
    assert counted == expected


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("mode", ["unaligned", "rocksdb"])
def test_aggregates_over_rows_go_on_after_a_failure(
    environment: Any, tmp_path: Path, parallelism: int, mode: str
) -> None:
    failing(environment, tmp_path, parallelism, mode)
    rows = 4_000
    times = [EPOCH + dt.timedelta(milliseconds=10 * number) for number in range(rows)]
    frame = pf.from_dict({"ts": times, "n": list(range(rows))}).with_column("k", pf.col("n") % 7)
    done = tmp_path / "failed"
    timed = frame.map_batches(FailsOnce(done, rows // 2 // parallelism)).with_watermark("ts", dt.timedelta(seconds=9))
    n, window = pf.col("n"), {"order_by": "ts", "partition_by": "k"}
    found = timed.select("n", row=pf.row_number().over(**window), total=n.sum.over(**window, rows=2)).collect()
    assert done.exists()
    assert sorted(map(tuple, found)) == [
        (n, n // 7 + 1, sum(own for own in (n, n - 7, n - 14) if own >= 0)) for n in range(rows)
    ]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_rows_stay_sorted_over_a_failure(environment: Any, tmp_path: Path, parallelism: int) -> None:
    failing(environment, tmp_path, parallelism, "unaligned")
    rows = 4_000
    times = [EPOCH + dt.timedelta(milliseconds=10 * (number ^ 5)) for number in range(rows)]
    frame = pf.from_dict({"ts": times, "n": [number ^ 5 for number in range(rows)]})
    done = tmp_path / "failed"
    timed = frame.map_batches(FailsOnce(done, rows // 2 // parallelism)).with_watermark("ts", dt.timedelta(seconds=9))
    found = [row.n for row in timed.sort("ts").collect()]
    assert done.exists()
    assert found == list(range(rows))


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_limit_counts_on_after_a_failure(environment: Any, tmp_path: Path, parallelism: int) -> None:
    failing(environment, tmp_path, parallelism, "aligned")
    done = tmp_path / "failed"
    frame = pf.range(30_000).map_batches(FailsOnce(done, 4_000)).offset(100).limit(20_000)
    found = [row.id for row in frame.collect()]
    assert done.exists()
    assert len(found) == len(set(found)) == 20_000


@pytest.mark.parametrize("how", ["full", "anti"])
@pytest.mark.parametrize("mode", ["aligned", "unaligned", "rocksdb"])
def test_joins_find_each_pair_once_over_a_failure(environment: Any, tmp_path: Path, mode: str, how: str) -> None:
    failing(environment, tmp_path, 2, mode)
    rows = 2_000
    times = [EPOCH + dt.timedelta(milliseconds=10 * number) for number in range(rows)]
    left = pf.from_dict({"ts": times, "k": [number % 7 for number in range(rows)], "n": list(range(rows))})
    right = pf.from_dict({"at": times[::3], "m": list(range(0, rows, 3))}).with_column("j", pf.col("m") % 7)
    done = tmp_path / "failed"
    ts = pf.col("ts")
    near = pf.col("at").between(ts - pf.lit(100).millis, ts + pf.lit(50).millis) & (pf.col("n") % 2 == 0)
    joined = (
        left.map_batches(FailsOnce(done, rows // 3))
        .with_watermark("ts")
        .join(right.with_watermark("at"), on=(pf.col("k") == pf.col("j")) & near, how=how)
    )
    found = Counter(tuple(row) for row in joined.select("n", *(["m"] if how == "full" else [])).collect())
    assert done.exists()
    pairs = [
        (n, n + apart) for n in range(0, rows, 2) for apart in (-7, 0) if 0 <= n + apart < rows and (n + apart) % 3 == 0
    ]
    lone = set(range(rows)) - {n for n, _ in pairs}
    other = set(range(0, rows, 3)) - {m for _, m in pairs}
    expected = Counter(pairs) + Counter((n, None) for n in lone) + Counter((None, m) for m in other)
    assert found == (Counter((n,) for n in lone) if how == "anti" else expected)
