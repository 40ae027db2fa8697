"""A source that goes on at another parallelism makes nothing late that is in time in a job that was never stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Types
from headgate.connectors.collection import CollectionSource
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.spark_parquet import SparkParquetFormat
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.hybrid import HybridSource
from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.connectors.micro_batches.source import MicroBatchSource
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.functions.source import Source
from tests.scenarios.event_time import EventTimeJobs, results
from tests.scenarios.rescaled import Change, Way, of_each, on_every_change
from tests.scenarios.test_micro_batches import SIZE, NumberQuery, Numbers

pytestmark = pytest.mark.slow

SPAN_MS: Final = 10_000
FILES: Final = [[number * SPAN_MS + step * 191 for step in range(15 if number % 2 else 45)] for number in range(20)]
"""Event times by file: 20 files in time order, of which every other one is read three times as fast."""

EVENTS: Final = [time_ms for times in FILES for time_ms in times]
ROW: Final = Types.ROW_NAMED(["time"], [Types.LONG()])


def write_lines(path: Path, times: list[int]) -> None:
    path.write_text("".join(f"{time_ms}\n" for time_ms in times))


def write_json(path: Path, times: list[int]) -> None:
    path.write_text("".join(json.dumps({"time": time_ms}) + "\n" for time_ms in times))


def write_parquet(path: Path, times: list[int]) -> None:
    pq.write_table(pa.table({"time": times}), path)


@dataclass(frozen=True)
class Kind:
    """A kind of files."""

    write: Callable[[Path, list[int]], None]
    format: Any
    time_of: Callable[[Any], int]

    def source(self, folder: Path) -> Source[Any]:
        folder.mkdir(exist_ok=True)
        for number, times in enumerate(FILES):
            self.write(folder / f"{number:02}", times)
        if isinstance(self.format, StreamFormat):
            return FileSource.for_record_stream_format(self.format, str(folder)).build()
        return FileSource.for_bulk_file_format(self.format, str(folder)).build()


KINDS: Final = {
    "lines": Kind(write_lines, StreamFormat.text_line_format(), int),
    "csv": Kind(write_lines, StreamFormat.csv_format(CsvOptions(types=ROW, header=False)), lambda row: int(row.time)),
    "json": Kind(write_json, StreamFormat.json_lines_format(ROW), lambda row: int(row.time)),
    "parquet": Kind(write_parquet, BulkFormat.parquet_format(), lambda row: int(row.time)),
    "parquet of Spark": Kind(write_parquet, SparkParquetFormat(ROW), lambda row: int(row.time)),
}


@pytest.mark.parametrize(("kind", "change"), of_each(KINDS))
def test_files_in_time_order(kind: str, change: Change, tmp_path: Path) -> None:
    source = KINDS[kind].source(tmp_path / "in")
    assert EventTimeJobs(tmp_path, lambda: source, len(EVENTS), KINDS[kind].time_of).run(change) == results(EVENTS)


@pytest.mark.parametrize("way", [Way.RUNNING, Way.STOPPED])
@pytest.mark.parametrize("chain", [(3, 1, 2), (1, 3, 2), (2, 3, 1)], ids=str)
def test_files_in_time_order_through_several_parallelisms(chain: tuple[int, ...], way: Way, tmp_path: Path) -> None:
    source = KINDS["lines"].source(tmp_path / "in")
    jobs = EventTimeJobs(tmp_path, lambda: source, len(EVENTS) // len(chain))
    assert jobs.run_through(way, *chain) == results(EVENTS)


COUNT: Final = 600
STEP_MS: Final = 197
IN_ORDER: Final = [index * STEP_MS for index in range(COUNT)]
MADE: Final[dict[str, Source[Any]]] = {
    "a collection": CollectionSource(range(COUNT)),
    "numbers": NumberSequenceSource(0, COUNT - 1),
    "numbers at a rate": RateLimitedSource(NumberSequenceSource(0, COUNT - 1), 100_000.0),
    "generated": DataGeneratorSource(lambda index: index, COUNT),
    "generated at a rate": DataGeneratorSource(lambda index: index, COUNT, 100_000.0),
    "in stages, the first": HybridSource([NumberSequenceSource(0, 499), NumberSequenceSource(500, COUNT - 1)]),
    "in stages, the last": HybridSource([NumberSequenceSource(0, 74), NumberSequenceSource(75, COUNT - 1)]),
}
"""Sources of the numbers from 0; those that read in stages halt in the first one, or the last."""


@pytest.mark.parametrize(("kind", "change"), of_each(MADE))
def test_numbers_that_are_times(kind: str, change: Change, tmp_path: Path) -> None:
    jobs = EventTimeJobs(tmp_path, lambda: MADE[kind], COUNT, lambda number: int(number) * STEP_MS)
    assert jobs.run(change) == results(IN_ORDER)


@on_every_change
def test_ranges_that_begin_at_the_same_time(change: Change, tmp_path: Path) -> None:
    """A reader that goes on with several ranges is at the same event time in each."""
    _, before, _ = change
    numbers = NumberSequenceSource(0, COUNT - 1)
    jobs = EventTimeJobs(tmp_path, lambda: numbers, COUNT, lambda number: number % (COUNT // before) * STEP_MS)
    assert jobs.run(change) == results(IN_ORDER[: COUNT // before] * before)


@on_every_change
def test_micro_batches(change: Change, tmp_path: Path) -> None:
    """The rows of a batch are in time order, six row groups of ten; batch 2 is empty."""
    numbers = Numbers(available=4)

    def source() -> Source[Any]:
        feed = BatchFeed(NumberQuery(numbers, ends=True), str(tmp_path / "batches"), ends=True)
        return MicroBatchSource(feed, BulkFormat.parquet_format(), bounded=True)

    jobs = EventTimeJobs(tmp_path, source, SIZE, lambda row: int(row.n) * 1_000)
    assert jobs.run(change) == results(int(each) * 1_000 for each in numbers.expected())
