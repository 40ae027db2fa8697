"""Functions of arrays: their elements added, removed, searched and ordered.

Two elements are the same if they are equal, or both NULL. The functions work on the elements of all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.functions.explicit_casts import cast
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.lists import (
    RowElements,
    codes,
    concatenated,
    elements,
    firsts,
    in_rows,
    of_columns,
    on_rows,
    sorted_order,
)
from headgate.columns.logical_types import BIGINT, BOOLEAN, INT, INTEGERS, NESTED, STRING, TEXTS, Kind, LogicalType
from headgate.columns.typed import Kernel, Typed


def _array(call: CallSite, least: int = 1, most: int | None = None) -> Typed:
    call.expect_count(least, most)
    given = call.arguments[0]
    if given.type.kind is not Kind.ARRAY:
        call.fail("an array as its first argument")
    return given


def _arrays(call: CallSite) -> list[Typed]:
    if any(own.kind is not Kind.ARRAY for own in call.types):
        call.fail("arrays")
    return call.to_widest()


def _with_element(call: CallSite) -> tuple[Typed, Typed]:
    """Return the array and the element in the common type of the elements."""
    given, other = _array(call, 2), call.arguments[1]
    common = types.widest([given.type.element, other.type])
    if common is None:
        call.fail("an array, and an element of its type")
    own = common.nulls(given.type.element.nullable)
    return (
        cast(given, types.array(own).nulls(given.type.nullable), call.zone),
        cast(other, common.nulls(other.type.nullable), call.zone),
    )


def _compared(call: CallSite, compute: Kernel, result: LogicalType, given: Sequence[Typed], **flags: Any) -> Typed:
    """Return the call of a kernel that compares elements: by value if they are arrays, maps or rows themselves."""
    by_value = given[0].type.element.kind in NESTED
    return call.apply(partial(on_rows, compute), result, given, by_value=by_value, **flags)


@function("array_append", "array_prepend")
def array_with_element(call: CallSite) -> Typed:
    """The array with one more element, which may be NULL, at its end or beginning."""
    given, other = _with_element(call)
    element = given.type.element.nulls(given.type.element.nullable or other.type.nullable)
    result = types.array(element)
    kernel = partial(on_rows, partial(_added, result.arrow, call.function == "array_append"))
    return call.apply(kernel, result, [given, other])


def _added(kind: pa.DataType, last: bool, arrays: pa.Array, other: pa.Array) -> pa.Array:
    parts = [elements(arrays), of_columns([other])]
    return concatenated(parts if last else parts[::-1]).arrays(kind)


@function("array_concat")
def array_concat(call: CallSite) -> Typed:
    """The elements of all arrays, one array after the other. NULL if one of the arrays is NULL."""
    if not call.arguments:
        call.fail("at least one array")
    given = _arrays(call)
    result = given[0].type
    return call.apply(partial(on_rows, partial(_concatenated, result.arrow)), result, given)


def _concatenated(kind: pa.DataType, *arrays: pa.Array) -> pa.Array:
    return concatenated([elements(own) for own in arrays]).arrays(kind)


@function("array_contains")
def array_contains(call: CallSite) -> Typed:
    """Whether an element is in the array. NULL only if the array is NULL: NULL may be searched for."""
    given, needle = _with_element(call)
    return _compared(call, _contains, BOOLEAN, [given, needle], nullable=given.type.nullable)


def _contains(arrays: pa.Array, needle: pa.Array) -> pa.Array:
    own, same = _same(arrays, needle)
    found = np.zeros(len(arrays), np.bool_)
    found[own.rows[same]] = True
    return pa.array(found, mask=own.nulls)


def _same(arrays: pa.Array, needle: pa.Array) -> tuple[RowElements, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return the elements, and which of them are the needle of their row."""
    own = elements(arrays)
    these, wanted = codes(own.values, needle)
    return own, these == wanted[own.rows]


@function("array_position")
def array_position(call: CallSite) -> Typed:
    """The position of the first such element, from 1; 0 if there is none. NULL if an argument is NULL."""
    given, needle = _with_element(call)
    return _compared(call, _position, INT, [given, needle])


def _position(arrays: pa.Array, needle: pa.Array) -> pa.Array:
    own, same = _same(arrays, needle)
    index = own.first_of_rows(same)
    position = pc.fill_null(pc.add(pa.array(own.positions).take(index), 1), 0)
    known = pc.and_(pc.is_valid(arrays), pc.is_valid(needle))
    return pc.cast(pc.if_else(known, position, None), pa.int32())


@function("array_remove")
def array_remove(call: CallSite) -> Typed:
    """The array without the elements that are equal to the second argument; NULL removes the elements that are NULL."""
    given, needle = _with_element(call)
    compute = partial(_removed, given.type.arrow)
    return _compared(call, compute, given.type, [given, needle], nullable=given.type.nullable)


def _removed(kind: pa.DataType, arrays: pa.Array, needle: pa.Array) -> pa.Array:
    own, same = _same(arrays, needle)
    return own.chosen(~same).arrays(kind)


@function("array_distinct")
def array_distinct(call: CallSite) -> Typed:
    """The array with the first of the same elements only."""
    given = _array(call)
    return _compared(call, partial(_distinct, given.type.arrow), given.type, [given])


def _distinct(kind: pa.DataType, arrays: pa.Array) -> pa.Array:
    return _firsts(elements(arrays)).arrays(kind)


def _firsts(own: RowElements) -> RowElements:
    return own.chosen(firsts(own.rows, codes(own.values)[0]))


@function("array_union", "array_intersect", "array_except")
def array_set(call: CallSite) -> Typed:
    """The elements of either, of both, or of the first array only, once each, in the order of the first array."""
    call.expect_count(2)
    given = _arrays(call)
    result = given[0].type.nulls()
    return _compared(call, partial(_set, call.function, result.arrow), result, given)


def _set(function: str, kind: pa.DataType, one: pa.Array, other: pa.Array) -> pa.Array:
    mine, theirs = elements(one), elements(other)
    if function == "array_union":
        return _firsts(concatenated([mine, theirs])).arrays(kind)
    these, those = codes(mine.values, theirs.values)
    keys = in_rows(np.concatenate([mine.rows, theirs.rows]), np.concatenate([these, those]))
    there = np.isin(keys[: len(these)], keys[len(these) :])
    wanted = firsts(mine.rows, these) & (there if function == "array_intersect" else ~there)
    return mine.chosen(wanted).where_null(theirs.nulls).arrays(kind)


@function("array_reverse")
def array_reverse(call: CallSite) -> Typed:
    """The array from its end to its beginning."""
    given = _array(call)
    return call.apply(partial(on_rows, partial(_reversed, given.type.arrow)), given.type)


def _reversed(kind: pa.DataType, arrays: pa.Array) -> pa.Array:
    own = elements(arrays)
    starts = own.starts
    return own.chosen((2 * starts + own.lengths - 1)[own.rows] - np.arange(len(own.rows))).arrays(kind)


@function("array_slice")
def array_slice(call: CallSite) -> Typed:
    """The elements from one position to another, both included; from 1, or from the end if negative. 0 is as 1."""
    given = _array(call, 2, 3)
    for index in range(1, len(call.arguments)):
        call.expect(index, INTEGERS, "an array and one or two integers")
    bounds = [call.converted(index, BIGINT) for index in range(1, len(call.arguments))]
    return call.apply(partial(on_rows, partial(_sliced, given.type.arrow)), given.type, [given, *bounds])


def _sliced(kind: pa.DataType, arrays: pa.Array, *bounds: pa.Array) -> pa.Array:
    own = elements(arrays)
    lengths, positions = own.lengths, own.positions
    unknown = np.zeros(len(arrays), np.bool_)
    limits = []
    for bound in bounds:
        unknown |= pc.is_null(bound).to_numpy(zero_copy_only=False)
        given = pc.fill_null(bound, 0).to_numpy()
        limits.append(np.where(given < 0, given + lengths, np.maximum(given - 1, 0)))
    wanted = positions >= limits[0][own.rows]
    if len(limits) > 1:
        wanted &= positions <= limits[1][own.rows]
    return own.chosen(wanted).where_null(unknown).arrays(kind)


@function("array_sort")
def array_sort(call: CallSite) -> Typed:
    """The array in order: ascending with NULL first, or descending with NULL last, unless the arguments say more."""
    given = _array(call, 1, 3)
    _expect_order(call, given)
    for index in range(1, len(call.arguments)):
        call.expect(index, (Kind.BOOLEAN,), "an array and one or two BOOLEANs")
    flags = [call.converted(index, BOOLEAN) for index in range(1, len(call.arguments))]
    return call.apply(partial(on_rows, partial(_sorted, given.type.arrow)), given.type, [given, *flags])


def _expect_order(call: CallSite, given: Typed) -> None:
    if given.type.element.kind in NESTED:
        call.fail("an array of numbers, texts, bytes, times or booleans")


def _sorted(kind: pa.DataType, arrays: pa.Array, *flags: pa.Array) -> pa.Array:
    own = elements(arrays)
    unknown = np.zeros(len(arrays), np.bool_)
    for flag in flags:
        unknown |= pc.is_null(flag).to_numpy(zero_copy_only=False)
    given = [pc.fill_null(flag, True).to_numpy(zero_copy_only=False)[own.rows] for flag in flags]
    ascending = given[0] if given else np.ones(len(own.rows), np.bool_)
    nulls_first = given[1] if len(given) > 1 else ascending
    null = pc.is_null(own.values).to_numpy(zero_copy_only=False)
    ranks = sorted_order(own.values)
    order = np.lexsort((np.where(ascending, ranks, -ranks), null != nulls_first, own.rows))
    return own.chosen(order).where_null(unknown).arrays(kind)


@function("array_max", "array_min")
def array_extreme(call: CallSite) -> Typed:
    """The greatest or least element; NULL if there is none that is not NULL."""
    given = _array(call)
    _expect_order(call, given)
    kernel = partial(on_rows, partial(_extreme, -1 if call.function == "array_max" else 1))
    return call.apply(kernel, given.type.element, nullable=True)


def _extreme(sign: int, arrays: pa.Array) -> pa.Array:
    own = elements(arrays)
    known = np.flatnonzero(pc.is_valid(own.values).to_numpy(zero_copy_only=False))
    order = known[np.lexsort((sign * sorted_order(own.values)[known], own.rows[known]))]
    return own.values.take(own.first_of_rows(order))


@function("array_join")
def array_join(call: CallSite) -> Typed:
    """The texts of an array with a separator between them; NULL is left out, or replaced by the third argument."""
    given = _array(call, 2, 3)
    if given.type.element.kind not in (*TEXTS, Kind.NULL):
        call.fail("an array of texts")
    for index in range(1, len(call.arguments)):
        call.expect(index, TEXTS, "an array of texts, and one or two texts")
    texts = [call.converted(index, STRING) for index in range(1, len(call.arguments))]
    own = cast(given, types.array(STRING).nulls(given.type.nullable), call.zone)
    return call.apply(partial(on_rows, _joined), STRING, [own, *texts])


def _joined(arrays: pa.Array, separator: pa.Array, *replacement: pa.Array) -> pa.Array:
    own = elements(arrays)
    for other in replacement:
        values = pc.coalesce(own.values, other.take(pa.array(own.rows)))
        own = RowElements((values,), own.rows, own.nulls).where_null(pc.is_null(other).to_numpy(zero_copy_only=False))
    own = own.chosen(pc.is_valid(own.values).to_numpy(zero_copy_only=False))
    return pc.binary_join(own.arrays(pa.list_(pa.string())), separator)
