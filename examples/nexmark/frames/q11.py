"""User sessions: how many bids a person makes until ten seconds pass without one."""

from __future__ import annotations

from datetime import timedelta

from frames.events import EventFrames
from headgate import dataframe as pf


def query(events: EventFrames) -> pf.DataFrame:
    sessions = events.timed("bid").session(on="ts", gap=timedelta(seconds=10), partition_by="bidder")
    counts = sessions.group_by("bidder", "window_start", "window_end").agg(bid_count=pf.lit(1).count)
    return counts.select("bidder", "bid_count", "window_start", "window_end")
