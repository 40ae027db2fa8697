"""Selection: the prices of bids for some auctions."""

from __future__ import annotations

from frames.events import EventFrames
from headgate import dataframe as pf


def query(events: EventFrames) -> pf.DataFrame:
    return events.records("bid").filter(pf.col("auction") % 123 == 0).select("auction", "price")
