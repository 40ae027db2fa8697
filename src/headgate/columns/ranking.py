"""Functions of the place of a row among the rows of OVER: its number, its rank, and the rows before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.aggregates import Aggregate, PartialColumn, aggregate_of
from headgate.columns.casting import coerced
from headgate.columns.frames import RowFrame
from headgate.columns.functions.registry import CallSite
from headgate.columns.logical_types import BIGINT
from headgate.columns.nodes import literal
from headgate.columns.typed import Apply, Constant, Typed, Values

_COUNT: Final = BIGINT.nulls(nullable=False)

Ranking = tuple[RowFrame, Aggregate, Typed]
"""The frame of a function, its aggregate, and the argument of the aggregate."""


def ranking_of(call: CallSite, order: Typed) -> Ranking:
    """Return how a function is an aggregate over the rows before it. `order` is the time that orders the rows."""
    return RANKINGS[call.function](call, order)


def _row_number(call: CallSite, order: Typed) -> Ranking:
    one = literal(1)
    site = CallSite("count", (Constant(one.value, one.type),), (), call.zone)
    return RowFrame(is_rows=True, lower=None, upper=0), aggregate_of(site, distinct=False), site.arguments[0]


def _rank(merge: Callable[[list[int], list[int]], list[int]], call: CallSite, order: Typed) -> Ranking:
    time = Apply(function="order", arguments=(order,), type=_COUNT, kernel=partial(pc.cast, target_type=pa.int64()))
    part = PartialColumn("list", pa.int64(), types.array(BIGINT), merge)
    made = Aggregate(_COUNT, (part,), partial(_value, call.function))
    return RowFrame(is_rows=False, lower=None, upper=0), made, time


def ranked(one: list[int], other: list[int]) -> list[int]:
    """Merge times, or lists of the last time, the rank of its rows, and the number of rows."""
    last, rank, rows = other if len(other) > 1 else (other[0], 1, 1)
    before = one if len(one) > 1 else [one[0], 1, 1]
    return [last, before[1] if before[0] == last else before[2] + rank, before[2] + rows]


def densely_ranked(one: list[int], other: list[int]) -> list[int]:
    """Merge times, or lists of the last time, the number of different times, and the first time."""
    last, times, first = other if len(other) > 1 else (other[0], 1, other[0])
    before = one if len(one) > 1 else [one[0], 1, one[0]]
    return [last, before[1] + times - (before[0] == first), before[2]]


def _value(function: str, merged: list[Typed]) -> Typed:
    return Apply(function=function, arguments=tuple(merged), type=_COUNT, kernel=_second)


def _second(lists: Values) -> Values:
    """Return the second element of each list, 1 for lists of one element."""
    own = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    is_one = pc.equal(pc.list_value_length(own), 1)
    padded = pc.if_else(is_one, pa.scalar([0, 1], own.type), own)
    return pc.list_element(padded, 1)


def _lag(call: CallSite, order: Typed) -> Ranking:
    value, default = call.arguments
    (offset,) = call.options
    given = coerced(default, value.type.nulls())
    if given is None:
        call.fail(f"a default of the type {value.type}")
    listed = aggregate_of(CallSite("array_agg", (value,), (), call.zone), distinct=False)
    result = value.type.nulls(value.type.nullable or default.type.nullable)
    made = Aggregate(result, listed.partials, partial(_before, offset, given, result))
    return RowFrame(is_rows=True, lower=-offset, upper=0), made, value


def _before(offset: int, default: Typed, result: types.LogicalType, merged: list[Typed]) -> Typed:
    kernel = partial(_first_of, offset + 1)
    return Apply(function="lag", arguments=(merged[0], default), type=result, kernel=kernel, options=(offset,))


def _first_of(length: int, lists: Values, default: Any) -> Values:
    """Return the first element of lists of this length, the default for shorter lists."""
    return pc.if_else(pc.equal(pc.list_value_length(lists), length), pc.list_element(lists, 0), default)


RANKINGS: Final[dict[str, Callable[[CallSite, Typed], Ranking]]] = {
    "row_number": _row_number,
    "rank": partial(_rank, ranked),
    "dense_rank": partial(_rank, densely_ranked),
    "lag": _lag,
}
