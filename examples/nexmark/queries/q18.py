"""Find last bid: the last one of each bidder for each auction."""

from __future__ import annotations

from headgate.common import Row
from headgate.datastream import DataStream
from streams import Events


def later(one: Row, other: Row) -> Row:
    """Return the later bid; of two at one time, that with the higher price, then the greater text."""
    times = [(bid.dateTime, bid.price, bid.extra) for bid in (one, other)]
    return one if times[0] > times[1] else other


def query(events: Events) -> DataStream:
    return events.bids().key_by(lambda bid: (bid.bidder, bid.auction)).reduce(later).map(tuple)
