"""The inputs of joins: rows of values, with their keys and event times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import Batch
from headgate.functions.joins import ProcessJoinFunction
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of
from headgate.operators.columns.keys import check_times, groupable, keys_of, rows_of

NULL_KEYS: Final = (("left",), ("right",))
"""The keys of rows with NULL in a key, on each side of a join. No other key equals one of them."""


@final
class KeyedRowsOperator(Operator):
    """Emits each row as its key and the values of its payload, with its event time as timestamp."""

    def __init__(self, factory: KeyedRowsFactory) -> None:
        self._schema = factory.schema
        self._keys = factory.keys
        self._is_timed = factory.is_timed
        self._null_key = factory.null_key

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        with_null = [column.is_null() for column in columns.columns[: self._keys] if column.null_count]
        if with_null and self._null_key is None:
            columns = columns.filter(pc.invert(reduce(pc.or_, with_null)))
        keys = keys_of([groupable(column) for column in columns.columns[: self._keys]], columns.num_rows)
        if with_null and self._null_key is not None:
            for row in pc.indices_nonzero(reduce(pc.or_, with_null)).to_pylist():
                keys[row] = self._null_key
        rows = rows_of(columns.columns[self._keys + self._is_timed :], columns.num_rows)
        times = _millis(columns, self._keys) if self._is_timed else None
        return Batch(list(zip(keys, rows, strict=True)), times)


def _millis(columns: pa.RecordBatch, place: int) -> list[int]:
    times = columns.column(place)
    check_times(times, columns, "the join")
    found: list[int] = times.cast(pa.timestamp("ms", times.type.tz), safe=False).view(pa.int64()).to_pylist()
    return found


@final
@dataclass(frozen=True, slots=True)
class KeyedRowsFactory:
    """Makes a `KeyedRowsOperator`. The schema has `keys` key columns, the event time if there is one, and the payload.

    Rows with NULL in a key have the key `null_key`; without one they are dropped.
    """

    schema: pa.Schema
    keys: int
    is_timed: bool
    null_key: tuple[Any, ...] | None

    def create(self) -> KeyedRowsOperator:
        return KeyedRowsOperator(self)


@final
class PairOfValues(ProcessJoinFunction):
    """Joins two rows, as `KeyedRowsOperator` emits them, into the values of both."""

    def __init__(self, right: int) -> None:
        """`right` is the number of values of a right row, which are NULL without one."""
        self._nulls = (None,) * right

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[tuple[Any, ...]]:
        return (left[1] + (self._nulls if right is None else right[1]),)
