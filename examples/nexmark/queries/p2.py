"""Slow starters: auctions for which no bid comes in the first tenth of a second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.pattern import CEP, ConditionContext, IterativeCondition, Match, Pattern, PatternProcessFunction
from streams import Events, auctions_of, bids_of


class Happened(NamedTuple):
    """An auction with its seller, or a bid for it, which has none."""

    auction: int
    seller: int | None
    time_ms: int


class LaterBid(IterativeCondition):
    """A bid of a later millisecond than the auction."""

    def filter(self, value: Happened, ctx: ConditionContext) -> bool:
        return value.seller is None and value.time_ms > ctx.get_events_for_pattern("offer")[0].time_ms


class Unsold(PatternProcessFunction):
    """Emits auction, seller, and the time until which nobody has bid."""

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterator[tuple[int, int, int]]:
        offer = match["offer"][0]
        yield offer.auction, offer.seller, ctx.timestamp()


def query(events: Events) -> DataStream:
    both = events.read("auction", "bid")
    offers = auctions_of(both).map(lambda auction: Happened(auction.id, auction.seller, auction.dateTime))
    bids = bids_of(both).map(lambda bid: Happened(bid.auction, None, bid.dateTime))
    no_bid = (
        Pattern.begin("offer")
        .where(lambda happened: happened.seller is not None)
        .not_followed_by("bid")
        .where(LaterBid())
        .within(Time.milliseconds(100))
    )
    return CEP.pattern(offers.union(bids).key_by(lambda happened: happened.auction), no_bid).process(Unsold())
