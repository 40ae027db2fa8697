"""Arrays, maps and rows: made of values, and taken apart."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns import logical_types as types
from headgate.columns.casting import coerced
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.lists import Flags, RowElements, codes, elements, firsts, of_columns, on_rows
from headgate.columns.logical_types import BIGINT, INT, INTEGERS, Kind, LogicalType
from headgate.columns.schema import nearest
from headgate.columns.typed import Constant, Typed
from headgate.columns.vectors import Integers
from headgate.errors import InvalidExpressionError


@function("array")
def array(call: CallSite) -> Typed:
    """An array of the arguments, in their common type."""
    if not call.arguments:
        call.fail("at least one element")
    given = call.to_widest()
    element = given[0].type.nulls(any(own.type.nullable for own in given))
    result = types.array(element)
    return call.apply(partial(on_rows, partial(_array, result.arrow)), result, given, nullable=False)


def _array(kind: pa.DataType, *columns: pa.Array) -> pa.Array:
    return of_columns(columns).arrays(kind)


@function("map")
def make_map(call: CallSite) -> Typed:
    """A map of keys and values, which follow each other. The last value of a key counts."""
    if not call.arguments or len(call.arguments) % 2:
        call.fail("keys and values, which follow each other")
    keys, values = call.to_widest(call.arguments[::2]), call.to_widest(call.arguments[1::2])
    key, value = (own[0].type.nulls(any(one.type.nullable for one in own)) for own in (keys, values))
    result = types.map_of(key, value)
    kernel = partial(on_rows, partial(_map, result.arrow))
    return call.apply(kernel, result, [*keys, *values], nullable=False, can_fail=key.nullable)


def _map(kind: pa.DataType, *columns: pa.Array) -> pa.Array:
    half = len(columns) // 2
    keys, values = of_columns(columns[:half]), of_columns(columns[half:])
    return map_of_entries(kind, keys.rows, keys.nulls, keys.values, values.values)


def map_of_entries(kind: pa.DataType, rows: Integers, nulls: Flags, keys: pa.Array, values: pa.Array) -> pa.Array:
    """Return maps of entries, of which the last with a key counts. Raises ValueError if a key is NULL."""
    if keys.null_count:
        raise ValueError("a key of a MAP is NULL: filter such rows, or replace the key with if_null()")
    own = RowElements((keys, values), rows, nulls)
    last = firsts(rows[::-1], codes(keys)[0][::-1])[::-1]
    return (own if last.all() else own.chosen(last)).arrays(kind)


@function("row")
def row(call: CallSite) -> Typed:
    """A row of the arguments, whose fields are named f0, f1 and so on."""
    if not call.arguments:
        call.fail("at least one field")
    result = types.row((f"f{index}", own) for index, own in enumerate(call.types))
    return call.apply(partial(on_rows, partial(_row, result.arrow)), result, nullable=False)


def _row(kind: pa.DataType, *columns: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(columns, fields=list(kind))


@function("get")
def get(call: CallSite) -> Typed:
    """The field of a row, by its name or its index from 0. NULL if the row is NULL."""
    call.expect_count(2)
    given = call.arguments[0]
    if given.type.kind is not Kind.ROW:
        call.fail("a ROW, and the name or index of a field")
    index = _index_of_field(call, given.type)
    own = given.type.fields[index][1]
    nullable = own.nullable or given.type.nullable
    kernel = partial(pc.struct_field, indices=[index])
    return call.apply(kernel, own, [given], options=(index,), nullable=nullable)


@function("flatten")
def flatten(call: CallSite) -> Typed:
    """All fields of a row, each a column of its own. `select` replaces it by `get`."""
    call.expect_count(1)
    raise InvalidExpressionError("flatten makes several columns: give it to select() alone, or take a field with get()")


def _index_of_field(call: CallSite, own: LogicalType) -> int:
    names = [name for name, _ in own.fields]
    wanted = call.constant(1, (int, str), "the name or the index of a field")  # type: ignore[arg-type]
    if isinstance(wanted, str):
        if wanted in names:
            return names.index(wanted)
        raise InvalidExpressionError(f"there is no field {wanted!r} in the row{nearest(wanted, names)}")
    if 0 <= wanted < len(names):
        return int(wanted)
    raise InvalidExpressionError(f"a row of {len(names)} fields has no field with the index {wanted}")


@function("at")
def at(call: CallSite) -> Typed:
    """The element of an array at an index from 1, or the value of a key of a map; NULL if there is none."""
    call.expect_count(2)
    given, index = call.arguments
    if given.type.kind is Kind.MAP:
        key = coerced(index, given.type.key.nulls(index.type.nullable))
        if key is None:
            call.fail("a map and a key of its type")
        return call.apply(partial(on_rows, _value_of_key), given.type.value, [given, key], nullable=True)
    if given.type.kind is not Kind.ARRAY or index.type.kind not in (*INTEGERS, Kind.NULL):
        call.fail("an array and an integer, or a map and a key")
    if isinstance(index, Constant) and index.value.is_valid and index.value.as_py() < 1:
        raise InvalidExpressionError(f"the index of an element starts at 1, but is {index.value.as_py()}")
    kernel = partial(on_rows, _element_at)
    return call.apply(kernel, given.type.element, [given, call.converted(1, BIGINT)], nullable=True)


def _element_at(arrays: pa.Array, index: pa.Array) -> pa.Array:
    own = elements(arrays)
    valid = pc.is_valid(index).to_numpy(zero_copy_only=False)
    wanted = pc.fill_null(index, 0).to_numpy()
    missing = ~(valid & (wanted >= 1) & (wanted <= own.lengths))
    return own.values.take(pa.array(np.where(missing, 0, own.starts + wanted - 1), mask=missing))


def _value_of_key(maps: pa.Array, key: pa.Array) -> pa.Array:
    own = elements(maps)
    keys, wanted = codes(own.values, key)
    found = own.first_of_rows(keys == wanted[own.rows])
    return own.columns[1].take(pc.if_else(pc.is_valid(key), found, None))


@function("cardinality")
def cardinality(call: CallSite) -> Typed:
    """The number of elements of an array, or of entries of a map."""
    call.expect_count(1)
    call.expect(0, (Kind.ARRAY, Kind.MAP), "an array or a map")
    return call.apply(partial(on_rows, _lengths), INT)


def _lengths(column: pa.Array) -> pa.Array:
    own = elements(column)
    return pa.array(own.lengths.astype(np.int32), mask=own.nulls)


@function("element")
def element(call: CallSite) -> Typed:
    """The only element of an array; NULL if the array is empty. Fails for an array of several elements."""
    call.expect_count(1)
    given = call.arguments[0]
    if given.type.kind is not Kind.ARRAY:
        call.fail("an array")
    return call.apply(partial(on_rows, _only_element), given.type.element, nullable=True, can_fail=True)


def _only_element(arrays: pa.Array) -> pa.Array:
    own = elements(arrays)
    longest = int(own.lengths.max(initial=0))
    if longest > 1:
        raise ValueError(f"element() takes an array of one element, but one has {longest}: use at(1)")
    return own.values.take(own.first_of_rows(np.arange(len(own.rows))))
