"""Sources for the tests."""

from __future__ import annotations

from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader


class CountingSource(Source[int]):
    """Counts each record that it does not give."""

    def __init__(self, count: int) -> None:
        self.count = count

    def splits(self, parallelism: int) -> list[int]:
        return [self.count]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return CountingReader(context)


class CountingReader(SourceReader[int]):
    def __init__(self, context: SourceContext) -> None:
        self.context = context
        self.left = 0

    def add_splits(self, splits: list[int]) -> None:
        self.left = sum(splits)

    def poll(self, records_max: int) -> Poll:
        if not self.left:
            return END_OF_INPUT
        self.left -= 1
        self.context.count("skipped")
        return Records([])

    def snapshot(self) -> list[int]:
        return [self.left]


class CarelessSource(Source[int]):
    """Its reader forgets to return what it has read."""

    parallelism_max = 1

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return CarelessReader()


class CarelessReader(SourceReader[int]):
    def add_splits(self, splits: list[int]) -> None:
        pass

    def poll(self, records_max: int) -> Poll:
        return None  # type: ignore[return-value]

    def snapshot(self) -> list[int]:
        return [0]
