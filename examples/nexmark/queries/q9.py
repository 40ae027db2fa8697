"""Winning bids: each auction that is over with its highest bid."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.winning import winning
from streams import Events


def query(events: Events) -> DataStream:
    return winning(events).map(
        lambda pair: (*pair[0], pair[1].auction, pair[1].bidder, pair[1].price, pair[1].dateTime, pair[1].extra)
    )
