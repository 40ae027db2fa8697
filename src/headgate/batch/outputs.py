"""The output of a task: batches of rows with the target task and the order of every record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import pyarrow as pa

from headgate.batch.rows import ORDER_BITS, KeyRoutes, dealt, encoded
from headgate.batch.stages import OutgoingEdge, ShuffleKind
from headgate.dataflow.channel import NO_LIMIT
from headgate.elements import Batch, Element, sendable
from headgate.errors import SerializationError
from headgate.operators.error_text import short_repr
from headgate.operators.keys import CustomPartition, KeySelection, look_up


@final
@dataclass(slots=True)
class TaskOutput:
    """The rows of a task that were not taken yet, and the number of records so far."""

    task: int
    rows: list[pa.RecordBatch] = field(default_factory=list)
    records: int = 0

    def take(self) -> list[pa.RecordBatch]:
        """Return the rows and remove them from the output."""
        rows, self.rows = self.rows, []
        return rows


@final
class RowsChannel:
    """An `OutputChannel` that converts batches to rows. It drops control elements: the end of a task replaces them."""

    writable = True
    records_max = NO_LIMIT
    sent_bytes = 0

    def __init__(self, target: OutgoingEdge, sent: TaskOutput) -> None:
        """Make a channel to `target`, whose key selector must be open. Rows are added to `sent`."""
        self._target = target
        selector = target.key_selector if target.shuffle is ShuffleKind.BY_KEY else None
        self._selection = None if selector is None else KeySelection(selector)
        self._sent = sent
        self._routes = KeyRoutes(target.parallelism, target.max_parallelism)

    def send(self, element: Element) -> None:
        if not isinstance(element, Batch):
            return
        tasks, keys = self._routed(element)
        first = (self._sent.task << ORDER_BITS) + self._sent.records
        try:
            rows = encoded(element, (self._target.edge, self._target.index), tasks, keys, first)
        except Exception as error:
            raise _cannot_travel(element, error) from error
        self._sent.records += len(element)
        self._sent.rows.append(dealt(rows, self._target.parallelism) if self._target.deals else rows)

    def _routed(self, batch: Batch) -> tuple[list[int] | None, list[int] | None]:
        """Return the target task and the sort value of the key of each record."""
        if self._selection is not None:
            keys = self._selection.keys(batch)
            routes = look_up(self._routes, keys, batch)
            return [task for task, _ in routes], [key for _, key in routes]
        if isinstance(self._target.key_selector, CustomPartition):
            return self._target.key_selector.targets(batch, self._target.parallelism), None
        if self._target.shuffle is ShuffleKind.BY_TASK and not self._target.deals:
            return [self._sent.task % self._target.parallelism] * len(batch), None
        return None, None


def _cannot_travel(batch: Batch, error: Exception) -> SerializationError:
    return SerializationError(
        f"a record cannot be pickled for its way to another task: {error}; the record is "
        f"{short_repr(batch.culprit(sendable))}"
    )
