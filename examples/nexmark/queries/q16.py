"""Channel statistics report: how many bids, bidders and auctions a channel has in a day, and its newest minute."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.statistics import NEWEST, Statistics
from queries.times import day, minute
from streams import Events


def query(events: Events) -> DataStream:
    by_channel = events.bids().key_by(lambda bid: (bid.channel, day(bid.dateTime)))
    statistics = by_channel.process(Statistics())
    return statistics.map(lambda found: (*found[0], minute(found[1][NEWEST]), *found[1][:NEWEST]))
