"""The source of numbered batches, which slots read as Parquet files that are added while the job runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, final

from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.parquet_source import RowGroupSplit
from headgate.connectors.files.places import name_of
from headgate.connectors.micro_batches import splits
from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.connectors.micro_batches.splits import BatchSplit, EmptyBatch, id_of
from headgate.errors import EnvironmentFault
from headgate.functions.acknowledging import Acknowledger
from headgate.functions.source import NoMoreSplits, Poll, Records, Source, SourceContext, SourceReader


@final
class MicroBatchSource(Source[BatchSplit]):
    """Reads the rows of a feed's batches. A batch is acknowledged when a checkpoint covers it."""

    one_split_at_a_time = True
    discovery_interval_ms = 1
    """No pause between discoveries: a discovery itself waits for batches."""

    def __init__(
        self, feed: BatchFeed, format: BulkFormat[RowGroupSplit], *, bounded: bool, free_cores: int = 0
    ) -> None:
        """`format` is the files' format; `free_cores` is the number of cores that the query needs besides the slots."""
        self._format = format
        self.free_cores = free_cores
        self.folder = feed.folder
        self.bounded = self.discovery_ends = bounded
        self._feed: BatchFeed | None = feed

    def splits(self, parallelism: int) -> list[BatchSplit]:
        return []

    def discover(self, known: frozenset[str]) -> list[BatchSplit] | NoMoreSplits:
        if self._feed is None:
            raise EnvironmentFault("batches can only be taken by the driver that made the source")
        return self._feed.discover(known)

    def split_id(self, split: BatchSplit) -> str:
        return id_of(split)

    def to_remember(self, known: Iterable[str]) -> list[str]:
        return splits.newest(known)

    def acknowledger(self) -> Acknowledger[BatchSplit] | None:
        return self._feed

    def reader(self, context: SourceContext) -> SourceReader[BatchSplit]:
        return MicroBatchReader(self._format.reader(context))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the feed out: slots need only splits."""
        return {**self.__dict__, "_feed": None}


@final
class MicroBatchReader(SourceReader[BatchSplit]):
    """Reads row groups; batches without rows have none."""

    def __init__(self, rows: SourceReader[RowGroupSplit]) -> None:
        self._rows = rows
        self._names: dict[str, str] = {}
        """The ids of the splits to read, by the ids of their row groups."""

    def add_splits(self, splits: list[BatchSplit]) -> None:
        row_groups = [split for split in splits if not isinstance(split, EmptyBatch)]
        self._names.update((name_of(split), id_of(split)) for split in row_groups)
        self._rows.add_splits(row_groups)

    def poll(self, records_max: int) -> Poll:
        polled = self._rows.poll(records_max)
        if not isinstance(polled, Records) or polled.split is None:
            return polled
        name = self._names.pop(polled.split) if polled.ended else self._names[polled.split]
        return replace(polled, split=name)

    def snapshot(self) -> list[BatchSplit]:
        return [*self._rows.snapshot()]

    def close(self) -> None:
        self._rows.close()
