"""A limit on how fast a source is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, final

from headgate.errors import ProgramError
from headgate.functions.acknowledging import Acknowledger
from headgate.functions.source import NoMoreSplits, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.ids import JobId

Split = TypeVar("Split")

_CATCH_UP_MS: Final = 1_000.0
_NAP_MS_MIN: Final = 1.0


def check_rate(records_per_second: float) -> None:
    """Raise ProgramError unless the rate is possible."""
    if not 0 < records_per_second < math.inf:
        raise ProgramError(f"a rate of {records_per_second} records per second is not possible; give more than 0")


@final
class RateLimitedSource(Source[Split]):
    """Any source, read at no more than `records_per_second`, shared evenly by its subtasks.

    The limit is not part of the state: after a restore it starts again. A reader that fell behind, for instance by
    backpressure, catches up on at most one second. Splits and state are the inner source's, so a restored job may have
    another rate or no limit.

    >>> from headgate.connectors.number_seq import NumberSequenceSource
    >>> slowly = RateLimitedSource(NumberSequenceSource(1, 100), records_per_second=20)
    """

    def __init__(self, source: Source[Split], records_per_second: float) -> None:
        check_rate(records_per_second)
        self._source = source
        self._records_per_second = records_per_second
        self.bounded = source.bounded
        self.records_total = source.records_total
        self.parallelism_max = source.parallelism_max
        self.discovery_interval_ms = source.discovery_interval_ms
        self.discovery_ends = source.discovery_ends
        self.in_stages = source.in_stages
        self.watermarks_per_split = source.watermarks_per_split
        self.one_split_at_a_time = source.one_split_at_a_time
        self.produced_type = source.produced_type
        self.failed_tag = source.failed_tag

    def prepare(self, job_id: JobId) -> None:
        self._source.prepare(job_id)

    def splits(self, parallelism: int) -> list[Split]:
        return self._source.splits(parallelism)

    def interrupt(self) -> None:
        self._source.interrupt()

    def keep(self) -> None:
        self._source.keep()

    def discard(self, job_id: JobId) -> None:
        self._source.discard(job_id)

    def release(self, job_id: JobId) -> None:
        self._source.release(job_id)

    def discover(self, known: frozenset[str]) -> list[Split] | NoMoreSplits:
        return self._source.discover(known)

    def is_last_stage(self, known: frozenset[str]) -> bool:
        return self._source.is_last_stage(known)

    def next_stage(self, known: frozenset[str], parallelism: int) -> list[Split]:
        return self._source.next_stage(known, parallelism)

    def stage_of(self, split_id: str) -> Source[Any]:
        return self._source.stage_of(split_id)

    def split_id(self, split: Split) -> str:
        return self._source.split_id(split)

    def to_remember(self, known: Iterable[str]) -> list[str]:
        return self._source.to_remember(known)

    def acknowledger(self) -> Acknowledger[Split] | None:
        return self._source.acknowledger()

    def reader(self, context: SourceContext) -> RateLimitedReader[Split]:
        share = self._records_per_second / context.parallelism
        return RateLimitedReader(self._source.reader(context), context.monotonic_ms, share)


@final
class RateLimitedReader(SourceReader[Split]):
    """Polls another reader for the number of records that are due by the clock. The first record is due immediately."""

    def __init__(
        self, reader: SourceReader[Split], monotonic_ms: Callable[[], float], records_per_second: float
    ) -> None:
        self._reader = reader
        self._monotonic_ms = monotonic_ms
        self._per_ms = records_per_second / 1_000.0
        self._due_max = max(1.0, self._per_ms * _CATCH_UP_MS)
        self._due = 1.0
        self._counted_ms: float | None = None

    def add_splits(self, splits: list[Split]) -> None:
        self._reader.add_splits(splits)

    def poll(self, records_max: int) -> Poll:
        now_ms = self._monotonic_ms()
        self._count_due(now_ms)
        if self._due < 1.0:
            # Never less than a millisecond: a high rate comes in small batches instead of keeping the loop busy.
            # The tiny surplus makes sure that rounding does not leave the record a hair short of due.
            return NotReady(now_ms + max((1.0 - self._due) / self._per_ms + 1e-6, _NAP_MS_MIN))
        polled = self._reader.poll(min(records_max, int(self._due)))
        if isinstance(polled, Records):
            self._due -= len(polled.records)
        return polled

    def _count_due(self, now_ms: float) -> None:
        if self._counted_ms is not None:
            self._due = min(self._due + (now_ms - self._counted_ms) * self._per_ms, self._due_max)
        self._counted_ms = now_ms

    @property
    def pauses_splits(self) -> bool:
        return self._reader.pauses_splits

    def pause_splits(self, paused: frozenset[str]) -> None:
        self._reader.pause_splits(paused)

    def snapshot(self) -> list[Split]:
        return self._reader.snapshot()

    def notify_completed(self, splits: list[Split]) -> None:
        self._reader.notify_completed(splits)

    def close(self) -> None:
        self._reader.close()
