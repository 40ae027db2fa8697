"""Sources of record batches that need no connector: an Arrow table that the program holds, and a range of integers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
import pyarrow as pa

from headgate.connectors.collection import CollectionReader, CollectionSplit
from headgate.functions.source import END_OF_INPUT, Poll, Records, Source, SourceContext, SourceReader


@final
class ColumnTableSource(Source[CollectionSplit]):
    """The rows of an Arrow table, in its order, read by one subtask as record batches.

    The table travels inside the job, so this is for small inputs; larger ones belong in files.
    """

    parallelism_max = 1

    def __init__(self, table: pa.Table) -> None:
        columns = [pa.concat_arrays(own.chunks) if own.chunks else pa.nulls(0, own.type) for own in table.columns]
        self._rows = pa.RecordBatch.from_arrays(columns, schema=table.schema)
        self.records_total = table.num_rows

    def splits(self, parallelism: int) -> list[CollectionSplit]:
        return [CollectionSplit(0)] if self.records_total else []

    def reader(self, context: SourceContext) -> CollectionReader:
        return CollectionReader(self._rows)


@final
@dataclass(frozen=True, slots=True)
class RangeSplit:
    """The integers that are still to be read. Its last integer names it."""

    numbers: range


@final
class RangeSource(Source[RangeSplit]):
    """The integers of a range, as a column of 64 bits; each subtask reads a part, in order."""

    one_split_at_a_time = True

    def __init__(self, numbers: range, schema: pa.Schema) -> None:
        self._numbers = numbers
        self._schema = schema
        self.records_total = len(numbers)

    def splits(self, parallelism: int) -> list[RangeSplit]:
        bounds = [part * len(self._numbers) // parallelism for part in range(parallelism + 1)]
        parts = [self._numbers[start:stop] for start, stop in pairwise(bounds)]
        return [RangeSplit(part) for part in parts if part]

    def split_id(self, split: RangeSplit) -> str:
        return str(split.numbers[-1])

    def reader(self, context: SourceContext) -> SourceReader[Any]:
        return RangeReader(self._schema)


@final
class RangeReader(SourceReader[RangeSplit]):
    """Counts through its splits, one after the other."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._splits: deque[RangeSplit] = deque()

    def add_splits(self, splits: list[RangeSplit]) -> None:
        self._splits.extend(splits)

    def poll(self, records_max: int) -> Poll:
        if not self._splits:
            return END_OF_INPUT
        numbers = self._splits.popleft().numbers
        now, later = numbers[:records_max], numbers[records_max:]
        if later:
            self._splits.appendleft(RangeSplit(later))
        column = pa.array(np.arange(now.start, now.stop, now.step, dtype=np.int64))
        batch = pa.RecordBatch.from_arrays([column], schema=self._schema)
        return Records(batch, split=str(numbers[-1]), ended=not later)

    def snapshot(self) -> list[RangeSplit]:
        return list(self._splits)
