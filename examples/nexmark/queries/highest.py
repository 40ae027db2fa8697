"""The highest price of each auction in each ten milliseconds: a series of prices, in which patterns are looked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headgate.common import Time
from headgate.datastream import DataStream, ProcessWindowFunction
from headgate.datastream.window import TimeWindow, TumblingEventTimeWindows
from streams import Events


class Price(NamedTuple):
    """The highest price of an auction, and the start of the ten milliseconds."""

    auction: int
    price: int
    time_ms: int


class WithTime(ProcessWindowFunction[tuple[int, int], Price, int, TimeWindow]):
    """Adds the start of the window to auction and price."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple[int, int]]
    ) -> Iterator[Price]:
        for auction, price in elements:
            yield Price(auction, price, context.window().start)


def highest(events: Events) -> DataStream:
    """Return the prices of each auction; it has one at most at any time."""
    bids = events.bids().map(lambda bid: (bid.auction, bid.price)).key_by(lambda bid: bid[0])
    return bids.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).reduce(max, WithTime())
