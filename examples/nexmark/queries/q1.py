"""Currency conversion: all bids with their prices in euros."""

from __future__ import annotations

from headgate.datastream import DataStream
from streams import Events

EUROS = 0.908  # for a dollar


def query(events: Events) -> DataStream:
    return events.bids().map(lambda bid: (bid.auction, bid.bidder, EUROS * bid.price, bid.dateTime, bid.extra))
