"""Custom partitioning: the user says which subtask gets a record."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, final

from headgate.elements import Batch
from headgate.functions.api import Function, KeySelector, Partitioner
from headgate.functions.context import RuntimeContext
from headgate.graph.logical import AnyKeySelector
from headgate.operators.base import USER_ERRORS, failed_at, method_of

AnyPartitioner = Partitioner | Callable[[Any, int], int]
"""What says which of so many subtasks gets a key, as the user gave it."""


@final
class CustomPartition(KeySelector):
    """The selector and the partitioner of `partition_custom`."""

    def __init__(self, partitioner: AnyPartitioner, selector: AnyKeySelector) -> None:
        self.partitioner = partitioner
        self.selector = selector

    def open(self, runtime_context: RuntimeContext) -> None:
        for part in (self.partitioner, self.selector):
            if isinstance(part, Function):
                part.open(runtime_context)

    def close(self) -> None:
        for part in (self.partitioner, self.selector):
            if isinstance(part, Function):
                part.close()

    def get_key(self, value: Any) -> Any:
        return method_of(self.selector, "get_key")(value)

    def targets(self, batch: Batch, count: int) -> list[int]:
        """Return which of so many subtasks gets each record. Raises `UserCodeError` naming the record."""
        select, partition = method_of(self.selector, "get_key"), method_of(self.partitioner, "partition")
        records = batch.records
        position = iter(records)
        targets = []
        try:
            for record in position:
                target = partition(select(record), count)
                if not (hasattr(target, "__index__") and 0 <= target < count):
                    raise ValueError(f"the partitioner returned {target!r}, not a number from 0 to {count - 1}")
                targets.append(index(target))
        except USER_ERRORS as error:
            raise failed_at(records, position, "partition_custom") from error
        return targets
