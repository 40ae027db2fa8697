"""Bidding statistics report: how many bids, bidders and auctions a day has, in all and by ranks of prices."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.statistics import NEWEST, Statistics
from queries.times import day
from streams import Events


def query(events: Events) -> DataStream:
    statistics = events.bids().key_by(lambda bid: day(bid.dateTime)).process(Statistics())
    return statistics.map(lambda found: (found[0], *found[1][:NEWEST]))
