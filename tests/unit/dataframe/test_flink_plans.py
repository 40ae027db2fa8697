"""Plans give the rows that Flink SQL 2.3 gave: `ask_pyflink.py` asked it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.table.expressions import call_sql

FILE: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("flink_plans.json").read_text())
SCHEMA: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("item", pa.string()),
        ("price", pa.float64()),
        ("amount", pa.decimal128(10, 2)),
        ("pieces", pa.int32()),
        ("tags", pa.list_(pa.string())),
        ("ts", pa.timestamp("ms")),
    ]
)
HOUR: Final = dt.timedelta(hours=1)
SECOND: Final = dt.timedelta(seconds=1)
BOUNDS: Final = ("window_start", "window_end")

ITEM, PRICE, AMOUNT, PIECES, TS = (pf.col(name) for name in ("item", "price", "amount", "pieces", "ts"))
N: Final = pf.lit(1).count


def given(name: str) -> pf.DataFrame:
    rows = [
        {
            **row,
            "ts": dt.datetime.fromisoformat(row["ts"]),
            "amount": None if row["amount"] is None else Decimal(f"{row['amount']:.2f}"),
        }
        for row in FILE[name]
    ]
    return pf.from_arrow(pa.Table.from_pylist(rows, SCHEMA)).with_watermark("ts", HOUR)


def orders() -> pf.DataFrame:
    return given("orders")


def tens(frame: pf.DataFrame) -> pf.DataFrame:
    return frame.tumble(on="ts", size=10 * SECOND)


def hops() -> pf.DataFrame:
    return orders().hop(on="ts", slide=5 * SECOND, size=15 * SECOND)


def cumulated() -> pf.DataFrame:
    return orders().cumulate(on="ts", step=10 * SECOND, size=30 * SECOND)


def grouped(*keys: str) -> Any:
    return tens(orders()).group_by(*BOUNDS, *keys)


def of_tens() -> pf.DataFrame:
    sums = tens(orders()).group_by(*BOUNDS, "window_time").agg(n=N, m=PIECES.max)
    minutes = sums.tumble(on="window_time", size=60 * SECOND).group_by(*BOUNDS)
    return minutes.agg(n=pf.col("n").sum, m=pf.col("m").max).select("window_end", "n", "m")


def others() -> pf.DataFrame:
    return given("others").select(pf.col("id").alias("other"), "item", pf.col("ts").alias("other_ts"))


def joined_within_five_seconds(how: str) -> pf.DataFrame:
    right = others().rename("item", "other_item")
    near = pf.col("other_ts").between(TS - pf.lit(5).seconds, TS + pf.lit(5).seconds)
    return orders().join(right, on=(pf.col("other_item") == ITEM) & near, how=how).select("id", "other")


def joined_in_windows() -> pf.DataFrame:
    left = tens(orders()).select("id", "item", *BOUNDS)
    right = tens(given("others")).select(pf.col("id").alias("other"), "item", *BOUNDS)
    return left.join(right, on=["item", *BOUNDS]).select("id", "other", "window_start")


PLANS: Final[dict[str, Callable[[], pf.DataFrame]]] = {
    "columns": lambda: orders().select("id", "item", "pieces", "ts"),
    "computed columns": lambda: orders().select("id", p=PIECES * 3, h=PRICE / 2, a=AMOUNT + 1),
    "filter": lambda: orders().filter(PRICE > 4).select("id"),
    "filter with NULL": lambda: orders().filter(~(PRICE > 4)).select("id"),
    "filter with OR and NULL": lambda: orders().filter((PRICE > 4) | (ITEM == "tea")).select("id"),
    "filter by LIKE": lambda: orders().filter(ITEM.like("t%")).select("id"),
    "filter by IN": lambda: orders().filter(ITEM.in_("tea", "cup")).select("id"),
    "filter by NOT IN": lambda: orders().filter(~ITEM.in_("tea", "cup")).select("id"),
    "filter by BETWEEN": lambda: orders().filter(PIECES.between(1, 4)).select("id"),
    "CASE": lambda: orders().select("id", size=(PIECES > 3).then("many", (PIECES > 0).then("few", "none"))),
    "COALESCE": lambda: orders().fill_null("?", ["item"]).fill_null(0, ["price"]).select("id", "item", "price"),
    "texts": lambda: orders().select("id", u=ITEM.trim().upper_case, n=ITEM.char_length, s=ITEM.substring(2, 2)),
    "casts": lambda: orders().select(
        "id",
        i=PRICE.cast("INT"),
        s=AMOUNT.cast("STRING"),
        d=TS.cast("DATE"),
        e=PIECES.cast("DECIMAL(6, 1)"),
    ),
    "times": lambda: orders().select(
        "id",
        s=call_sql("EXTRACT(SECOND FROM ts)"),
        m=call_sql("DATE_FORMAT(ts, 'HH:mm')"),
        later=TS + pf.lit(1).minutes,
    ),
    "distinct": lambda: orders().select("item").distinct(),
    "distinct of two": lambda: orders().select("item", "pieces").distinct(),
    "first row of each key": lambda: orders().drop_duplicates(["item"]).select("id", "item"),
    "union all": lambda: orders().select("id", "item").union_all(given("others").select("id", "item")),
    "union all of other types": lambda: (
        orders().select(PIECES.alias("x")).union_all(given("others").select(PRICE.alias("x")))
    ),
    "union all of a filter": lambda: (
        orders().filter("id < 3").select("id").union_all(orders().filter(item=None).select("id"))
    ),
    "explode": lambda: orders().explode("tags", ignore_empty_and_null=True).select("id", "tags"),
    "explode with empty": lambda: orders().explode("tags").select("id", "tags"),
    "rows in tumbling windows": lambda: tens(orders()).select("id", *BOUNDS, "window_time"),
    "rows in hopping windows": lambda: hops().select("id", *BOUNDS),
    "rows in cumulating windows": lambda: cumulated().select("id", *BOUNDS),
    "tumble, all rows": lambda: grouped().agg(n=N, s=PIECES.sum),
    "tumble by item": lambda: (
        grouped("item")
        .agg(n=N, p=PRICE.count, l=PRICE.min, m=PRICE.max)
        .select("item", "window_start", "n", "p", "l", "m")
    ),
    "tumble, averages": lambda: (
        grouped("item").agg(a=PIECES.avg, b=PRICE.avg, c=AMOUNT.avg).select("item", "window_start", "a", "b", "c")
    ),
    "tumble, decimals": lambda: grouped().agg(s=AMOUNT.sum, l=AMOUNT.min, m=AMOUNT.max).drop("window_start"),
    "tumble, distinct": lambda: grouped().agg(n=ITEM.count.distinct, s=PIECES.sum.distinct).drop("window_start"),
    "tumble, texts": lambda: grouped().agg(l=ITEM.min, m=ITEM.max).drop("window_start"),
    "tumble, filtered groups": lambda: grouped("item").agg(n=N).filter("n > 1").select("item", "n"),
    "hop by item": lambda: hops().group_by("item", *BOUNDS).agg(n=N, s=PRICE.sum),
    "cumulate": lambda: cumulated().group_by(*BOUNDS).agg(n=N, s=AMOUNT.sum),
    "cumulate by item": lambda: cumulated().group_by("item", *BOUNDS).agg(m=PIECES.max).drop("window_start"),
    "sessions by item": lambda: (
        orders().session(on="ts", gap=10 * SECOND, partition_by="item").group_by("item", *BOUNDS).agg(n=N)
    ),
    "windows of windows": of_tens,
    "sum over all rows so far": lambda: orders().select("id", s=PIECES.sum.over(partition_by="item", order_by="ts")),
    "count over two rows": lambda: orders().select(
        "id", n=PRICE.count.over(partition_by="item", order_by="ts", rows=1)
    ),
    "max over ten seconds": lambda: orders().select("id", m=PIECES.max.over(order_by="ts", range=10 * SECOND)),
    "join": lambda: orders().select("id", "item").join(others(), on="item").select("id", "other"),
    "interval join": lambda: joined_within_five_seconds("inner"),
    "interval join, left": lambda: joined_within_five_seconds("left"),
    "window join": joined_in_windows,
}


def plain(value: Any) -> Any:
    """Return a value as `ask_pyflink.py` writes it."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def test_each_plan_was_asked() -> None:
    assert PLANS.keys() == FILE["plans"].keys()


@pytest.mark.parametrize("name", PLANS)
def test_rows_are_those_of_flink(name: str) -> None:
    found = [[plain(value) for value in row] for row in PLANS[name]().collect()]
    assert sorted(found, key=json.dumps) == FILE["plans"][name]["rows"]
