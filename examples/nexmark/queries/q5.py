"""Hot items: the auctions with most bids in the last ten seconds, every two seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headgate.common import Time
from headgate.datastream import DataStream
from headgate.datastream.functions import ProcessAllWindowFunction
from headgate.datastream.window import SlidingEventTimeWindows, TimeWindow, TumblingEventTimeWindows
from queries.counting import Count, WithWindow
from streams import Events

Counted = tuple[int, int, int, int]


class Hottest(ProcessAllWindowFunction[Counted, tuple[int, int], TimeWindow]):
    """Emits the auctions with most bids."""

    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Counted]
    ) -> Iterator[tuple[int, int]]:
        counted = list(elements)
        most = max(found[1] for found in counted)
        yield from (found[:2] for found in counted if found[1] == most)


def query(events: Events) -> DataStream:
    by_auction = events.bids().map(lambda bid: bid.auction).key_by(lambda auction: auction)
    sliding = by_auction.window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(2)))
    counts = sliding.aggregate(Count(), WithWindow())  # each at the last millisecond of its window
    return counts.window_all(TumblingEventTimeWindows.of(Time.seconds(2))).process(Hottest())
