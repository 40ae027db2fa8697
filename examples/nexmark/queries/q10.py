"""Log to files: all bids, as CSV files in a folder for each minute. `sink` is where they go."""

from __future__ import annotations

from pathlib import Path

from headgate.common import Row
from headgate.datastream import DataStream
from headgate.datastream.connectors.file_system import BucketAssigner, Encoder, FileSink
from queries.times import day, minute
from streams import Events

COLUMNS = ["auction", "bidder", "price", "dateTime", "extra"]
Logged = Row(*COLUMNS, "dt", "hm")


def query(events: Events) -> DataStream:
    return events.bids().map(
        lambda bid: Logged(
            bid.auction, bid.bidder, bid.price, bid.dateTime, bid.extra, day(bid.dateTime), minute(bid.dateTime)
        )
    )


def sink(folder: Path) -> FileSink:
    rows = FileSink.for_row_format(str(folder), Encoder.csv_encoder(COLUMNS))
    return rows.with_bucket_assigner(BucketAssigner.partition_bucket_assigner("dt", "hm")).build()
