"""The streams that queries read: events from Parquet files, with event time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.common import Duration, Row, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import FileSource
from headgate.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headgate.table import DataTypes

LONG, TEXT = DataTypes.BIGINT(), DataTypes.STRING()


def _record(**fields: Any) -> Any:
    return DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in fields.items()])


RECORDS = {
    "person": _record(
        id=LONG, name=TEXT, emailAddress=TEXT, creditCard=TEXT, city=TEXT, state=TEXT, dateTime=LONG, extra=TEXT
    ),
    "auction": _record(
        id=LONG,
        itemName=TEXT,
        description=TEXT,
        initialBid=LONG,
        reserve=LONG,
        dateTime=LONG,
        expires=LONG,
        seller=LONG,
        category=LONG,
        extra=TEXT,
    ),
    "bid": _record(auction=LONG, bidder=LONG, price=LONG, channel=TEXT, url=TEXT, dateTime=LONG, extra=TEXT),
}


class EventTime(TimestampAssigner):
    """The time of an event is in the event."""

    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        return int(value.dateTime)


@dataclass(frozen=True)
class Events:
    """The events of a folder: `events.parquet`, and `side_input.csv`, in which one of the queries looks things up.

    `read` gives one stream of several kinds, so that the file is read once; `persons` and the others give one kind.
    """

    env: StreamExecutionEnvironment
    folder: Path

    def read(self, *kinds: str) -> DataStream:
        """Return the events, with columns for the records of these kinds, which are None in events of others."""
        columns = [DataTypes.FIELD("dateTime", LONG), *(DataTypes.FIELD(kind, RECORDS[kind]) for kind in kinds)]
        rows = ParquetColumnarRowInputFormat(DataTypes.ROW(columns))
        source = FileSource.for_bulk_file_format(rows, str(self.folder / "events.parquet")).build()
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
        read = self.env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
        return read.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))

    def persons(self) -> DataStream:
        return persons_of(self.read("person"))

    def auctions(self) -> DataStream:
        return auctions_of(self.read("auction"))

    def bids(self) -> DataStream:
        return bids_of(self.read("bid"))


def persons_of(events: DataStream) -> DataStream:
    """Return the persons among events."""
    return events.filter(lambda event: event.person is not None).map(lambda event: event.person)


def auctions_of(events: DataStream) -> DataStream:
    """Return the auctions among events."""
    return events.filter(lambda event: event.auction is not None).map(lambda event: event.auction)


def bids_of(events: DataStream) -> DataStream:
    """Return the bids among events."""
    return events.filter(lambda event: event.bid is not None).map(lambda event: event.bid)
