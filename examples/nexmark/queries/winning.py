"""The winning bid of each auction: what several queries begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.common import Row, Types
from headgate.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext
from headgate.datastream.state import ListStateDescriptor, ValueStateDescriptor
from streams import Events, auctions_of, bids_of

ANY = Types.PICKLED_BYTE_ARRAY()


class Winning(KeyedCoProcessFunction):
    """Emits an auction and its highest bid when it is over, if there was one. Of equal bids the earlier one wins."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.auction = runtime_context.get_state(ValueStateDescriptor("auction", ANY))
        self.best = runtime_context.get_state(ValueStateDescriptor("best", ANY))
        self.early = runtime_context.get_list_state(ListStateDescriptor("early", ANY))

    def process_element1(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> None:
        self.auction.update(value)
        ctx.timer_service().register_event_time_timer(value.expires)
        for bid in self.early.get():
            self.consider(value, bid)
        self.early.clear()

    def process_element2(self, value: Row, ctx: KeyedCoProcessFunction.Context) -> None:
        auction = self.auction.value()
        if auction is not None:
            self.consider(auction, value)
        elif value.dateTime > ctx.timer_service().current_watermark():  # its auction may be on its way
            self.early.add(value)
            ctx.timer_service().register_event_time_timer((value.dateTime // 1000 + 1) * 1000)

    def consider(self, auction: Row, bid: Row) -> None:
        if auction.dateTime <= bid.dateTime <= auction.expires:
            best = self.best.value()
            if best is None or rank(bid) > rank(best):
                self.best.update(bid)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[tuple[Row, Row]]:
        auction, best = self.auction.value(), self.best.value()
        if auction is not None:
            if timestamp < auction.expires:
                return
            if best is not None:
                yield auction, best
        for state in (self.auction, self.best, self.early):
            state.clear()


def rank(bid: Row) -> tuple[Any, ...]:
    """Return what is greater for the better of two bids; no two have the same."""
    return bid.price, -bid.dateTime, bid.extra


def winning(events: Events) -> DataStream:
    """Return the pairs of an auction and its winning bid, with the end of the auction for timestamp."""
    both = events.read("auction", "bid")
    keyed = auctions_of(both).connect(bids_of(both)).key_by(lambda auction: auction.id, lambda bid: bid.auction)
    return keyed.process(Winning())
