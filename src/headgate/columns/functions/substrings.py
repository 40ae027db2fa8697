"""Functions that find, take, replace and split parts of texts. Positions begin at 1, and are in code points."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.code_points import bytes_of, characters_before
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.functions.text_calls import checked, per_option, text_function, varying
from headgate.columns.logical_types import BOOLEAN, BYTES, INT, STRING, array
from headgate.columns.typed import Constant, Typed


@function("substring", "substr")
def substring(call: CallSite) -> Typed:
    """NULL for a negative length."""
    given = checked(call, ["text", "integer", "integer"], least=2)
    kind = varying(given[0].type)
    may_be_negative = len(given) > 2 and not _is_positive(given[2])
    kernel = partial(per_option, _substring, pa.string(), 1)
    return call.apply(kernel, kind, given, nullable=True if may_be_negative else None)


def _is_positive(own: Typed) -> bool:
    return isinstance(own, Constant) and own.value.is_valid and own.value.as_py() >= 0


def _substring(value: pa.Array, start: int, length: int | None = None) -> pa.Array:
    if length is not None and length < 0:
        return pa.nulls(len(value), pa.string())
    if start >= 0:
        begin = max(start - 1, 0)
        return pc.utf8_slice_codeunits(value, begin, None if length is None else begin + length)
    stop = None if length is None or start + length >= 0 else start + length
    taken = pc.utf8_slice_codeunits(value, start, stop)
    return pc.if_else(pc.less(pc.utf8_length(value), -start), pa.scalar(""), taken)


def _left(value: pa.Array, length: int) -> pa.Array:
    return pc.utf8_slice_codeunits(value, 0, max(length, 0))


def _right(value: pa.Array, length: int) -> pa.Array:
    return pc.utf8_slice_codeunits(value, -length) if length > 0 else _left(value, 0)


text_function("left", takes="text integer", compute=_left)
text_function("right", takes="text integer", compute=_right)


@function("overlay")
def overlay(call: CallSite) -> Typed:
    """The text itself where the position is outside of it. Without a length, as many characters as are put in."""
    given = checked(call, ["text", "text", "integer", "integer"], least=3)
    if len(given) == 3:
        given.append(call.apply(pc.utf8_length, INT, given[1:2], options=("length",)))
    return call.apply(partial(per_option, _overlaid, pa.string(), 2), STRING, given)


def _overlaid(value: pa.Array, new: pa.Array, start: int, length: int) -> pa.Array:
    if start <= 0:
        return pc.if_else(new.is_valid(), value, None)
    head = pc.utf8_slice_codeunits(value, 0, start - 1)
    tail = pc.utf8_slice_codeunits(value, start - 1 + length) if length > 0 else pa.scalar("")  # as in Flink
    made = pc.binary_join_element_wise(head, new, tail, "")
    return pc.if_else(pc.less(pc.utf8_length(value), start), pc.if_else(new.is_valid(), value, None), made)


@function("position", "locate", "instr")
def position(call: CallSite) -> Typed:
    """0 if the text is not found. All but `instr` have the text that is sought first."""
    count = 3 if call.function == "locate" else 2
    given = checked(call, ["text", "text", "integer"][:count], least=2)
    if call.function != "instr":
        given[:2] = given[1], given[0]
    return call.apply(partial(per_option, _positions, pa.int32(), 1), INT, given)


def _positions(value: pa.Array, sought: str, start: int = 1) -> pa.Array:
    if not sought:
        return pc.if_else(value.is_valid(), pa.scalar(1, pa.int32()), None)
    skipped = max(start - 1, 0)
    rest = pc.utf8_slice_codeunits(value, skipped) if skipped else value
    return positions_of(rest, pc.find_substring(rest, pattern=sought), skipped)


def positions_of(value: pa.Array, found: pa.Array, skipped: int = 0) -> pa.Array:
    """Return the positions of bytes in texts: 0 for -1. `skipped` characters are before each text."""
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    places = pc.fill_null(found, -1).to_numpy()
    before = characters_before(value, np.maximum(places, 0))
    return pa.array(np.where(places < 0, 0, before + skipped + 1).astype(np.int32), mask=~valid)


@function("starts_with", "ends_with")
def starts_or_ends(call: CallSite) -> Typed:
    """Of texts or bytes. True for an empty part."""
    call.expect_count(2)
    family = "bytes" if call.types[0].kind in BYTES else "text"
    return call.apply(partial(per_option, _ENDS[call.function], pa.bool_(), 1), BOOLEAN, checked(call, [family] * 2))


def _starts_with(value: pa.Array, part: str | bytes) -> pa.Array:
    return pc.starts_with(value, pattern=part)


def _ends_with(value: pa.Array, part: str | bytes) -> pa.Array:
    return pc.ends_with(value, pattern=part)


_ENDS: Final = {"starts_with": _starts_with, "ends_with": _ends_with}


def _split(value: pa.Array, separator: str) -> pa.Array:
    """An empty text has no parts. An empty separator is between all characters."""
    parts = pc.split_pattern(value, pattern=separator) if separator else _characters(value)
    empty = pc.fill_null(pc.equal(value, ""), False)  # a value, no flag
    return pc.if_else(empty, pa.scalar([], parts.type), parts) if pc.any(empty).as_py() else parts


def _characters(value: pa.Array) -> pa.Array:
    data, ends = bytes_of(value)
    first = np.flatnonzero((data & 0xC0) != 0x80)
    starts = np.append(first, len(data)).astype(np.int32)
    characters = pa.Array.from_buffers(pa.string(), len(first), [None, pa.py_buffer(starts), pa.py_buffer(data)])
    places = pa.array(np.searchsorted(first, ends).astype(np.int32))
    made = pa.ListArray.from_arrays(places, characters)
    return pc.if_else(value.is_valid(), made, None) if value.null_count else made


def _split_index(value: pa.Array, separator: str, index: int) -> pa.Array:
    """The part with the index, from 0; NULL if there is none. An empty separator is a space, as in Flink."""
    parts = _split(value, separator or " ")
    if index < 0:
        return pa.nulls(len(value), pa.string())
    counts = pc.fill_null(pc.list_value_length(parts), 0).to_numpy()
    starts = parts.offsets.to_numpy()[:-1]
    return parts.values.take(pa.array(starts + index, mask=counts <= index))


text_function("split", takes="text text", compute=_split, result=array(STRING))
text_function("split_index", takes="text text integer", compute=_split_index, result=STRING, nullable=True)
