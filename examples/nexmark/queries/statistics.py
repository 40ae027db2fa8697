"""Numbers of bids, bidders and auctions, in all and by three ranks of prices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.common import Row, Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import MapStateDescriptor, ValueStateDescriptor

BIDS, BIDDERS, AUCTIONS = 0, 4, 8  # where the four numbers of each begin
NEWEST = 12  # where the time of the newest bid is


def rank(price: int) -> int:
    """Return the rank of a price: 1 to 3."""
    return 1 if price < 10_000 else 2 if price < 1_000_000 else 3


class Statistics(KeyedProcessFunction):
    """Emits the key with its twelve numbers, and the time of its newest bid, whenever a bid comes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.numbers = runtime_context.get_state(ValueStateDescriptor("numbers", Types.LIST(Types.LONG())))
        place = Types.TUPLE([Types.INT(), Types.LONG()])
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", place, Types.BOOLEAN()))

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        numbers = list(self.numbers.value() or [0] * 13)
        rank_of_price = rank(value.price)
        for of_rank in (0, rank_of_price):
            numbers[BIDS + of_rank] += 1
            for first, one in ((BIDDERS, value.bidder), (AUCTIONS, value.auction)):
                if not self.seen.contains((first + of_rank, one)):
                    self.seen.put((first + of_rank, one), True)
                    numbers[first + of_rank] += 1
        numbers[NEWEST] = max(numbers[NEWEST], value.dateTime)
        self.numbers.update(numbers)
        yield ctx.get_current_key(), numbers
