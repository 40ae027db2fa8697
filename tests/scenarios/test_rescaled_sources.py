"""A source that goes on at another parallelism makes nothing late that is in time in a job that was never stopped."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.bulk_format import BulkFormat
from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.spark_parquet import SparkParquetFormat
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.micro_batches.feed import BatchFeed
from headgate.connectors.micro_batches.source import MicroBatchSource
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.functions.source import Source
from tests.scenarios.event_time import EventTimeJobs, results
from tests.scenarios.test_micro_batches import NumberQuery, Numbers

pytestmark = pytest.mark.slow

PAIRS: Final = list(itertools.product((1, 2, 3), repeat=2))
CHANGES: Final = [pair for pair in PAIRS if len(set(pair)) > 1]
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


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_files_in_time_order(kind: str, pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = pair
    source = KINDS[kind].source(tmp_path / "in")
    jobs = EventTimeJobs(tmp_path, monkeypatch, KINDS[kind].time_of)
    jobs.run_half_way(source, before, len(EVENTS))
    assert jobs.run_to_the_end(source, after) == results(EVENTS)


@pytest.mark.parametrize("pair", CHANGES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_files_in_time_order_of_a_job_that_runs_on(
    kind: str, pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = EventTimeJobs(tmp_path, monkeypatch, KINDS[kind].time_of)
    assert jobs.run_rescaled(KINDS[kind].source(tmp_path / "in"), *pair, len(EVENTS)) == results(EVENTS)


@pytest.mark.parametrize("pair", CHANGES, ids=str)
@pytest.mark.parametrize("kind", ["generated", "numbers", "at a rate"])
def test_records_that_are_made_of_a_job_that_runs_on(
    kind: str, pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers: Source[Any] = NumberSequenceSource(0, COUNT - 1)
    if kind == "generated":
        numbers = DataGeneratorSource(lambda index: index, COUNT)
    elif kind == "at a rate":
        numbers = RateLimitedSource(numbers, 100_000.0)
    jobs = EventTimeJobs(tmp_path, monkeypatch, lambda number: int(number) * STEP_MS)
    assert jobs.run_rescaled(numbers, *pair, COUNT) == results(IN_ORDER)


@pytest.mark.parametrize("chain", [(3, 1, 2), (1, 3, 2), (2, 3, 1)], ids=str)
def test_files_in_time_order_through_several_stops(
    chain: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = KINDS["lines"].source(tmp_path / "in")
    jobs = EventTimeJobs(tmp_path, monkeypatch, int)
    for parallelism in chain[:-1]:
        jobs.run_half_way(source, parallelism, len(EVENTS) // len(chain))
    assert jobs.run_to_the_end(source, chain[-1]) == results(EVENTS)


COUNT: Final = 600
STEP_MS: Final = 197
IN_ORDER: Final = [index * STEP_MS for index in range(COUNT)]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("rate", [None, 100_000.0], ids=["as fast as it can", "at a rate"])
def test_generated_records(
    pair: tuple[int, int], rate: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = pair
    source = DataGeneratorSource(lambda index: index * STEP_MS, COUNT, rate)
    jobs = EventTimeJobs(tmp_path, monkeypatch, int)
    jobs.run_half_way(source, before, COUNT)
    assert jobs.run_to_the_end(source, after) == results(IN_ORDER)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("limited", [False, True], ids=["plain", "at a rate"])
def test_numbers_that_are_times(
    pair: tuple[int, int], limited: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = pair
    source: Source[Any] = NumberSequenceSource(0, COUNT - 1)
    source = RateLimitedSource(source, 100_000.0) if limited else source
    jobs = EventTimeJobs(tmp_path, monkeypatch, lambda number: int(number) * STEP_MS)
    jobs.run_half_way(source, before, COUNT)
    assert jobs.run_to_the_end(source, after) == results(IN_ORDER)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_ranges_that_begin_at_the_same_time(
    pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that goes on with several ranges is at the same event time in each."""
    before, after = pair
    source = NumberSequenceSource(0, COUNT - 1)
    jobs = EventTimeJobs(tmp_path, monkeypatch, lambda number: number % (COUNT // before) * STEP_MS)
    jobs.run_half_way(source, before, COUNT)
    assert jobs.run_to_the_end(source, after) == results(IN_ORDER[: COUNT // before] * before)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_micro_batches(pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a batch are in time order, six row groups of ten; batch 2 is empty."""
    numbers = Numbers(available=4)
    jobs = EventTimeJobs(tmp_path, monkeypatch, lambda row: int(row.n) * 1_000)

    def source() -> Source[Any]:
        feed = BatchFeed(NumberQuery(numbers, ends=True), str(tmp_path / "batches"), ends=True)
        return MicroBatchSource(feed, BulkFormat.parquet_format(), bounded=True)

    before, after = pair
    jobs.run_half_way(source(), before, 60)
    assert jobs.run_to_the_end(source(), after) == results(int(each) * 1_000 for each in numbers.expected())
