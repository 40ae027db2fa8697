"""Functions that make texts of texts: case, trimming, padding, concatenation."""

from __future__ import annotations

from functools import cache, partial, reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.code_points import bytes_of, code_points, column_of_bytes, column_of_code_points
from headgate.columns.functions.registry import CallSite, function
from headgate.columns.functions.text_calls import checked, per_option, text_function
from headgate.columns.logical_types import (
    BINARY_STRING,
    BYTES,
    INT,
    INTEGERS,
    MAX_LENGTH,
    STRING,
    TEXTS,
    TINYINT,
    Kind,
    binary,
    text,
)
from headgate.columns.typed import Constant, Kernel, Typed, Values

_LONGER_UPPER: Final = r"[\x{DF}\x{149}\x{1F0}\x{390}\x{3B0}\x{587}\x{1E96}-\x{1E9A}\x{1F50}-\x{1FFC}\x{FB00}-\x{FB17}]"
"""Characters that have several in upper case."""
_OTHER_LOWER: Final = r"[\x{130}\x{3A3}]"
"""Characters that have several in lower case, or whose lower case depends on their place in the word."""


def _upper(value: Values) -> Values:
    if pc.all(pc.string_is_ascii(value)).as_py():
        return pc.ascii_upper(value)
    return _with_python(pc.utf8_upper(value), value, _LONGER_UPPER, str.upper)


def _lower(value: Values) -> Values:
    if pc.all(pc.string_is_ascii(value)).as_py():
        return pc.ascii_lower(value)
    return _with_python(pc.utf8_lower(value), value, _OTHER_LOWER, str.lower)


def _with_python(made: Values, value: Values, special: str, convert: Kernel) -> Values:
    """Return `made`, but what `convert` makes of texts with special characters, which Arrow converts one by one."""
    found = pc.match_substring_regex(value, pattern=special)
    if isinstance(value, pa.Scalar):
        return pa.scalar(convert(value.as_py())) if found.as_py() else made
    if not pc.any(found).as_py():
        return made
    return pc.replace_with_mask(
        made, pc.fill_null(found, False), pa.array(map(convert, value.filter(found).to_pylist()), made.type)
    )


def _initials(value: pa.Array) -> pa.Array:
    """Arrow's own function has other words: here a word is of ASCII letters and digits, as in Flink."""
    data, ends = bytes_of(value)
    lower = (data >= ord("a")) & (data <= ord("z"))
    upper = (data >= ord("A")) & (data <= ord("Z"))
    in_word = lower | upper | ((data >= ord("0")) & (data <= ord("9")))
    first = in_word.copy()
    first[1:] &= ~in_word[:-1]
    starts = ends[:-1][ends[:-1] < len(data)]
    first[starts] = in_word[starts]
    case = np.uint8(ord("a") - ord("A"))
    made = data + case * (upper & ~first).view(np.uint8) - case * (lower & first).view(np.uint8)
    return column_of_bytes(made, ends, value, pa.string())


@function("upper_case", "lower_case", "init_cap")
def change_case(call: CallSite) -> Typed:
    """The result has the type of the argument."""
    given = checked(call, ["text"])
    kernel = _CASES[call.function]
    return call.apply(kernel, given[0].type, given)


_CASES: Final[dict[str, Kernel]] = {
    "upper_case": _upper,
    "lower_case": _lower,
    "init_cap": partial(per_option, _initials, pa.string(), 1),
}


def _trim(value: pa.Array, characters: str = " ") -> pa.Array:
    return pc.utf8_trim(value, characters=characters) if characters else value


def _trim_leading(value: pa.Array, characters: str = " ") -> pa.Array:
    return pc.utf8_ltrim(value, characters=characters) if characters else value


def _trim_trailing(value: pa.Array, characters: str = " ") -> pa.Array:
    return pc.utf8_rtrim(value, characters=characters) if characters else value


text_function("trim", takes="text text", least=1, compute=_trim)
text_function("trim_leading", "ltrim", takes="text text", least=1, compute=_trim_leading)
text_function("trim_trailing", "rtrim", takes="text text", least=1, compute=_trim_trailing)
text_function("btrim", takes="text text", least=1, compute=_trim, result=STRING)


def _pad_left(value: pa.Array, length: int, pad: str) -> pa.Array:
    return _padded(value, length, pad, left=True)


def _pad_right(value: pa.Array, length: int, pad: str) -> pa.Array:
    return _padded(value, length, pad, left=False)


def _padded(value: pa.Array, length: int, pad: str, *, left: bool) -> pa.Array:
    if length < 0 or not pad:
        return pa.nulls(len(value), pa.string())
    value = pc.utf8_slice_codeunits(value, 0, length)
    if len(pad) == 1:
        return (pc.utf8_lpad if left else pc.utf8_rpad)(value, width=length, padding=pad)
    missing = pc.subtract(pa.scalar(length, pa.int32()), pc.utf8_length(value)).dictionary_encode()
    counts = missing.dictionary.to_pylist()
    padding = (pad * (max(counts, default=0) // len(pad) + 1))[: max(counts, default=0)]
    pads = pa.array([padding[:count] for count in counts], pa.string()).take(missing.indices)
    return pc.binary_join_element_wise(*((pads, value) if left else (value, pads)), "")


text_function("lpad", takes="text integer text", compute=_pad_left, result=STRING, nullable=True)
text_function("rpad", takes="text integer text", compute=_pad_right, result=STRING, nullable=True)


def _repeat(value: pa.Array, count: int) -> pa.Array:
    return pc.binary_repeat(value, max(count, 0))


def _replace(value: pa.Array, search: str, replacement: str) -> pa.Array:
    if not search:
        return pc.replace_substring_regex(value, pattern="", replacement=replacement.replace("\\", "\\\\"))
    return pc.replace_substring(value, pattern=search, replacement=replacement)


text_function("repeat", takes="text integer", compute=_repeat, result=STRING)
text_function("replace", takes="text text text", compute=_replace, result=STRING)
text_function("reverse", takes="text", compute=pc.utf8_reverse, result=STRING)


@function("char_length")
def char_length(call: CallSite) -> Typed:
    """In code points."""
    return call.apply(pc.utf8_length, INT, checked(call, ["text"]))


@function("concat", "concat_operator")
def concat(call: CallSite) -> Typed:
    """NULL if an argument is NULL. All arguments are texts, or all are bytes. The operator `||` keeps their length."""
    call.expect_count(1, len(call.arguments) or 1)
    family, kind = ("bytes", BINARY_STRING) if call.types[0].kind in BYTES else ("text", STRING)
    given = checked(call, [family] * len(call.arguments))
    if call.function == "concat_operator":
        fixed = all(own.type.kind in (Kind.CHAR, Kind.BINARY) for own in given)
        length = min(sum(own.type.precision for own in given), MAX_LENGTH)
        kind = (binary if family == "bytes" else text)(length, fixed=fixed)
    return call.apply(_concat, kind, given)


def _concat(*values: Values) -> Values:
    empty = b"" if pa.types.is_binary(values[0].type) else ""
    return pc.binary_join_element_wise(*values, pa.scalar(empty, values[0].type))


@function("concat_ws")
def concat_with_separator(call: CallSite) -> Typed:
    """NULL only if the separator is NULL: other arguments are left out where they are NULL."""
    call.expect_count(2, max(len(call.arguments), 2))
    given = checked(call, ["text"] * len(call.arguments))
    return call.apply(joined, STRING, given, nullable=given[0].type.nullable)


def joined(separator: Values, *values: Values) -> Values:
    """Return the values that are not NULL with a separator between them; NULL where the separator is NULL."""
    # Arrow leaves out rows without any value, so the first value is empty in these.
    first = pc.if_else(reduce(pc.and_, map(pc.is_null, values)), "", values[0])
    made = pc.binary_join_element_wise(first, *values[1:], pc.fill_null(separator, ""), null_handling="skip")
    return pc.if_else(pc.is_valid(separator), made, pa.scalar(None, pa.string()))


@function("elt")
def choose_by_index(call: CallSite) -> Typed:
    """The argument with the index, from 1. NULL if there is none."""
    call.expect_count(2, max(len(call.arguments), 2))
    index = call.expect(0, INTEGERS, "an integer, then texts or bytes")
    family = (*BYTES, Kind.NULL) if call.types[1].kind in BYTES else (*TEXTS, Kind.NULL)
    for at in range(1, len(call.arguments)):
        call.expect(at, family, "an integer, then texts, or bytes")
    given = call.to_widest(call.arguments[1:])
    return call.apply(_elt, given[0].type, (index, *given), nullable=True)


def _elt(index: Values, *values: Values) -> Values:
    count = len(values)
    valid = pc.and_(pc.greater_equal(index, 1), pc.less_equal(index, count))
    return pc.choose(pc.if_else(valid, pc.subtract(index, 1), pa.scalar(None, index.type)), *values)


@function("translate")
def translate(call: CallSite) -> Typed:
    """Characters become those at the same places of another text. NULL for these is an empty text."""
    given, *rest = checked(call, ["text", "text", "text"])
    options = [own if not own.type.nullable else _or_empty(call, own) for own in rest]
    return call.apply(partial(per_option, _translated, pa.string(), 1), STRING, (given, *options))


def _or_empty(call: CallSite, own: Typed) -> Typed:
    empty = Constant(pa.scalar("", pa.string()), text(1).nulls(nullable=False))
    return call.apply(pc.coalesce, STRING, (own, empty), options=("or empty",), nullable=False)


_GONE: Final = 0xFFFFFFFF


def _translated(value: pa.Array, source: str, target: str) -> pa.Array:
    becomes = {ord(mine): ord(target[at]) if at < len(target) else _GONE for at, mine in reversed([*enumerate(source)])}
    if not becomes:
        return value
    points, ends = code_points(value)
    keys = np.array(sorted(becomes), np.uint32)
    values = np.array([becomes[key] for key in keys.tolist()], np.uint32)
    at = np.minimum(np.searchsorted(keys, points), len(keys) - 1)
    made = np.where(keys[at] == points, values[at], points)
    stays = made != _GONE
    kept = np.concatenate([[0], np.cumsum(stays)])
    return column_of_code_points(made[stays], kept[ends], value)


@function("ascii")
def ascii_code(call: CallSite) -> Typed:
    """The first byte of the text, as a signed number, as in Flink; 0 for an empty text."""
    return call.apply(partial(per_option, _first_byte, pa.int8(), 1), TINYINT, checked(call, ["text"]))


def _first_byte(value: pa.Array) -> pa.Array:
    data, ends = bytes_of(value)
    has = ends[1:] > ends[:-1]
    made = np.zeros(len(value), np.int8)
    made[has] = data.view(np.int8)[ends[:-1][has]]
    return pa.array(made, mask=~value.is_valid().to_numpy(zero_copy_only=False))


@function("chr")
def character(call: CallSite) -> Typed:
    """The character of the lowest eight bits; an empty text for a negative number."""
    return call.apply(partial(per_option, _characters, pa.string(), 1), text(1, fixed=True), checked(call, ["integer"]))


@cache
def _latin() -> pa.Array:
    """Return the characters of the codes 0 to 255, then an empty text. Made once, as `pa.array` imports pandas."""
    return pa.array([*map(chr, range(256)), ""], pa.string())


def _characters(codes: pa.Array) -> pa.Array:
    lowest = pc.bit_wise_and(codes.cast(pa.int64()), 255)
    return _latin().take(pc.if_else(pc.less(codes, 0), 256, lowest))
