"""The relations of a logical plan whose rows have an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from headgate.columns.aggregates import Aggregate
from headgate.columns.frames import RowFrame
from headgate.columns.schema import Schema, unlike
from headgate.columns.typed import Typed

if TYPE_CHECKING:
    from headgate.dataframe.planner.logical import Relation


@final
@dataclass(frozen=True, slots=True)
class SortBy:
    """An expression by which rows are sorted."""

    value: Typed
    descending: bool
    nulls_first: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """All rows in an order. With `timed`, it begins with the event time, and rows are emitted up to the watermark."""

    input: Relation
    keys: tuple[SortBy, ...]
    timed: bool

    @property
    def schema(self) -> Schema:
        """The schema of the input."""
        return self.input.schema


@final
@dataclass(frozen=True, slots=True, eq=False)
class OverAggregate:
    """Aggregates, for each row, the rows in its frame, of the rows with equal keys in an order.

    With `timed`, the order is the event time. Else rows are sorted in a batch job.
    """

    input: Relation
    keys: tuple[Typed, ...]
    order: Typed
    frame: RowFrame
    aggregates: tuple[tuple[Aggregate, Typed], ...]
    timed: bool = True
    descending: bool = False

    @property
    def schema(self) -> Schema:
        """The columns of the input, and the merged partial results."""
        merged = [own for aggregate, _ in self.aggregates for own in aggregate.partials]
        prefix = unlike(self.input.schema.names, "m")
        return Schema(
            [*self.input.schema.columns, *((f"{prefix}{place}", own.type) for place, own in enumerate(merged))]
        )
