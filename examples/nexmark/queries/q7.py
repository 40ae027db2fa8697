"""Highest bid: the bid, or equal bids, with the highest price in each ten seconds."""

from __future__ import annotations

from headgate.common import Row, Time
from headgate.datastream import AggregateFunction, DataStream
from headgate.datastream.window import TumblingEventTimeWindows
from streams import Events


class Highest(AggregateFunction):
    """The bids with the highest price."""

    def create_accumulator(self) -> list[Row]:
        return []

    def add(self, value: Row, accumulator: list[Row]) -> list[Row]:
        if not accumulator or value.price > accumulator[0].price:
            return [value]
        return [*accumulator, value] if value.price == accumulator[0].price else accumulator

    def get_result(self, accumulator: list[Row]) -> list[Row]:
        return accumulator

    def merge(self, acc_a: list[Row], acc_b: list[Row]) -> list[Row]:
        raise NotImplementedError("tumbling windows do not merge")


def query(events: Events) -> DataStream:
    highest = events.bids().window_all(TumblingEventTimeWindows.of(Time.seconds(10))).aggregate(Highest())
    bids = highest.flat_map(lambda bids: bids)
    return bids.map(lambda bid: (bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra))
