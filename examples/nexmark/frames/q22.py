"""Get URL directories: bids with the three folders of their URL."""

from __future__ import annotations

from frames.events import EventFrames
from headgate import dataframe as pf


def query(events: EventFrames) -> pf.DataFrame:
    folders = {f"dir{place - 2}": pf.col("url").split_index("/", place) for place in (3, 4, 5)}
    return events.records("bid").select("auction", "bidder", "price", "channel", **folders)
