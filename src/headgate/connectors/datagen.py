"""Sources whose records follow from their indexes, and the source that computes each record by a function."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from headgate.connectors.rate import RateLimitedReader, check_rate
from headgate.errors import ProgramError
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader
from headgate.types.record_copies import BY_VALUE


@final
@dataclass(frozen=True, slots=True)
class IndexSplit:
    """The indexes `next`, `next + step`, and so on, below `end` or for ever."""

    next: int
    step: int
    end: int | None

    @property
    def name(self) -> str:
        """The name of the split. It does not depend on the position."""
        return f"{self.next % self.step}/{self.step}"


def index_splits(parallelism: int, count: int | None) -> list[IndexSplit]:
    """Deal the indexes below `count`, or all, to subtasks in turn; to no more subtasks than there are indexes."""
    number = parallelism if count is None else min(parallelism, count)
    return [IndexSplit(first, number, count) for first in range(number)]


@final
class IndexReader(SourceReader[IndexSplit]):
    """Computes the records of indexes, as a list or a record batch, from each of its splits in turn."""

    def __init__(self, compute: Callable[[range], Any]) -> None:
        self._compute = compute
        self._splits: deque[IndexSplit] = deque()

    def add_splits(self, splits: list[IndexSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits[0]
        after = split.next + records_max * split.step
        if split.end is not None:
            after = min(after, split.end)
        indexes = range(split.next, after, split.step)
        records = self._compute(indexes)
        self._splits.popleft()
        rest = IndexSplit(indexes[-1] + split.step, split.step, split.end)
        ended = rest.end is not None and rest.next >= rest.end
        if not ended:
            self._splits.append(rest)
        return Records(records, split=split.name, ended=ended)

    def snapshot(self) -> list[IndexSplit]:
        return list(self._splits)


@final
class DataGeneratorSource(Source[IndexSplit]):
    """Records `generator_function(index)` for the indexes from 0, up to `count` of them or for ever.

    Reading is exact after a restore as long as the function gives the same record for the same index. The subtasks take
    turns in the indexes, and share `records_per_second` evenly; None is as fast as possible.

    >>> source = DataGeneratorSource(lambda index: f"user-{index % 3}", count=1_000, records_per_second=100)
    >>> source.bounded
    True
    """

    watermarks_per_split = True

    def __init__(
        self,
        generator_function: Callable[[int], Any],
        count: int | None = None,
        records_per_second: float | None = None,
    ) -> None:
        if count is not None and count < 0:
            raise ProgramError(f"a generator cannot make {count} records; give a count from 0, or None for no end")
        if records_per_second is not None:
            check_rate(records_per_second)
        self._function = generator_function
        self._records_per_second = records_per_second
        self.bounded = count is not None
        self.records_total = count

    def splits(self, parallelism: int) -> list[IndexSplit]:
        return index_splits(parallelism, self.records_total)

    def split_id(self, split: IndexSplit) -> str:
        return split.name

    def reader(self, context: SourceContext) -> SourceReader[IndexSplit]:
        reader = IndexReader(self._records)
        if self._records_per_second is None:
            return reader
        return RateLimitedReader(reader, context.monotonic_ms, self._records_per_second / context.parallelism)

    def _records(self, indexes: range) -> list[Any]:
        records, _ = BY_VALUE.mapped(self._function, iter(indexes))  # the function may return one object again
        return records
