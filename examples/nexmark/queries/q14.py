"""Calculation: bids of some prices in euros, with the time of day and the number of letters c in their text."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.q1 import EUROS
from queries.times import DAY, MINUTE
from streams import Events


def time_of_day(time_ms: int) -> str:
    hour = time_ms % DAY // (60 * MINUTE)
    if 8 <= hour <= 18:
        return "dayTime"
    return "nightTime" if hour <= 6 or hour >= 20 else "otherTime"


def query(events: Events) -> DataStream:
    bids = events.bids().filter(lambda bid: 1_000_000 < EUROS * bid.price < 50_000_000)
    return bids.map(
        lambda bid: (
            bid.auction,
            bid.bidder,
            EUROS * bid.price,
            time_of_day(bid.dateTime),
            bid.dateTime,
            bid.extra,
            bid.extra.count("c"),
        )
    )
