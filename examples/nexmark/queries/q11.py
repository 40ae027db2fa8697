"""User sessions: how many bids a person makes until ten seconds pass without one."""

from __future__ import annotations

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.datastream.window import EventTimeSessionWindows
from queries.counting import Count, WithWindow
from streams import Events


def query(events: Events) -> DataStream:
    by_bidder = events.bids().map(lambda bid: bid.bidder).key_by(lambda bidder: bidder)
    return by_bidder.window(EventTimeSessionWindows.with_gap(Time.seconds(10))).aggregate(Count(), WithWindow())
