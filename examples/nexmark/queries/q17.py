"""Auction statistics report: how many bids an auction has in a day, by ranks of prices, and what their prices are."""

from __future__ import annotations

from headgate.common import Row
from headgate.datastream import DataStream
from queries.statistics import rank
from queries.times import day
from streams import Events

Found = tuple[int, str, int, int, int, int, int, int, int]


def one(bid: Row) -> Found:
    """Return what is found of one bid: its key, bids in all and by rank, the least and greatest price, the sum."""
    of = rank(bid.price)
    ranks = int(of == 1), int(of == 2), int(of == 3)
    return bid.auction, day(bid.dateTime), 1, *ranks, bid.price, bid.price, bid.price


def both(a: Found, b: Found) -> Found:
    counts = a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]
    return a[0], a[1], *counts, min(a[6], b[6]), max(a[7], b[7]), a[8] + b[8]


def query(events: Events) -> DataStream:
    sums = events.bids().map(one).key_by(lambda found: found[:2]).reduce(both)
    return sums.map(lambda found: (*found[:8], found[8] // found[2], found[8]))
