"""Highest bid: the bid, or equal bids, with the highest price in each ten seconds."""

from __future__ import annotations

from datetime import timedelta

from frames.events import EventFrames
from frames.q5 import WINDOW
from headgate import dataframe as pf


def query(events: EventFrames) -> pf.DataFrame:
    bids = events.timed("bid").tumble(on="ts", size=timedelta(seconds=10))
    highest = bids.group_by(*WINDOW).agg(highest=pf.col("price").max)
    winners = bids.join(highest, on=WINDOW).filter(pf.col("price") == pf.col("highest"))
    return winners.select("auction", "bidder", "price", "dateTime", "extra")
