"""Zigzags: auctions whose highest price goes up and down twice in a row, with less than 40 milliseconds between."""

from __future__ import annotations

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.pattern import CEP, ConditionContext, IterativeCondition, Match, Pattern, WithinType
from queries.highest import Price, highest
from streams import Events

SOON = Time.milliseconds(40), WithinType.PREVIOUS_AND_CURRENT


class Rises(IterativeCondition):
    """The price is higher than the last one of the match, which is the first or has fallen."""

    def filter(self, value: Price, ctx: ConditionContext) -> bool:
        last = [*ctx.get_events_for_pattern("first"), *ctx.get_events_for_pattern("falls")][-1]
        return bool(value.price > last.price)


class Falls(IterativeCondition):
    """The price is lower than the one that has risen last."""

    def filter(self, value: Price, ctx: ConditionContext) -> bool:
        return bool(value.price < ctx.get_events_for_pattern("rises")[-1].price)


def zigzag(match: Match) -> tuple[int, int, int, int, int]:
    first, last = match["first"][0], match["falls"][-1]
    return first.auction, first.time_ms, last.time_ms, first.price, last.price


def query(events: Events) -> DataStream:
    up_and_down = Pattern.begin("rises").where(Rises()).within(*SOON).next("falls").where(Falls()).within(*SOON)
    twice = Pattern.begin("first").next(up_and_down).times(2).consecutive()
    return CEP.pattern(highest(events).key_by(lambda price: price.auction), twice).select(zigzag)
