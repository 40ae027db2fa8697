"""Functions of encodings of texts and bytes, and their digests."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from headgate.columns.code_points import bytes_of, column_of_bytes
from headgate.columns.functions.registry import CallSite, for_each, function
from headgate.columns.functions.text_calls import checked, per_option, text_function
from headgate.columns.logical_types import BINARY_STRING, BYTES, STRING, text
from headgate.columns.typed import Constant, Typed
from headgate.errors import InvalidExpressionError

_CHARSETS: Final = {
    "US-ASCII": "ascii",
    "ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16": "utf-16",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
}


def _charset(name: str) -> str:
    found = _CHARSETS.get(name.upper())
    if found is None:
        raise InvalidExpressionError(f"there is no character set {name!r}: give one of {', '.join(_CHARSETS)}")
    return found


@function("encode", "decode")
def encode_or_decode(call: CallSite) -> Typed:
    """What the character set does not have is `?` in bytes, and U+FFFD in texts."""
    encodes = call.function == "encode"
    given = checked(call, ["text" if encodes else "bytes", "text"])
    name = given[1].value.as_py() if isinstance(given[1], Constant) else None
    by_value = name is None or _charset(name) != "utf-8"
    result = BINARY_STRING if encodes else STRING
    kernel = partial(per_option, _encoded if encodes else decoded, result.arrow, 1)
    return call.apply(kernel, result, given, can_fail=name is None, by_value=by_value)


def _encoded(value: pa.Array, name: str) -> pa.Array:
    charset = _charset(name)
    if charset == "utf-8":
        return value.cast(pa.binary())
    if charset == "utf-16":  # Java begins with the mark of the order of bytes, highest first
        return for_each(lambda own: b"\xfe\xff" + own.encode("utf-16-be"), pa.binary(), value)
    return for_each(lambda own: own.encode(charset, "replace"), pa.binary(), value)


def decoded(value: pa.Array, name: str) -> pa.Array:
    """Return bytes in a character set as texts."""
    charset = _charset(name)
    if charset == "utf-8":
        try:
            return value.cast(pa.string())
        except pa.ArrowInvalid:
            pass
    if charset == "utf-16":
        return for_each(_decoded_utf_16, pa.string(), value)
    return for_each(lambda own: own.decode(charset, "replace"), pa.string(), value)


def _decoded_utf_16(value: bytes) -> str:
    marked = value[:2] in (b"\xfe\xff", b"\xff\xfe")
    return value.decode("utf-16" if marked else "utf-16-be", "replace")


_DIGITS: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)


def _to_base64(value: pa.Array) -> pa.Array:
    """Three bytes become four digits; texts are filled with zeros, whose digits then become `=`."""
    data, ends = bytes_of(value)
    counts = np.diff(ends)
    groups = np.concatenate([[0], np.cumsum((counts + 2) // 3)])
    filled = np.zeros(groups[-1] * 3, np.uint8)
    filled[np.arange(len(data)) + np.repeat(groups[:-1] * 3 - ends[:-1], counts)] = data
    one, two, three = filled.reshape(-1, 3).T
    digits = np.stack([one >> 2, (one & 3) << 4 | two >> 4, (two & 15) << 2 | three >> 6, three & 63], axis=1)
    made = _DIGITS[digits].reshape(-1)
    made[groups[1:][counts % 3 > 0] * 4 - 1] = ord("=")
    made[groups[1:][counts % 3 == 1] * 4 - 2] = ord("=")
    return column_of_bytes(made, groups * 4, value, pa.string())


@function("to_base64")
def to_base64(call: CallSite) -> Typed:
    """Of texts or bytes."""
    call.expect_count(1)
    family = "bytes" if call.types[0].kind in BYTES else "text"
    return call.apply(partial(per_option, _to_base64, pa.string(), 1), STRING, checked(call, [family]))


_VALUE: Final = np.full(256, 64, np.uint8)
_VALUE[_DIGITS] = np.arange(64)


def _from_base64(value: pa.Array) -> pa.Array:
    """The digits of each text are filled with zeros to groups of four, which become three bytes."""
    data, ends = bytes_of(value)
    lengths = np.diff(ends)
    padded = np.concatenate([np.zeros(2, np.uint8), data])
    last, before = padded[ends[1:] + 1], padded[ends[1:]]
    is_filled = (lengths % 4 == 0) & (lengths > 0) & (last == ord("="))
    counts = lengths - is_filled - (is_filled & (before == ord("=")))
    is_digit = np.arange(len(data)) - np.repeat(ends[:-1], lengths) < np.repeat(counts, lengths)
    digits = _VALUE[data[is_digit]]
    wrong = counts % 4 == 1
    wrong[np.repeat(np.arange(len(value)), counts)[digits > 63]] = True
    if wrong.any():
        raise ValueError(f"{value[int(np.argmax(wrong))].as_py()!r} is no base64")
    groups = np.concatenate([[0], np.cumsum((counts + 3) // 4)])
    quads = np.zeros(groups[-1] * 4, np.uint8)
    quads[np.arange(len(digits)) + np.repeat(groups[:-1] * 4 - np.cumsum(counts) + counts, counts)] = digits
    one, two, three, four = quads.reshape(-1, 4).T
    made = np.stack([one << 2 | two >> 4, two << 4 | three >> 2, three << 6 | four], axis=1).reshape(-1)
    sizes, filled_sizes = counts * 3 // 4, np.diff(groups) * 3
    stays = np.arange(len(made)) - np.repeat(groups[:-1] * 3, filled_sizes) < np.repeat(sizes, filled_sizes)
    return decoded(column_of_bytes(made[stays], np.concatenate([[0], np.cumsum(sizes)]), value, pa.binary()), "UTF-8")


text_function("from_base64", takes="text", compute=_from_base64, result=STRING, can_fail=True)


def _digest(algorithm: str, value: str) -> str:
    return hashlib.new(algorithm, value.encode(), usedforsecurity=False).hexdigest()


for _algorithm, _bits in {"md5": 128, "sha1": 160, "sha224": 224, "sha256": 256, "sha384": 384, "sha512": 512}.items():
    text_function(
        _algorithm,
        takes="text",
        compute=partial(for_each, partial(_digest, _algorithm), pa.string()),
        result=text(_bits // 4, fixed=True),
        by_value=True,
    )


@function("sha2")
def sha2(call: CallSite) -> Typed:
    """With 224, 256, 384 or 512 bits."""
    given = checked(call, ["text", "integer"])
    bits = given[1].value.as_py() if isinstance(given[1], Constant) else None
    if bits is not None:
        _sha2_name(bits)
    kernel = partial(per_option, _sha2, pa.string(), 1)
    return call.apply(kernel, text(128), given, can_fail=bits is None, by_value=True)


def _sha2_name(bits: int) -> str:
    if bits not in (224, 256, 384, 512):
        raise InvalidExpressionError(f"sha2() has 224, 256, 384 or 512 bits, not {bits}")
    return f"sha{bits}"


def _sha2(value: pa.Array, bits: int) -> pa.Array:
    return for_each(partial(_digest, _sha2_name(bits)), pa.string(), value)
