"""Local item suggestion: who sells in some states, in category 10, and which auctions."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.one_to_many import OneToMany
from streams import Events, auctions_of, persons_of


def query(events: Events) -> DataStream:
    both = events.read("person", "auction")
    persons = persons_of(both).map(lambda person: (person.id, person.name, person.city, person.state))
    auctions = auctions_of(both).filter(lambda auction: auction.category == 10)
    sold = persons.connect(auctions.map(lambda auction: (auction.seller, auction.id)))
    joined = sold.key_by(lambda person: person[0], lambda auction: auction[0]).process(OneToMany())
    local = joined.filter(lambda pair: pair[0][3] in ("OR", "ID", "CA"))
    return local.map(lambda pair: (*pair[0][1:], pair[1][1]))
