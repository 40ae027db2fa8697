"""Columns of arrays and maps as flat columns: their elements one after the other, and the row of each.

A function of arrays chooses and reorders elements by numpy's integers, and makes arrays of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.typed import Values
from headgate.columns.vectors import Integers

Flags = npt.NDArray[np.bool_]


def on_rows(compute: Callable[..., pa.Array], *columns: Values) -> Values:
    """Return what a function of whole columns makes of columns and scalars; a scalar if all of them are scalars."""
    rows = next((len(own) for own in columns if not isinstance(own, pa.Scalar)), None)
    found = compute(*[_array(own, 1 if rows is None else rows) for own in columns])
    return found[0] if rows is None else found


def _array(values: Values, rows: int) -> pa.Array:
    if isinstance(values, pa.Scalar):
        return pa.repeat(values, rows)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def entries_of(maps: pa.MapArray) -> pa.ListArray:
    """Return maps as lists of a struct of key and value."""
    kind = maps.type
    return maps.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowElements:
    """The elements of a column of arrays, or the entries of a column of maps, in order.

    `columns` are the elements, or the keys and the values. `rows` has the row of each, and `nulls` whether each row
    is NULL, which has no elements.
    """

    columns: tuple[pa.Array, ...]
    rows: Integers
    nulls: Flags

    @property
    def values(self) -> pa.Array:
        """The elements of arrays, or the keys of maps."""
        return self.columns[0]

    @property
    def lengths(self) -> Integers:
        """The number of elements of each row."""
        return np.bincount(self.rows, minlength=len(self.nulls)).astype(np.int64)

    @property
    def starts(self) -> Integers:
        """The index of the first element of each row."""
        lengths = self.lengths
        found: Integers = np.cumsum(lengths) - lengths
        return found

    @property
    def positions(self) -> Integers:
        """The position of each element in its row, from 0."""
        return np.arange(len(self.rows)) - self.starts[self.rows]

    def chosen(self, which: Integers | Flags) -> RowElements:
        """Return these elements only: `which` are indexes in the order of rows, or one flag for each element."""
        if which.dtype == np.bool_:
            which = np.flatnonzero(which)
        return RowElements(tuple(own.take(pa.array(which)) for own in self.columns), self.rows[which], self.nulls)

    def where_null(self, nulls: Flags) -> RowElements:
        """Return these elements without the elements of further rows that are NULL."""
        found = self.chosen(~nulls[self.rows])
        return RowElements(found.columns, found.rows, self.nulls | nulls)

    def arrays(self, kind: pa.DataType, values: pa.Array | None = None) -> pa.Array:
        """Return the column of arrays of this Arrow type, or of maps."""
        ends = np.cumsum(self.lengths)
        offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32), mask=np.concatenate([self.nulls, [False]]))
        columns = [values] if values is not None else self.columns
        if pa.types.is_map(kind):
            return pa.MapArray.from_arrays(offsets, *columns, type=kind)
        return pa.ListArray.from_arrays(offsets, *columns, type=kind)

    def first_of_rows(self, which: Integers | Flags) -> pa.Array:
        """Return, for each row, the index of the first of these elements, which are in the order of rows; or NULL."""
        index = np.flatnonzero(which) if which.dtype == np.bool_ else which
        rows, first = np.unique(self.rows[index], return_index=True)
        found = np.zeros(len(self.nulls), np.int64)
        found[rows] = index[first]
        missing = np.ones(len(self.nulls), np.bool_)
        missing[rows] = False
        return pa.array(found, mask=missing)


def elements(column: pa.Array) -> RowElements:
    """Return the elements of a column of arrays, or the entries of a column of maps."""
    nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
    offsets = column.offsets.to_numpy().astype(np.int64)
    lengths = np.where(nulls, 0, np.diff(offsets))
    rows = np.repeat(np.arange(len(column)), lengths)
    inner = (column.keys, column.items) if pa.types.is_map(column.type) else (column.values,)
    if lengths.sum() == offsets[-1] - offsets[0]:
        return RowElements(tuple(own.slice(offsets[0], len(rows)) for own in inner), rows, nulls)
    index = pa.array(np.arange(len(rows)) + (offsets[:-1] - np.cumsum(lengths) + lengths)[rows])
    return RowElements(tuple(own.take(index) for own in inner), rows, nulls)


def of_columns(columns: Sequence[pa.Array]) -> RowElements:
    """Return the elements of arrays that have one element of each column."""
    rows, count = len(columns[0]), len(columns)
    index = np.arange(rows * count).reshape(count, rows).T.ravel()
    return RowElements(
        (pa.concat_arrays(columns).take(pa.array(index)),), np.repeat(np.arange(rows), count), np.zeros(rows, np.bool_)
    )


def concatenated(parts: Sequence[RowElements]) -> RowElements:
    """Return the elements of all parts, row by row; a row is NULL if it is NULL in one of them."""
    nulls = np.logical_or.reduce([own.nulls for own in parts])
    rows = np.concatenate([own.rows for own in parts])
    order = np.argsort(rows, kind="stable")
    order = order[~nulls[rows[order]]]
    columns = [pa.concat_arrays(own).take(pa.array(order)) for own in zip(*[own.columns for own in parts], strict=True)]
    return RowElements(tuple(columns), rows[order], nulls)


def codes(*columns: pa.Array) -> list[Integers]:
    """Return integers, which are equal where values are: NULL equals NULL, NaN equals NaN, and 0.0 equals -0.0."""
    joined = pa.concat_arrays(columns)
    if pa.types.is_floating(joined.type):
        joined = pc.add(joined, pa.scalar(0.0, joined.type))  # makes 0.0 of -0.0
    elif pa.types.is_nested(joined.type):
        joined = pa.array([repr(value) for value in joined.to_pylist()], pa.string())
    if pa.types.is_null(joined.type):
        found = np.zeros(len(joined), np.int64)
    else:
        found = joined.dictionary_encode("encode").indices.to_numpy().astype(np.int64)
    return np.split(found, np.cumsum([len(own) for own in columns])[:-1])


def in_rows(rows: Integers, codes: Integers) -> Integers:
    """Return integers that are equal where both the row and the code are."""
    return rows * (int(codes.max(initial=0)) + 1) + codes


def firsts(rows: Integers, codes: Integers) -> Flags:
    """Return whether each element is the first one in its row with its code."""
    found = np.zeros(len(rows), np.bool_)
    found[np.unique(in_rows(rows, codes), return_index=True)[1]] = True
    return found


def sorted_order(values: pa.Array) -> Integers:
    """Return the rank of each value, in ascending order. The ranks of NULL mean nothing."""
    order: npt.NDArray[Any] = pc.array_sort_indices(values).to_numpy().astype(np.int64)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
