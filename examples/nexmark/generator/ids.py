"""Ids: which persons and auctions there are when an event is made, and which of them it is about."""

from __future__ import annotations

import numpy as np

from generator.draws import Draws, Longs

PERSONS, AUCTIONS, BIDS = 1, 3, 46  # of each fifty events
TOTAL = PERSONS + AUCTIONS + BIDS

FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY = 1000, 1000, 10
CATEGORIES = 5

IN_FLIGHT = 100  # auctions that bids are for, hot ones aside
ACTIVE = 1000  # persons that sell and bid, hot ones aside
AHEAD = 10  # ids that are used although their persons and auctions are still to come

HOT_SELLERS, HOT_AUCTIONS, HOT_BIDDERS = 4, 2, 4  # one of so many is not for a hot one
HOT_BATCH = 100  # of so many persons or auctions, one is hot


def last_person(numbers: Longs) -> Longs:
    """Return the newest person, counted from 0, at the time of each event."""
    return numbers // TOTAL * PERSONS + np.minimum(numbers % TOTAL, PERSONS - 1)


def last_auction(numbers: Longs) -> Longs:
    """Return the newest auction, counted from 0, at the time of each event; -1 where there is none."""
    return numbers // TOTAL * AUCTIONS + np.clip(numbers % TOTAL - PERSONS, -1, AUCTIONS - 1)


def some_person(draws: Draws, numbers: Longs) -> Longs:
    """Return one of the active persons, or of the next few, for each event."""
    count = last_person(numbers) + 1
    active = np.minimum(count, ACTIVE)
    return count - active + draws.below(active + AHEAD)


def some_auction(draws: Draws, numbers: Longs) -> Longs:
    """Return one of the auctions in flight, or of the next few, for each event."""
    last = last_auction(numbers)
    first = np.maximum(last - IN_FLIGHT, 0)
    return first + draws.below(last - first + 1 + AHEAD)


def sellers(draws: Draws, numbers: Longs) -> Longs:
    """Return the id of the seller of each auction."""
    hot = last_person(numbers) // HOT_BATCH * HOT_BATCH
    return FIRST_PERSON + np.where(draws.below(HOT_SELLERS) > 0, hot, some_person(draws, numbers))


def bidders(draws: Draws, numbers: Longs) -> Longs:
    """Return the id of the person of each bid. The hot bidder is the one behind the hot seller."""
    hot = last_person(numbers) // HOT_BATCH * HOT_BATCH + 1
    return FIRST_PERSON + np.where(draws.below(HOT_BIDDERS) > 0, hot, some_person(draws, numbers))


def auctions_bid_for(draws: Draws, numbers: Longs) -> Longs:
    """Return the id of the auction of each bid."""
    hot = last_auction(numbers) // HOT_BATCH * HOT_BATCH
    return FIRST_AUCTION + np.where(draws.below(HOT_AUCTIONS) > 0, hot, some_auction(draws, numbers))
