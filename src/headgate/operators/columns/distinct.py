"""The first row of each key: within each batch in columns, then by keyed state, which rows reach as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import columns_of_rows, groupable, keys_of, rows_of
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types

Keyed = tuple[Any, tuple[Any, ...]]
"""A key, and the values of its row."""


@final
class FirstRowsOperator(Operator):
    """Emits the first row of each key in a batch, as values with their key."""

    def __init__(self, factory: FirstRowsFactory) -> None:
        self._schema = factory.schema
        self._keys = factory.keys

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        keys = {str(place): groupable(columns.column(place)) for place in self._keys}
        places = pa.array(range(columns.num_rows), pa.int64())
        grouped = pa.table({**keys, "row": places}).group_by(list(keys), use_threads=False).aggregate([("row", "min")])
        first = grouped.column("row_min").combine_chunks()
        first = first.take(pc.sort_indices(first))
        rows = columns.take(first)
        own = keys_of([keys[str(place)].take(first) for place in self._keys], rows.num_rows)
        return Batch(list(zip(own, rows_of(rows.columns, rows.num_rows), strict=True)))


@final
@dataclass(frozen=True, slots=True)
class FirstRowsFactory:
    """Makes a `FirstRowsOperator`. `keys` are the positions of the columns that make a key."""

    schema: pa.Schema
    keys: Sequence[int]

    def create(self) -> FirstRowsOperator:
        return FirstRowsOperator(self)


@final
class KeepFirst(KeyedProcessFunction):
    """Emits the first row of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: Keyed, ctx: KeyedProcessFunction.Context) -> Iterable[tuple[Any, ...]]:
        if self._seen.value():
            return ()
        self._seen.update(True)
        return (value[1],)


@final
class ValuesOperator(Operator):
    """Turns rows of values, as `FirstRowsOperator` made them, into columns."""

    def __init__(self, factory: ValuesFactory) -> None:
        self._schema = factory.schema

    def process(self, batch: Batch) -> Batch:
        return Batch.of_arrow(columns_of_rows(batch.records, self._schema))


@final
@dataclass(frozen=True, slots=True)
class ValuesFactory:
    """Makes a `ValuesOperator`."""

    schema: pa.Schema

    def create(self) -> ValuesOperator:
        return ValuesOperator(self)
