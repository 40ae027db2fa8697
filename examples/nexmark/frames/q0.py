"""Pass through: all bids as they are, which shows what reading and writing costs."""

from __future__ import annotations

from frames.events import EventFrames
from headgate import dataframe as pf


def query(events: EventFrames) -> pf.DataFrame:
    return events.records("bid").select("auction", "bidder", "price", "dateTime", "extra")
