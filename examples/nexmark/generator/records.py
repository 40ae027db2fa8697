"""Persons, auctions and bids: what is in their columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from generator import ids
from generator.draws import Draws, Longs
from generator.texts import extra, joined, lengths_of, words

Times = Callable[[Longs], Longs]

SIZE_PERSON, SIZE_AUCTION, SIZE_BID = 200, 500, 100  # bytes, on average

STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
]
FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]

HOT_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
CHANNELS = 10_000  # others
CHANNELS_SEED = 2**40  # apart from those of events


def persons(draws: Draws, numbers: Longs, times: Times) -> pa.StructArray:
    """Return the persons of these events."""
    name = joined(_text(draws.choices(FIRST_NAMES)), " ", _text(draws.choices(LAST_NAMES)))
    email = joined(words(draws, 7), "@", words(draws, 5), ".com")
    digits = [pa.array([f"{four:04}" for four in draws.below(10_000).tolist()], pa.string()) for _ in range(4)]
    card = joined(digits[0], " ", digits[1], " ", digits[2], " ", digits[3])
    city, state = _text(draws.choices(CITIES)), _text(draws.choices(STATES))
    sizes = 8 + lengths_of(name, email, card, city, state)
    return _records(
        id=ids.FIRST_PERSON + ids.last_person(numbers),
        name=name,
        emailAddress=email,
        creditCard=card,
        city=city,
        state=state,
        dateTime=times(numbers),
        extra=extra(draws, sizes, SIZE_PERSON),
    )


def auctions(draws: Draws, numbers: Longs, times: Times) -> pa.StructArray:
    """Return the auctions of these events. On average they last until as many others have begun as are in flight."""
    initial, start = prices(draws), times(numbers)
    horizon = times(numbers + ids.IN_FLIGHT * ids.TOTAL // ids.AUCTIONS) - start
    name, description = words(draws, 20), words(draws, 100)
    return _records(
        id=ids.FIRST_AUCTION + ids.last_auction(numbers),
        itemName=name,
        description=description,
        initialBid=initial,
        reserve=initial + prices(draws),
        dateTime=start,
        expires=start + 1 + draws.below(np.maximum(2 * horizon, 1)),
        seller=ids.sellers(draws, numbers),
        category=ids.FIRST_CATEGORY + draws.below(ids.CATEGORIES),
        extra=extra(draws, 48 + lengths_of(name, description), SIZE_AUCTION),
    )


def bids(draws: Draws, numbers: Longs, times: Times) -> pa.StructArray:
    """Return the bids of these events, half of them by one of four channels."""
    channels, urls = _channels()
    hot, other = draws.below(len(HOT_CHANNELS)), len(HOT_CHANNELS) + draws.below(CHANNELS)
    channel = pa.array(np.where(draws.below(2) > 0, hot, other))
    return _records(
        auction=ids.auctions_bid_for(draws, numbers),
        bidder=ids.bidders(draws, numbers),
        price=prices(draws),
        channel=channels.take(channel),
        url=urls.take(channel),
        dateTime=times(numbers),
        extra=extra(draws, np.full(len(numbers), 32), SIZE_BID),
    )


def prices(draws: Draws) -> Longs:
    """Return prices from 100 to 100 million; their logarithms are spread evenly."""
    return np.rint(10.0 ** (draws.fractions() * 6.0) * 100.0).astype(np.int64)


@lru_cache
def _channels() -> tuple[pa.StringArray, pa.StringArray]:
    """Return the names of all channels and their URLs, the hot ones first. Nine of ten others have an id in the URL."""
    numbers = np.arange(CHANNELS, dtype=np.int64)
    draws = Draws(CHANNELS_SEED, np.arange(len(HOT_CHANNELS) + CHANNELS, dtype=np.int64))
    folders = [words(draws, 5, b"_") for _ in range(3)]
    has_id = draws.below(10)[len(HOT_CHANNELS) :] > 0
    named = [f"&channel_id={_reversed(n)}" if has else "" for n, has in zip(numbers.tolist(), has_id, strict=True)]
    suffixes = pa.array([""] * len(HOT_CHANNELS) + named)
    address = joined("https://www.nexmark.com/", folders[0], "/", folders[1], "/", folders[2], "/item.htm?query=1")
    return pa.array(HOT_CHANNELS + [f"channel-{n}" for n in numbers]), joined(address, suffixes)


def _reversed(number: int) -> int:
    """Return a number of 32 bits with its bits in the other order, without its sign."""
    found = int(f"{number:032b}"[::-1], 2)
    return found if found < 2**31 else 2**32 - found


def _text(values: npt.NDArray[Any]) -> pa.StringArray:
    return pa.array(values.tolist(), pa.string())


def _records(**columns: Longs | pa.StringArray) -> pa.StructArray:
    arrays = [column if isinstance(column, pa.Array) else pa.array(column, pa.int64()) for column in columns.values()]
    return pa.StructArray.from_arrays(arrays, names=list(columns))
