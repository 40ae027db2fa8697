"""Functions of maps."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from headgate.columns import logical_types as types
from headgate.columns.functions.collections import map_of_entries
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.lists import concatenated, elements, on_rows
from headgate.columns.logical_types import Kind
from headgate.columns.typed import Typed


@function("map_keys", "map_values")
def map_part(call: CallSite) -> Typed:
    """The keys, or the values, of a map as an array."""
    given = _map(call)
    index = 0 if call.function == "map_keys" else 1
    result = types.array(given.type.fields[index][1])
    return call.apply(partial(on_rows, partial(_part, result.arrow, index)), result)


def _map(call: CallSite) -> Typed:
    call.expect_count(1)
    given = call.arguments[0]
    if given.type.kind is not Kind.MAP:
        call.fail("a map")
    return given


def _part(kind: pa.DataType, index: int, maps: pa.Array) -> pa.Array:
    own = elements(maps)
    return own.arrays(kind, own.columns[index])


@function("map_entries")
def map_entries(call: CallSite) -> Typed:
    """The entries of a map as an array of rows of `key` and `value`."""
    given = _map(call)
    result = types.array(types.row((("key", given.type.key), ("value", given.type.value))))
    return call.apply(partial(on_rows, partial(_entries, result.arrow)), result)


def _entries(kind: pa.DataType, maps: pa.Array) -> pa.Array:
    own = elements(maps)
    return own.arrays(kind, pa.StructArray.from_arrays(own.columns, fields=list(kind.value_type)))


@function("map_union")
def map_union(call: CallSite) -> Typed:
    """The entries of all maps, of which the last with a key counts. NULL if one of the maps is NULL."""
    if not call.arguments or any(own.kind is not Kind.MAP for own in call.types):
        call.fail("maps")
    given = call.to_widest()
    result = given[0].type.nulls()
    return call.apply(partial(on_rows, partial(_union, result.arrow)), result, given)


def _union(kind: pa.DataType, *maps: pa.Array) -> pa.Array:
    own = concatenated([elements(one) for one in maps])
    return map_of_entries(kind, own.rows, own.nulls, *own.columns)


@function("map_from_arrays")
def map_from_arrays(call: CallSite) -> Typed:
    """A map of an array of keys and one of values. Fails if they differ in length; the last value of a key counts."""
    call.expect_count(2)
    keys, values = call.types
    if keys.kind is not Kind.ARRAY or values.kind is not Kind.ARRAY:
        call.fail("an array of keys and an array of values")
    result = types.map_of(keys.element, values.element)
    return call.apply(partial(on_rows, partial(_of_arrays, result.arrow)), result, can_fail=True)


def _of_arrays(kind: pa.DataType, keys: pa.Array, values: pa.Array) -> pa.Array:
    mine, theirs = elements(keys), elements(values)
    nulls = mine.nulls | theirs.nulls
    mine, theirs = (own.where_null(nulls) for own in (mine, theirs))
    wrong = np.flatnonzero(mine.lengths != theirs.lengths)
    if len(wrong):
        first = int(wrong[0])
        raise ValueError(
            f"map_from_arrays() takes arrays of the same length, not of {int(mine.lengths[first])} keys "
            f"and {int(theirs.lengths[first])} values"
        )
    return map_of_entries(kind, mine.rows, nulls, mine.values, theirs.values)
