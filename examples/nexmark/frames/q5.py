"""Hot items: the auctions with most bids in the last ten seconds, every two seconds."""

from __future__ import annotations

from datetime import timedelta

from frames.events import EventFrames
from headgate import dataframe as pf

WINDOW = ["window_start", "window_end"]


def query(events: EventFrames) -> pf.DataFrame:
    sliding = events.timed("bid").hop(on="ts", slide=timedelta(seconds=2), size=timedelta(seconds=10))
    counts = sliding.group_by(*WINDOW, "window_time", "auction").agg(num=pf.lit(1).count)
    most = counts.group_by(*WINDOW).agg(most=pf.col("num").max)
    return counts.join(most, on=WINDOW).filter(pf.col("num") == pf.col("most")).select("auction", "num")
