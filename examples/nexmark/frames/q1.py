"""Currency conversion: all bids with their prices in euros."""

from __future__ import annotations

from frames.events import EventFrames
from headgate import dataframe as pf

EUROS = 0.908  # for a dollar


def query(events: EventFrames) -> pf.DataFrame:
    bids = events.records("bid").with_column("price", EUROS * pf.col("price"))
    return bids.select("auction", "bidder", "price", "dateTime", "extra")
