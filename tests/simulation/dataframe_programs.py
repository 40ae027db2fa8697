"""DataFrames for the simulator, and faults of theirs to plant: what they emit depends on nothing that goes wrong."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any, Final

import pytest

from headgate import dataframe as pf
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.operators.async_calls import AsyncOperator
from headgate.operators.base import OperatorSnapshot
from headgate.operators.columns.aggregation import MergePartials, PartialOperator
from headgate.operators.columns.distinct import KeepFirst
from headgate.table.expressions import call_sql
from tests.simulation.plants import Plant

RECORDS: Final = 240
KEYS: Final = 5
MS: Final = dt.timedelta(milliseconds=1)


def frame_of(env: StreamExecutionEnvironment) -> pf.DataFrame:
    """Return numbers with a key and an event time, whose watermarks wait for any order of the splits."""
    numbers = env.from_source(NumberSequenceSource(1, RECORDS), None, "numbers").map(lambda number: (number,))
    frame = pf.from_data_stream(numbers, schema={"n": pf.DataType.int64()})
    timed = frame.with_columns(k=pf.col("n") % KEYS, ts=call_sql("TO_TIMESTAMP_LTZ(n * 7 + n / 30 * 100, 3)"))
    return timed.with_watermark("ts", dt.timedelta(minutes=1))


class Kept:
    """Sums numbers in an accumulator."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], n: int) -> None:
        accumulator[0] += n

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, accumulator: list[int], others: Any) -> None:
        accumulator[0] += sum(own for (own,) in others)


_kept: Final = pf.udaf(Kept, accumulator_type=list[int])


def _summed(windows: Any) -> DataStream:
    made = windows.group_by("k", "window_start", "window_end").agg(_kept(pf.col("n")))
    stream: DataStream = made.to_data_stream()
    return stream.map(tuple)


def _counted(windows: Any, lateness: dt.timedelta | None = None) -> DataStream:
    n = pf.col("n")
    groups = windows.group_by("k", "window_start", "window_end")
    waiting = groups if lateness is None else groups.allowed_lateness(lateness)
    made = waiting.agg(rows=pf.lit(1).count, total=n.sum, most=n.max)
    stream: DataStream = made.to_data_stream()
    return stream.map(tuple)


def _over(frame: pf.DataFrame, key: str, **rows: Any) -> DataStream:
    n, window = pf.col("n"), {"order_by": "ts", "partition_by": key, **rows}
    made = frame.select("n", rows=pf.lit(1).count.over(**window), total=n.sum.over(**window), most=n.max.over(**window))
    stream: DataStream = made.to_data_stream()
    return stream.map(tuple)


@pf.udf
async def _tripled(n: int) -> int:
    await asyncio.sleep(0.001 * (n % 7))
    return 3 * n


def frames(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Windows of each kind, aggregates over rows, sorted rows, first rows, async calls, and what no state has."""
    frame = frame_of(env)
    longer = frame.filter("n > 3").select("k", "n", "ts")
    return {
        "tumbling": _counted(frame.tumble(on="ts", size=70 * MS)),
        "hopping": _counted(frame.hop(on="ts", slide=35 * MS, size=90 * MS)),
        "sessions": _counted(longer.session(on="ts", gap=60 * MS, partition_by="k")),
        "over": _over(frame, "k"),
        "over_rows": _over(longer, "k", rows=3),
        "over_range": _over(frame.with_column("k", pf.col("n") % 2), "k", range=80 * MS),
        "waited": _counted(longer.hop(on="ts", slide=35 * MS, size=70 * MS), 90 * MS),
        "sorted": frame.sort(["ts", "n"]).select("n").to_data_stream().map(tuple),
        "keys": frame.select("k").distinct().to_data_stream().map(tuple),
        "kept": _summed(frame.tumble(on="ts", size=70 * MS)),
        "kept_sessions": _summed(longer.session(on="ts", gap=60 * MS, partition_by="k")),
        "called": frame.select(own=_tripled(pf.col("n"))).to_data_stream().map(tuple),
        "rows": frame.filter("n % 3 = 0").select(double=pf.col("n") * 2).to_data_stream().map(tuple),
    }


def partial_results_are_lost(patch: pytest.MonkeyPatch) -> None:
    """Of two partial results of a window, the second is lost."""
    patch.setattr(MergePartials, "reduce", lambda _self, one, _other: one)


def keys_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A key that was seen is not remembered."""

    def every(self: KeepFirst, value: Any, ctx: Any) -> Any:
        return (value[1],)

    patch.setattr(KeepFirst, "process_element", every)


def windows_end_late(patch: pytest.MonkeyPatch) -> None:
    """The windows of partial results are those of another time."""
    opened = PartialOperator.open

    def later(self: PartialOperator, context: Any) -> None:
        opened(self, context)
        if context.attempt > 1:
            self._back_ms += 1_000

    patch.setattr(PartialOperator, "open", later)


def calls_in_progress_are_lost(patch: pytest.MonkeyPatch) -> None:
    """The rows whose calls have not ended are missing in snapshots."""
    patch.setattr(AsyncOperator, "snapshot", lambda self, _barrier: OperatorSnapshot(uid=self.context.uid))


PLANTS: Final[list[Plant]] = [
    partial_results_are_lost,
    keys_are_forgotten,
    windows_end_late,
    calls_in_progress_are_lost,
]
