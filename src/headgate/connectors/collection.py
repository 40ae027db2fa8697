"""A source of the records of a list that the program holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True, slots=True)
class CollectionSplit:
    """The remaining records, which begin at index `position`."""

    position: int


@final
class CollectionSource(Source[CollectionSplit]):
    """The records of a list, in its order, read by one subtask.

    The records travel inside the job, so this is for small inputs; larger ones belong in files.
    """

    parallelism_max = 1

    def __init__(self, records: Iterable[Any]) -> None:
        self._records = list(records)
        self.records_total = len(self._records)

    def splits(self, parallelism: int) -> list[CollectionSplit]:
        return [CollectionSplit(0)] if self._records else []

    def reader(self, context: SourceContext) -> CollectionReader:
        return CollectionReader(self._records)


@final
class CollectionReader(SourceReader[CollectionSplit]):
    """Hands out slices of a list, or of an Arrow record batch."""

    def __init__(self, records: list[Any] | pa.RecordBatch) -> None:
        self._records = records
        self._position = len(records)

    def add_splits(self, splits: list[CollectionSplit]) -> None:
        for split in splits:
            self._position = split.position

    def poll(self, records_max: int) -> Poll:
        records = self._records[self._position : self._position + records_max]
        if not records:
            return END_OF_INPUT
        self._position += len(records)
        return Records(records)

    def snapshot(self) -> list[CollectionSplit]:
        return [CollectionSplit(self._position)] if self._position < len(self._records) else []
