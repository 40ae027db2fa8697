"""Average price for a category: of the winning bids of all auctions that are over."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.winning import winning
from streams import Events


def query(events: Events) -> DataStream:
    prices = winning(events).map(lambda pair: (pair[0].category, pair[1].price, 1))
    sums = prices.key_by(lambda price: price[0]).reduce(
        lambda one, other: (one[0], one[1] + other[1], one[2] + other[2])
    )
    return sums.map(lambda found: (found[0], found[1] // found[2]))
