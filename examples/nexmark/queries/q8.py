"""Monitor new users: persons who came and offered an auction in the same ten seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headgate.common import Time
from headgate.datastream import DataStream, ProcessWindowFunction
from headgate.datastream.window import TimeWindow, TumblingEventTimeWindows
from streams import Events, auctions_of, persons_of

Came = tuple[int, str | None]  # a person with a name, or the seller of an auction without


class NewSellers(ProcessWindowFunction[Came, tuple[int, str, int], int, TimeWindow]):
    """Emits a person that came in the window, if an auction came as well."""

    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Came]
    ) -> Iterator[tuple[int, str, int]]:
        came = {name for _, name in elements}
        if None in came:
            yield from ((key, name, context.window().start) for name in came if name is not None)


def query(events: Events) -> DataStream:
    both = events.read("person", "auction")
    persons = persons_of(both).map(lambda person: (person.id, person.name))
    sellers = auctions_of(both).map(lambda auction: (auction.seller, None))
    keyed = persons.union(sellers).key_by(lambda came: came[0])
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).process(NewSellers())
