"""Monitor new users: persons who came and offered an auction in the same ten seconds."""

from __future__ import annotations

from datetime import timedelta

from frames.events import EventFrames
from frames.q5 import WINDOW
from headgate import dataframe as pf

TEN_SECONDS = timedelta(seconds=10)


def query(events: EventFrames) -> pf.DataFrame:
    persons = events.timed("person").tumble(on="ts", size=TEN_SECONDS).select("id", "name", *WINDOW)
    auctions = events.timed("auction").tumble(on="ts", size=TEN_SECONDS)
    sellers = auctions.group_by(*WINDOW, "seller").agg(auctions=pf.lit(1).count).rename("seller", "id")
    return persons.join(sellers, on=["id", *WINDOW]).select("id", "name", "window_start")
