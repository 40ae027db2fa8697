"""Selection: the prices of bids for some auctions."""

from __future__ import annotations

from headgate.datastream import DataStream
from streams import Events


def query(events: Events) -> DataStream:
    return events.bids().filter(lambda bid: bid.auction % 123 == 0).map(lambda bid: (bid.auction, bid.price))
