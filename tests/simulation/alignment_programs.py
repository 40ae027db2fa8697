"""Programs with aligned sources for the simulator: one is far ahead by its event time, and has to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from headgate.common import Duration, WatermarkStrategy
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.window import TumblingEventTimeWindows
from headgate.functions.fetching import Fetched, Fetcher, FetchingReader
from headgate.functions.source import Source, SourceContext
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput

RECORDS: Final = 120
KEYS: Final = 3
PAUSED: Final[list[frozenset[str]]] = []
"""What fetchers were told to pause."""


@final
@dataclass(frozen=True, slots=True)
class Range:
    """What is left of a split: numbers from `first` to before `end`."""

    name: str
    first: int
    end: int


@final
class Partitions(Source[Range]):
    """Numbers in four splits that are read at a time, of which some are ahead of others, on an I/O thread."""

    watermarks_per_split = True

    def splits(self, parallelism: int) -> list[Range]:
        size = RECORDS // 4
        return [Range(f"p{number}", number * size, (number + 1) * size) for number in range(4)]

    def split_id(self, split: Range) -> str:
        return split.name

    def reader(self, context: SourceContext) -> FetchingReader[Range]:
        return FetchingReader(PartitionFetcher(), context, self.split_id)


@final
class PartitionFetcher(Fetcher[Range]):
    """Fetches three numbers of each split that is not paused."""

    pauses_splits = True

    def __init__(self) -> None:
        self._left: list[Range] = []
        self._paused: frozenset[str] = frozenset()

    def add_splits(self, splits: list[Range]) -> None:
        self._left += splits

    def pause_splits(self, paused: frozenset[str]) -> None:
        self._paused = paused
        if paused:
            PAUSED.append(paused)

    def fetch(self) -> list[Fetched[Range]]:
        read = [split for split in self._left if split.name not in self._paused]
        rest = [Range(split.name, min(split.first + 3, split.end), split.end) for split in read]
        waits = [split for split in self._left if split.name in self._paused]
        self._left = [split for split in [*waits, *rest] if split.first < split.end]
        return [self._fetched(split, after) for split, after in zip(read, rest, strict=True)]

    def _fetched(self, split: Range, after: Range) -> Fetched[Range]:
        return Fetched(
            split=split.name,
            records=list(range(split.first, after.first)),
            after=lambda count: Range(split.name, split.first + count, split.end),
            ended=after.first == after.end,
        )


@final
class EachRecord(WatermarkGenerator):
    """A watermark behind every record."""

    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms)


def aligned(ms_each: int, numbers: int) -> WatermarkStrategy:
    """Return a strategy for numbers of splits of so many, each `ms_each` after the one before."""
    by_time = WatermarkStrategy.for_generator(EachRecord).with_timestamp_assigner(
        lambda number, _: number % numbers * ms_each
    )
    return by_time.with_watermark_alignment("all", Duration.of_millis(40), Duration.of_millis(5))


def aligned_sources(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Windows of records of both sources: none is late, whichever waits for the other."""
    fast = env.from_source(Partitions(), aligned(9, RECORDS), "partitions")
    slow = env.from_source(NumberSequenceSource(0, RECORDS - 1), aligned(3, RECORDS), "numbers")
    keyed = fast.union(slow.map(lambda number: -number)).key_by(lambda number: number % KEYS)
    return {"windows": keyed.window(TumblingEventTimeWindows(70, 0)).reduce(lambda one, other: one + other)}
