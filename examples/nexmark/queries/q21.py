"""Add channel id: bids with the id of their channel, by its name or from the URL, if it has one."""

from __future__ import annotations

import re

from headgate.common import Row
from headgate.datastream import DataStream
from streams import Events

IDS = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
IN_URL = re.compile(r"(?:&|^)channel_id=([^&]*)")


def channel_id(bid: Row) -> str | None:
    found = IDS.get(bid.channel.lower())
    if found is None and (in_url := IN_URL.search(bid.url)) is not None:
        return in_url[1]
    return found


def query(events: Events) -> DataStream:
    bids = events.bids().map(lambda bid: (bid.auction, bid.bidder, bid.price, bid.channel, channel_id(bid)))
    return bids.filter(lambda bid: bid[4] is not None)
