"""Expand bid with auction: bids with all that is known of their auction, for auctions of category 10."""

from __future__ import annotations

from headgate.datastream import DataStream
from queries.one_to_many import OneToMany
from streams import Events, auctions_of, bids_of


def query(events: Events) -> DataStream:
    both = events.read("auction", "bid")
    keyed = auctions_of(both).connect(bids_of(both)).key_by(lambda auction: auction.id, lambda bid: bid.auction)
    # All auctions are joined: bids for those of other categories would wait for ever.
    expanded = keyed.process(OneToMany()).filter(lambda pair: pair[0].category == 10)
    return expanded.map(lambda pair: (*pair[1], *pair[0][1:]))
