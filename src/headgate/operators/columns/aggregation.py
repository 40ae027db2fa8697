"""Aggregates of keys and windows: partial results of each batch in columns, which a window operator merges as rows.

A partial result is the tuple (key, start, end, partial values). Start and end are local times in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.aggregates import MOMENTS, Aggregate, Merge, merged_moments
from headgate.columns.functions.windows import points_in_time
from headgate.columns.user_aggregates import Accumulation
from headgate.columns.user_kernels import UserFunctions
from headgate.elements import Batch
from headgate.functions.api import AggregateFunction, ReduceFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.windows.assigner import WindowAssigner
from headgate.functions.windows.triggers import EventTimeTrigger
from headgate.functions.windows.window import TimeWindow
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import column_of_keys, groupable, keys_of

Part = tuple[Any, int, int, tuple[Any, ...]]
_MS: Final = pa.timestamp("ms")


def first_field(part: Part) -> Any:
    """Return the key of a partial result."""
    return part[0]


def partial_results(
    keys: dict[str, pa.Array], arguments: Sequence[pa.Array], aggregates: Sequence[Aggregate]
) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    """Aggregate rows by keys, which `groupable` has made. Return a table with the keys, and the partial values of each.

    `arguments` has the argument of each aggregate.
    """
    table: dict[str, Any] = dict(keys)
    wanted: list[tuple[str, str, pc.FunctionOptions | None]] = []
    given: dict[int, list[Any]] = {}
    for place, (argument, aggregate) in enumerate(zip(arguments, aggregates, strict=True)):
        for number, own in enumerate(aggregate.partials):
            column = f"{place}.{number}"
            if isinstance(own, Accumulation):
                given[len(wanted)] = own.rows(argument)
                table[column] = pa.array(range(len(argument)), pa.int64())
                wanted.append((column, "list", None))
            else:
                table[column] = argument.cast(own.input, safe=False)
                wanted.append((column, own.function, own.options))
    found = pa.table(table).group_by(list(keys), use_threads=False).aggregate(wanted)
    values = [found.column(f"{name}_{function}").to_pylist() for name, function, _ in wanted]
    for place, rows in given.items():
        values[place] = [[rows[row] for row in group] for group in values[place]]
    return found, list(zip(*values, strict=True))


@final
class PartialOperator(Operator):
    """Aggregates the rows of each batch by key and window."""

    def __init__(self, factory: PartialFactory) -> None:
        self._schema = factory.schema
        self._keys = factory.schema.names[: factory.keys]
        self._zone = factory.zone
        self._back_ms = factory.back_ms
        self._aggregates = factory.aggregates

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        names = [*self._keys, "start", "end"]
        arguments = [columns.column(f"a{place}") for place in range(len(self._aggregates))]
        found, rows = partial_results(
            {name: groupable(columns.column(name)) for name in names}, arguments, self._aggregates
        )
        ends = found.column("end").combine_chunks()
        fired = ends if self._zone is None else points_in_time(ends.cast(_MS), self._zone).cast(pa.int64())
        own_keys = keys_of([found.column(name) for name in self._keys], found.num_rows)
        starts = found.column("start").to_pylist()
        records = list(zip(own_keys, starts, ends.to_pylist(), rows, strict=True))
        return Batch(records, [end - self._back_ms for end in fired.to_pylist()])


@final
@dataclass(frozen=True, slots=True)
class PartialFactory:
    """Makes a `PartialOperator`. The schema has `keys` key columns, start, end, and the argument of each aggregate.

    `zone` is the zone of the windows' bounds, None if the event time has no zone. `back_ms` is the distance from the
    end of a window to the timestamp of the partial result.
    """

    schema: pa.Schema
    keys: int
    aggregates: Sequence[Aggregate]
    zone: str | None
    back_ms: int = 1

    def create(self) -> PartialOperator:
        return PartialOperator(self)


@final
class GivenWindows(WindowAssigner[Any, TimeWindow]):
    """The window of a partial result: the window that ends at its timestamp, and is as long as its own window."""

    def assign_windows(
        self, element: Part, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        end = timestamp + 1
        return [TimeWindow(end - (element[2] - element[1]), end)]

    def get_default_trigger(self, env: Any) -> EventTimeTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


@final
class MergePartials(ReduceFunction):
    """Merges two partial results of a key and window. A session begins with the earlier, and ends with the later.

    `accumulated` merges the results of functions of the user.
    """

    def __init__(
        self, aggregates: Sequence[Aggregate], accumulated: Callable[[Accumulation], Merge] | None = None
    ) -> None:
        self._merges: list[Merge | None] = []
        for aggregate in aggregates:
            functions = tuple(own.function for own in aggregate.partials)
            if functions == MOMENTS:
                self._merges += [None] * 3
                continue
            for own in aggregate.partials:
                if isinstance(own, Accumulation):
                    assert accumulated is not None
                    self._merges.append(accumulated(own))
                else:
                    self._merges.append(own.merge)

    def reduce(self, value1: Part, value2: Part) -> Part:
        key, start, end, one = value1
        _, other_start, other_end, other = value2
        return key, min(start, other_start), max(end, other_end), self.merged(one, other)

    def merged(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the merged partial values of two groups of rows; those of `one` came first."""
        merged: list[Any] = []
        for place, merge in enumerate(self._merges):
            if merge is not None:
                merged.append(merge(one[place], other[place]))
            elif len(merged) == place:
                merged += merged_moments(one[place : place + 3], other[place : place + 3])
        return tuple(merged)


@final
class AccumulateParts(AggregateFunction):
    """Adds partial results to the accumulators of functions of the user, and merges those of other aggregates.

    An accumulator is a partial result, with the accumulators of these functions in place of the arguments of their
    rows; None before the first one.
    """

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self._own = dict[int, Accumulation]()
        for place, own in enumerate(own for aggregate in aggregates for own in aggregate.partials):
            if isinstance(own, Accumulation):
                self._own[place] = own
        self._add = MergePartials(aggregates, lambda own: own.added)
        self._merge = MergePartials(aggregates, lambda own: own.merged)
        self._functions = UserFunctions()

    def open(self, runtime_context: RuntimeContext) -> None:
        self._functions.open(self._own.values(), runtime_context)

    def close(self) -> None:
        self._functions.close()

    def create_accumulator(self) -> Part | None:
        return None

    def add(self, value: Part, accumulator: Part | None) -> Part:
        if accumulator is None:
            return self._with(value, lambda own, rows: own.begun(rows))
        return self._add.reduce(accumulator, value)

    def get_result(self, accumulator: Part) -> Part:
        return self._with(accumulator, lambda own, made: own.value(made))

    def merge(self, acc_a: Part | None, acc_b: Part | None) -> Part | None:
        if acc_a is None or acc_b is None:
            return acc_b if acc_a is None else acc_a
        return self._merge.reduce(acc_a, acc_b)

    def _with(self, part: Part, changed: Callable[[Accumulation, Any], Any]) -> Part:
        """Return the partial result with changed values of the functions of the user."""
        key, start, end, values = part
        own = [changed(self._own[at], value) if at in self._own else value for at, value in enumerate(values)]
        return key, start, end, tuple(own)


@final
class MergedOperator(Operator):
    """Turns merged results into columns."""

    def __init__(self, factory: MergedFactory) -> None:
        self._schema = factory.schema

    def process(self, batch: Batch) -> Batch:
        fields = list(self._schema)
        place = [field.name for field in fields].index("start")
        keys, starts, ends, values = zip(*batch.records, strict=True)
        parts = list(zip(*keys, strict=True)) if place > 1 else [keys][:place]
        made = [column_of_keys(own, field.type) for own, field in zip([*parts, starts, ends], fields, strict=False)]
        merged = zip(zip(*values, strict=True), fields[place + 2 :], strict=True)
        made += [column_of_partials(own, field.type) for own, field in merged]
        return Batch.of_arrow(pa.RecordBatch.from_arrays(made, schema=self._schema))


def column_of_partials(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a column of merged partial values. A decimal with too many digits is NULL."""
    if pa.types.is_decimal(kind):
        limit = 10 ** (kind.precision - kind.scale)
        return pa.array([None if own is None or abs(own) >= limit else own for own in values], kind)
    return pa.array(values, kind)


@final
@dataclass(frozen=True, slots=True)
class MergedFactory:
    """Makes a `MergedOperator`: `schema` has the keys, start, end, and the merged partial results."""

    schema: pa.Schema

    def create(self) -> MergedOperator:
        return MergedOperator(self)
