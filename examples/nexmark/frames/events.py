"""The DataFrames that queries read: the persons, auctions and bids of a Parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from headgate import dataframe as pf
from headgate.dataframe import DataType
from headgate.table.expressions import to_timestamp_ltz

LONG, TEXT = DataType.int64(), DataType.string()
RECORDS = {
    "person": {
        "id": LONG,
        "name": TEXT,
        "emailAddress": TEXT,
        "creditCard": TEXT,
        "city": TEXT,
        "state": TEXT,
        "dateTime": LONG,
        "extra": TEXT,
    },
    "auction": {
        "id": LONG,
        "itemName": TEXT,
        "description": TEXT,
        "initialBid": LONG,
        "reserve": LONG,
        "dateTime": LONG,
        "expires": LONG,
        "seller": LONG,
        "category": LONG,
        "extra": TEXT,
    },
    "bid": {
        "auction": LONG,
        "bidder": LONG,
        "price": LONG,
        "channel": TEXT,
        "url": TEXT,
        "dateTime": LONG,
        "extra": TEXT,
    },
}
LATE = timedelta(seconds=4)


@dataclass(frozen=True)
class EventFrames:
    """The events of a folder: `events.parquet`."""

    folder: Path

    def read(self, *kinds: str) -> pf.DataFrame:
        """Return the events, with columns for the records of these kinds, NULL in events of others."""
        schema = {kind: DataType.struct(RECORDS[kind]) for kind in kinds}
        return pf.read_parquet(str(self.folder / "events.parquet"), schema={"dateTime": LONG, **schema})

    def records(self, kind: str) -> pf.DataFrame:
        """Return the records of a kind, a column for each field."""
        fields = {name: pf.col(kind).get(name) for name in RECORDS[kind]}
        return self.read(kind).filter(pf.col(kind).is_not_null).select(**fields)

    def timed(self, kind: str) -> pf.DataFrame:
        """Return the records of a kind, with their event time as the column `ts`."""
        return self.records(kind).with_column("ts", to_timestamp_ltz(pf.col("dateTime"), 3)).with_watermark("ts", LATE)
