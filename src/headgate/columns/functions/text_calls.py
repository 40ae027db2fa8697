"""How functions of texts check their arguments, and compute with options that Arrow takes as constants only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headgate.columns.functions.registry import CallSite, function
from headgate.columns.logical_types import (
    BINARY_STRING,
    BOOLEAN,
    BYTES,
    INT,
    INTEGERS,
    STRING,
    TEXTS,
    Kind,
    LogicalType,
    text,
)
from headgate.columns.typed import Typed, Values
from headgate.errors import InvalidExpressionError

_FAMILIES: Final[dict[str, tuple[Sequence[Kind], LogicalType]]] = {
    "text": (TEXTS, STRING),
    "bytes": (BYTES, BINARY_STRING),
    "integer": (INTEGERS, INT),
    "boolean": ((Kind.BOOLEAN,), BOOLEAN),
}


def checked(call: CallSite, takes: Sequence[str], least: int | None = None) -> list[Typed]:
    """Return the arguments of a call. NULL without a type gets the type that is taken.

    `takes` has "text", "bytes", "integer" or "boolean" for each argument; those after the first `least` may be left
    out. Raises `InvalidExpressionError` for other types and counts.
    """
    call.expect_count(len(takes) if least is None else least, len(takes))
    found = []
    for index, (own, family) in enumerate(zip(call.arguments, takes, strict=False)):
        kinds, null = _FAMILIES[family]
        if own.type.kind not in (*kinds, Kind.NULL):
            raise InvalidExpressionError(
                f"argument {index + 1} of {call.function}() is {_NAMES[family]}, not {own.type}: cast it"
            )
        found.append(call.converted(index, null) if own.type.kind is Kind.NULL else own)
    return found


_NAMES: Final = {"text": "a text", "bytes": "bytes", "integer": "an integer", "boolean": "a BOOLEAN"}


def varying(own: LogicalType) -> LogicalType:
    """Return VARCHAR for the CHAR of a text whose length a function changes."""
    return text(own.precision) if own.kind is Kind.CHAR else own


def per_option(compute: Callable[..., pa.Array], result: pa.DataType, columns: int, *given: Values) -> Values:
    """Return what `compute` returns for columns and options: NULL where an option is NULL.

    The first `columns` of the given values are passed as arrays, the options after them as Python values. `compute` is
    called once if the options are constants, otherwise once for each combination of options in the batch, with the
    rows that have it.

    >>> import pyarrow.compute as pc
    >>> per_option(lambda text, n: pc.utf8_slice_codeunits(text, 0, n), pa.string(), 1,
    ...            pa.array(["abc", "def", "ghi"]), pa.array([1, 2, None])).to_pylist()
    ['a', 'de', None]
    """
    rows = next((len(own) for own in given if not isinstance(own, pa.Scalar)), None)
    if rows is None:
        return per_option(compute, result, columns, pa.repeat(given[0], 1), *given[1:])[0]
    arrays = [pa.repeat(own, rows) if isinstance(own, pa.Scalar) else own for own in given[:columns]]
    options = given[columns:]
    if all(isinstance(own, pa.Scalar) for own in options):
        if not all(own.is_valid for own in options):
            return pa.nulls(rows, result)
        return _of_type(compute(*arrays, *(own.as_py() for own in options)), result)
    groups, order = _groups(rows, options)
    parts = []
    start = 0
    for values, count in groups:
        own = pa.array(order[start : start + count])
        start += count
        parts.append(
            pa.nulls(count, result)
            if None in values
            else _of_type(compute(*(array.take(own) for array in arrays), *values), result)
        )
    if not parts:
        return pa.nulls(0, result)
    back = np.empty(rows, np.int64)
    back[order] = np.arange(rows)
    return pa.concat_arrays(parts).take(pa.array(back))


def _of_type(values: Values, result: pa.DataType) -> pa.Array:
    return values if values.type == result else values.cast(result)


def _groups(rows: int, options: Sequence[Values]) -> tuple[list[tuple[tuple[Any, ...], int]], np.ndarray]:
    """Return each combination of options with its count, and the rows, grouped by combination."""
    codes = np.zeros(rows, np.int64)
    for own in options:
        if not isinstance(own, pa.Scalar):
            encoded = own.dictionary_encode(null_encoding="encode")
            codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.diff(np.append(starts, rows))
    firsts = order[starts].tolist()
    combinations = [
        tuple(own.as_py() if isinstance(own, pa.Scalar) else own[first].as_py() for own in options) for first in firsts
    ]
    return list(zip(combinations, counts.tolist(), strict=True)), order


def text_function(  # noqa: PLR0913  # the parts of a signature
    *names: str,
    takes: str,
    compute: Callable[..., pa.Array],
    result: LogicalType | None = None,
    least: int | None = None,
    nullable: bool | None = None,
    can_fail: bool = False,
    by_value: bool = False,
) -> None:
    """Register functions of a text and options, which `compute` gets as Python values. See `per_option`.

    Without a `result`, the result has the type of the text, of any length.
    """

    def rule(call: CallSite) -> Typed:
        given = checked(call, takes.split(), least)
        kind = varying(given[0].type) if result is None else result
        kernel = partial(per_option, compute, kind.arrow, 1)
        return call.apply(kernel, kind, given, nullable=nullable, can_fail=can_fail, by_value=by_value)

    function(*names)(rule)
