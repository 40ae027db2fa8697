"""Which events there are, in which order and when, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from generator.draws import Draws, Longs
from generator.ids import AUCTIONS, PERSONS, TOTAL
from generator.records import auctions, bids, persons

PERSON, AUCTION, BID = 0, 1, 2


@dataclass(frozen=True)
class Settings:
    """What the events follow from: a seed, how many there are in a second of event time, and when the first one is."""

    seed: int = 1
    events_per_second: int = 10_000
    start_ms: int = 1_436_918_400_000  # 2015-07-15, 00:00 UTC

    def times(self, numbers: Longs) -> Longs:
        """Return the times of events, in milliseconds since 1970."""
        return self.start_ms + (numbers * (1_000_000.0 / self.events_per_second)).astype(np.int64) // 1000


def events(first: int, count: int, settings: Settings) -> pa.Table:
    """Return so many events from number `first` on, in their order: type, time, and one of three records."""
    numbers = np.arange(first, first + count, dtype=np.int64)
    places = numbers % TOTAL
    types = np.where(places < PERSONS, PERSON, np.where(places < PERSONS + AUCTIONS, AUCTION, BID))
    columns = {"event_type": pa.array(types, pa.int32()), "dateTime": pa.array(settings.times(numbers), pa.int64())}
    for kind, name, make in ((PERSON, "person", persons), (AUCTION, "auction", auctions), (BID, "bid", bids)):
        mine = types == kind
        records = make(Draws(settings.seed, numbers[mine]), numbers[mine], settings.times)
        columns[name] = _spread(records, mine)
    return pa.table(columns)


def write(path: Path, count: int, settings: Settings, row_group: int = 50_000) -> None:
    """Write the first `count` events to a Parquet file, in their order, with so many in each of its row groups."""
    part = path.with_suffix(".part")
    with pq.ParquetWriter(part, events(0, 0, settings).schema) as file:
        for first in range(0, count, row_group):
            file.write_table(events(first, min(row_group, count - first), settings))
    part.rename(path)


def _spread(records: pa.StructArray, mine: npt.NDArray[np.bool_]) -> pa.StructArray:
    """Return the records at the places that are theirs, with null at the others."""
    return records.take(pa.array(np.cumsum(mine) - 1, mask=~mine))
