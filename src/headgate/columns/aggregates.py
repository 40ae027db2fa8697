"""Aggregate functions: partial results of a record batch by Arrow, how two of them merge, and the final value.

An aggregate is computed in three steps. Each subtask aggregates the rows of a record batch by key, in columns. The
owner of the key merges these partial results. The last step computes the value from the merged result, in columns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import partial
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.decimal_values import fitted
from headgate.columns.functions.registry import CallSite
from headgate.columns.logical_types import (
    BIGINT,
    DOUBLE,
    FLOATS,
    NUMBERS,
    Kind,
    LogicalType,
)
from headgate.columns.program import ColumnProgram
from headgate.columns.typed import Apply, Field, Typed, Values
from headgate.columns.user_aggregates import Accumulation

Merge = Callable[[Any, Any], Any]


@final
@dataclass(frozen=True, slots=True)
class PartialColumn:
    """One column of a partial result: Arrow's aggregation of the argument in the type `input`, and how two merge.

    `type` is the type in which the merged value returns to columns.
    """

    function: str
    input: pa.DataType
    type: LogicalType
    merge: Merge

    @property
    def options(self) -> pc.FunctionOptions | None:
        """The options of Arrow's aggregation: without values, all but counts are NULL."""
        make = _OPTIONS.get(self.function)
        return None if make is None else make()

    @property
    def nothing(self) -> Any:
        """The partial value of no rows."""
        if self.function == "count":
            return 0
        return [] if self.function in ("list", "distinct") and self.merge is not joined else None


_OPTIONS: Final[dict[str, Callable[[], pc.FunctionOptions]]] = {
    "sum": partial(pc.ScalarAggregateOptions, skip_nulls=True, min_count=1),
    "mean": partial(pc.ScalarAggregateOptions, skip_nulls=True, min_count=1),
    "variance": partial(pc.VarianceOptions, ddof=0, min_count=1),
    "distinct": partial(pc.CountOptions, mode="only_valid"),
}


@final
@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of an argument: the columns of its partial results, and its value from the merged columns."""

    type: LogicalType
    partials: tuple[PartialColumn | Accumulation, ...]
    value: Callable[[list[Typed]], Typed]


def first_of(merged: list[Typed]) -> Typed:
    """Return the merged column, which is the value."""
    return merged[0]


# --- merging; a partial result is None if no row had a value


def added(one: Any, other: Any) -> Any:
    """Return the sum of partial sums. Integers wrap around in 64 bits; decimals are exact, whatever their digits."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, Decimal):
        with localcontext(prec=_DECIMAL_DIGITS):
            return one + other
    total = one + other
    return (total + 2**63) % 2**64 - 2**63 if isinstance(total, int) else total


_DECIMAL_DIGITS: Final = 76
"""The digits of Arrow's decimal256."""


def lesser(one: Any, other: Any) -> Any:
    """Return the lesser of partial minima. NaN is the result only if all values are NaN, as within a batch."""
    if one is None or other is None:
        return other if one is None else one
    return other if other < one or one != one else one


def greater(one: Any, other: Any) -> Any:
    """Return the greater of partial maxima. NaN is the result only if all values are NaN, as within a batch."""
    if one is None or other is None:
        return other if one is None else one
    return other if other > one or one != one else one


def earlier(one: Any, other: Any) -> Any:
    """Return the first value that is not NULL."""
    return other if one is None else one


def later(one: Any, other: Any) -> Any:
    """Return the last value that is not NULL."""
    return one if other is None else other


def kept_first(one: list[Any], other: list[Any]) -> list[Any]:
    """Return a list of the first value of two lists that is not NULL; an empty list if there is none."""
    return [own for own in (*one, *other) if own is not None][:1]


def kept_last(one: list[Any], other: list[Any]) -> list[Any]:
    """Return a list of the last value of two lists that is not NULL; an empty list if there is none."""
    return [own for own in (*one, *other) if own is not None][-1:]


def joined(one: Any, other: Any) -> Any:
    """Return the values of both lists, in order."""
    return one + other


def united(one: Any, other: Any) -> Any:
    """Return the distinct values of both lists, in the order of their first occurrence.

    NaN equals NaN, and 0.0 is not -0.0, as within a batch.
    """
    return list({_bits(value): value for value in reversed([*one, *other])}.values())[::-1]


def _bits(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return _NAN if value != value else struct.pack("d", value)


_NAN: Final = b"NaN"


# --- the functions


def aggregate_of(call: CallSite, *, distinct: bool) -> Aggregate:
    """Return the aggregate of a call. Raises `InvalidExpressionError` for an argument of a wrong type."""
    call.expect_count(1)
    if call.arguments[0].type.kind is Kind.NULL:
        call.fail("a value of a type")
    if call.arguments[0].type.fields and (distinct or call.function != "count"):
        call.fail("a value that is no ARRAY, MAP or ROW")
    made = _FUNCTIONS[call.function](call)
    return _of_distinct(call, made) if distinct and call.function not in _SAME_WITH_DISTINCT else made


def is_aggregate(function: str) -> bool:
    """Whether a function is an aggregate."""
    return function in _FUNCTIONS


def _count(call: CallSite) -> Aggregate:
    own = call.arguments[0].type
    counted = PartialColumn("count", own.arrow, BIGINT.nulls(nullable=False), added)
    return Aggregate(BIGINT.nulls(nullable=False), (counted,), first_of)


def _sum(call: CallSite) -> Aggregate:
    own = call.expect(0, NUMBERS, "a number").type
    total = _total(own)
    result = total.type if own.kind is Kind.DECIMAL else own.nulls()
    return Aggregate(result, (total,), partial(_narrowed, result))


def _total(own: LogicalType) -> PartialColumn:
    """Return the sum of the values: NULL without values, in 64 bits, or 76 digits for decimals."""
    if own.kind is Kind.DECIMAL:
        summed = types.decimal(types.MAX_PRECISION, own.scale)
        return PartialColumn("sum", pa.decimal256(_DECIMAL_DIGITS, own.scale), summed, added)
    wide = DOUBLE if own.kind in FLOATS else BIGINT
    return PartialColumn("sum", wide.arrow, wide, added)


def _narrowed(result: LogicalType, merged: list[Typed]) -> Typed:
    own = merged[0]
    if own.type.nulls() == result.nulls():
        return own
    return Apply(
        function="narrow", arguments=(own,), type=result, kernel=partial(_wrap, result.arrow), options=(result,)
    )


def _wrap(kind: pa.DataType, values: Values) -> Values:
    return pc.cast(values, kind, safe=False)


def _sum0(call: CallSite) -> Aggregate:
    summed = _sum(call)
    result = summed.type.nulls(nullable=False)
    zero = pa.scalar(0).cast(result.arrow)
    return Aggregate(result, summed.partials, partial(_or_zero, summed, zero))


def _or_zero(summed: Aggregate, zero: pa.Scalar, merged: list[Typed]) -> Typed:
    value = summed.value(merged)
    result = summed.type.nulls(nullable=False)
    return Apply(function="or_zero", arguments=(value,), type=result, kernel=partial(_fill, zero))


def _fill(zero: pa.Scalar, values: Values) -> Values:
    return pc.fill_null(values, zero)


def _extreme(name: str, merge: Merge, call: CallSite) -> Aggregate:
    own = call.arguments[0].type
    return Aggregate(own.nulls(), (PartialColumn(name, _stored(own), own.nulls(), merge),), first_of)


def _end(name: str, merge: Merge, call: CallSite) -> Aggregate:
    """Return the first or last value. Arrow finds it in a batch, but for decimals, whose values are listed."""
    own = call.arguments[0].type.nulls()
    if own.kind is not Kind.DECIMAL:
        return Aggregate(own, (PartialColumn(name, _stored(own), own, merge),), first_of)
    listed = PartialColumn("list", own.arrow, types.array(own), kept_first if name == "first" else kept_last)
    return Aggregate(own, (listed,), partial(_only, own, name))


def _only(own: LogicalType, name: str, merged: list[Typed]) -> Typed:
    kernel = partial(_end_of_lists, own.arrow, name)
    return Apply(function=name, arguments=tuple(merged), type=own, kernel=kernel, by_value=True)


def _end_of_lists(kind: pa.DataType, name: str, lists: Values) -> Values:
    keep = kept_first if name == "first" else kept_last
    return pa.array([next(iter(keep(values, [])), None) for values in lists.to_pylist()], kind)


def _stored(own: LogicalType) -> pa.DataType:
    """Return the type in which Arrow aggregates values: lengths of time as the numbers that they are.

    Times of day are numbers, too: Python's times have no nanoseconds.
    """
    return pa.int64() if own.kind is Kind.DAY_INTERVAL or pa.types.is_time64(own.arrow) else own.arrow


def _avg(call: CallSite) -> Aggregate:
    own = call.expect(0, NUMBERS, "a number").type
    total = _total(own)
    count = PartialColumn("count", own.arrow, BIGINT.nulls(nullable=False), added)
    result = own.nulls()
    if own.kind is Kind.DECIMAL:
        result = types.decimal(types.MAX_PRECISION, max(6, own.scale))
    return Aggregate(result, (total, count), partial(_mean, result))


def _mean(result: LogicalType, merged: list[Typed]) -> Typed:
    return Apply(
        function="mean", arguments=tuple(merged), type=result, kernel=partial(_divided, result.arrow), options=(result,)
    )


def _divided(kind: pa.DataType, total: Values, count: Values) -> Values:
    """Return the quotient: truncated for integers, rounded half up for decimals.

    NULL without values, and for a decimal that has too many digits.
    """
    some = pc.if_else(pc.equal(count, 0), pa.scalar(None, pa.int64()), count)
    if pa.types.is_decimal(kind):
        wide = pc.cast(total, pa.decimal256(_DECIMAL_DIGITS - 20, kind.scale + 2))
        exact = pc.divide(wide, pc.cast(some, pa.decimal256(19, 0)))
        return fitted(exact, kind)
    return pc.cast(pc.divide(total, some), kind, safe=False)


def _moments(call: CallSite, finish: Callable[[Any, Any, Any], Any]) -> Aggregate:
    own = call.expect(0, NUMBERS, "a number").type
    kind = DOUBLE.arrow
    parts = (
        PartialColumn("count", kind, BIGINT.nulls(nullable=False), added),
        PartialColumn("mean", kind, DOUBLE, added),
        PartialColumn("variance", kind, DOUBLE, added),
    )
    result = own.nulls() if own.kind in FLOATS else DOUBLE
    return Aggregate(result, parts, partial(_spread, finish, result))


def _spread(finish: Callable[[Any, Any, Any], Any], result: LogicalType, merged: list[Typed]) -> Typed:
    return Apply(function="spread", arguments=tuple(merged), type=result, kernel=finish, options=(finish,))


def merged_moments(one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return count, mean and variance of the values of both parts (Chan, Golub and LeVeque 1979).

    >>> merged_moments((2, 1.5, 0.25), (1, 3.0, 0.0))
    (3, 2.0, 0.6666666666666666)
    """
    (count, mean, variance), (others, their_mean, their_variance) = one, other
    if not count or not others:
        return other if not count else one
    total = count + others
    distance = their_mean - mean
    squares = variance * count + their_variance * others + distance * distance * count * others / total
    return total, mean + distance * others / total, squares / total


def _population(count: Values, mean: Values, variance: Values) -> Values:
    return variance


def _sample(count: Values, mean: Values, variance: Values) -> Values:
    scaled = pc.divide(
        pc.multiply(variance, pc.cast(count, pa.float64())), pc.cast(pc.subtract(count, 1), pa.float64())
    )
    return pc.if_else(pc.greater(count, 1), scaled, pa.scalar(None, pa.float64()))


def _population_deviation(count: Values, mean: Values, variance: Values) -> Values:
    return pc.sqrt(variance)


def _sample_deviation(count: Values, mean: Values, variance: Values) -> Values:
    return pc.sqrt(_sample(count, mean, variance))


def _array(call: CallSite) -> Aggregate:
    own = types.array(call.arguments[0].type)
    return Aggregate(own, (PartialColumn("list", _stored(call.arguments[0].type), own, joined),), first_of)


def _of_distinct(call: CallSite, made: Aggregate) -> Aggregate:
    """Return the aggregate of the distinct values: these are gathered in a list, and aggregated at the end."""
    own = call.arguments[0].type
    values = PartialColumn("distinct", _stored(own), types.array(own), united)
    return Aggregate(made.type, (values,), partial(_over_lists, made))


def _over_lists(made: Aggregate, merged: list[Typed]) -> Typed:
    return Apply(
        function="over_distinct",
        arguments=tuple(merged),
        type=made.type,
        kernel=partial(_aggregated_lists, made),
        options=(made,),
        by_value=True,
    )


def _aggregated_lists(made: Aggregate, lists: Values) -> Values:
    """Aggregate each list of distinct values."""
    partials = [own for own in made.partials if isinstance(own, PartialColumn)]
    rows = pa.array(range(len(lists)))
    parents = rows.take(pc.list_parent_indices(lists))
    flat = lists.flatten()
    names = [f"c{place}" for place in range(len(partials))]
    columns = [flat.cast(own.input, safe=False) for own in partials]
    table = pa.table([parents, *columns], names=["row", *names])
    wanted = [(name, own.function, own.options) for name, own in zip(names, partials, strict=True)]
    found = table.group_by("row", use_threads=False).aggregate(wanted)
    places = pc.index_in(rows, found.column("row"))
    own = [
        _of_type(found.column(f"{name}_{partial.function}").combine_chunks().take(places), partial.type.arrow)
        for name, partial in zip(names, partials, strict=True)
    ]
    filled = [
        pc.fill_null(column, 0) if column.type == pa.int64() and partial.function == "count" else column
        for column, partial in zip(own, partials, strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(filled, names)
    fields = [Field(place, partial.type) for place, partial in enumerate(partials)]
    return ColumnProgram([made.value(list(fields))]).columns(batch)[0]


def _of_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return fitted(values, kind) if pa.types.is_decimal(kind) else values.cast(kind, safe=False)


_SAME_WITH_DISTINCT: Final = frozenset({"min", "max", "first_value", "last_value"})

_FUNCTIONS: Final[dict[str, Callable[[CallSite], Aggregate]]] = {
    "count": _count,
    "sum": _sum,
    "sum0": _sum0,
    "min": partial(_extreme, "min", lesser),
    "max": partial(_extreme, "max", greater),
    "avg": _avg,
    "first_value": partial(_end, "first", earlier),
    "last_value": partial(_end, "last", later),
    "var_pop": partial(_moments, finish=_population),
    "var_samp": partial(_moments, finish=_sample),
    "stddev_pop": partial(_moments, finish=_population_deviation),
    "stddev_samp": partial(_moments, finish=_sample_deviation),
    "array_agg": _array,
}
MOMENTS: Final = ("count", "mean", "variance")
"""The functions of partial results that merge together."""
