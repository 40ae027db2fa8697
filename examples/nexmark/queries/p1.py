"""Bidding wars: auctions whose highest price rises three times in a row within 50 milliseconds."""

from __future__ import annotations

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.pattern import CEP, ConditionContext, IterativeCondition, Match, Pattern
from queries.highest import Price, highest
from streams import Events


class Rises(IterativeCondition):
    """The price is higher than the last one of the match."""

    def filter(self, value: Price, ctx: ConditionContext) -> bool:
        last = [*ctx.get_events_for_pattern("first"), *ctx.get_events_for_pattern("rises")][-1]
        return bool(value.price > last.price)


def war(match: Match) -> tuple[int, int, int, int, int]:
    first, last = match["first"][0], match["rises"][-1]
    return first.auction, first.time_ms, last.time_ms, first.price, last.price


def query(events: Events) -> DataStream:
    rising = Pattern.begin("first").next("rises").where(Rises()).times(3).consecutive().within(Time.milliseconds(50))
    return CEP.pattern(highest(events).key_by(lambda price: price.auction), rising).select(war)
