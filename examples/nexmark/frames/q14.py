"""Calculation: bids of some prices in euros, with the time of day and the number of letters c in their text."""

from __future__ import annotations

from frames.events import EventFrames
from frames.q1 import EUROS
from headgate import dataframe as pf
from headgate.table.expressions import if_then_else, to_timestamp_ltz
from headgate.table.time_expression import TimeIntervalUnit


def query(events: EventFrames) -> pf.DataFrame:
    bids = events.records("bid").with_column("price", EUROS * pf.col("price"))
    hour = to_timestamp_ltz(pf.col("dateTime"), 3).extract(TimeIntervalUnit.HOUR)
    other = if_then_else((hour <= 6) | (hour >= 20), "nightTime", "otherTime")
    extra = pf.col("extra")
    return bids.filter((pf.col("price") > 1_000_000) & (pf.col("price") < 50_000_000)).select(
        "auction",
        "bidder",
        "price",
        if_then_else((hour >= 8) & (hour <= 18), "dayTime", other).alias("bidTimeType"),
        "dateTime",
        "extra",
        (extra.char_length - extra.replace("c", "").char_length).alias("c_counts"),
    )
