"""Average selling price by seller: of the last ten auctions, whenever one is over. Flink SQL cannot run it."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.common import Types
from headgate.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from headgate.datastream.state import ListStateDescriptor
from queries.winning import winning
from streams import Events

LAST = 10
SOLD = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


class LastTen(KeyedProcessFunction):
    """Emits a seller's average price after each auction, in the order in which auctions end, then of their ids."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.ended = runtime_context.get_list_state(ListStateDescriptor("ended", SOLD))
        self.prices = runtime_context.get_list_state(ListStateDescriptor("prices", Types.LONG()))

    def process_element(self, value: tuple[int, int, int, int], ctx: KeyedProcessFunction.Context) -> None:
        self.ended.add(value[1:])
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int]]:
        ended, prices = sorted(self.ended.get()), list(self.prices.get())
        for price in (price for end, _, price in ended if end <= timestamp):
            prices = [*prices, price][-LAST:]
            yield ctx.get_current_key(), sum(prices) // len(prices)
        self.prices.update(prices)
        self.ended.update([auction for auction in ended if auction[0] > timestamp])


def query(events: Events) -> DataStream:
    sold = winning(events).map(lambda pair: (pair[0].seller, pair[0].expires, pair[0].id, pair[1].price))
    return sold.key_by(lambda auction: auction[0]).process(LastTen())
