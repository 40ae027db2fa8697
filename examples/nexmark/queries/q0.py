"""Pass through: all bids as they are, which shows what reading and writing costs."""

from __future__ import annotations

from headgate.datastream import DataStream
from streams import Events


def query(events: Events) -> DataStream:
    return events.bids().map(lambda bid: (bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra))
