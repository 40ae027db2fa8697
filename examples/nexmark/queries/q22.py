"""Get URL directories: bids with the three folders of their URL."""

from __future__ import annotations

from headgate.datastream import DataStream
from streams import Events


def query(events: Events) -> DataStream:
    return events.bids().map(lambda bid: (bid.auction, bid.bidder, bid.price, bid.channel, *bid.url.split("/")[3:6]))
