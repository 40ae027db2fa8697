"""A source of consecutive integers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import final

from headgate.errors import ProgramError
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader


@final
@dataclass(frozen=True, slots=True)
class NumberSplit:
    """The integers from `start` to `end`, both included."""

    start: int
    end: int


@final
class NumberSequenceSource(Source[NumberSplit]):
    """The integers from `start` to `end`, both included; each subtask reads a range of its own, in order.

    >>> NumberSequenceSource(1, 10).splits(3)
    [NumberSplit(start=1, end=4), NumberSplit(start=5, end=7), NumberSplit(start=8, end=10)]
    """

    one_split_at_a_time = True

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ProgramError(f"a number sequence from {start} to {end} is empty; start must not be above end")
        self._start = start
        self._end = end
        self.records_total = end - start + 1

    def splits(self, parallelism: int) -> list[NumberSplit]:
        size, larger = divmod(self._end - self._start + 1, parallelism)
        found = []
        start = self._start
        for index in range(parallelism):
            after = start + size + (index < larger)
            if after > start:
                found.append(NumberSplit(start, after - 1))
            start = after
        return found

    def split_id(self, split: NumberSplit) -> str:
        return _name(split)

    def reader(self, context: SourceContext) -> NumberReader:
        return NumberReader()


@final
class NumberReader(SourceReader[NumberSplit]):
    """Counts through its splits, one after the other."""

    def __init__(self) -> None:
        self._splits: deque[NumberSplit] = deque()

    def add_splits(self, splits: list[NumberSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        split = self._splits.popleft()
        after = min(split.start + records_max, split.end + 1)
        if after <= split.end:
            self._splits.appendleft(NumberSplit(after, split.end))
        return Records(list(range(split.start, after)), split=_name(split), ended=after > split.end)

    def snapshot(self) -> list[NumberSplit]:
        return list(self._splits)


def _name(split: NumberSplit) -> str:
    """Return the name of a range: its end, because its start moves while it is read."""
    return str(split.end)
