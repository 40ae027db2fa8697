"""Bounded side input join: all bids with a value that a table has for their auction."""

from __future__ import annotations

import csv
from pathlib import Path

from headgate.common import Row
from headgate.datastream import DataStream, MapFunction, RuntimeContext
from streams import Events

ROWS = 10_000


class LookUp(MapFunction):
    """Adds what the table says of the auction."""

    def __init__(self, table: Path) -> None:
        self.table = table

    def open(self, runtime_context: RuntimeContext) -> None:
        with self.table.open(newline="") as file:
            self.values = {int(key): value for key, value in csv.reader(file)}

    def map(self, value: Row) -> tuple[int, int, int, int, str]:
        found = self.values[value.auction % ROWS]
        return value.auction, value.bidder, value.price, value.dateTime, found


def query(events: Events) -> DataStream:
    return events.bids().map(LookUp(events.folder / "side_input.csv"))
