"""Auction top ten prices: the ten highest bids for each auction, with their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.common import Row, Types
from headgate.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import ValueStateDescriptor
from queries.winning import rank
from streams import Events

TOP = 10


class TopTen(KeyedProcessFunction):
    """Emits the bids whose places change, with the new ones."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.top = runtime_context.get_state(ValueStateDescriptor("top", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        top = self.top.value() or []
        if len(top) == TOP and value.price < top[-1].price:
            return
        ranked = sorted([*top, value], key=rank, reverse=True)[:TOP]
        self.top.update(ranked)
        for place, bid in enumerate(ranked):
            if place >= len(top) or bid is not top[place]:
                yield *bid, place + 1


def query(events: Events) -> DataStream:
    return events.bids().key_by(lambda bid: bid.auction).process(TopTen())
