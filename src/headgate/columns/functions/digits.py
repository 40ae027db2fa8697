"""Numbers and texts as binary or hexadecimal digits, and random values, all by numpy on the bytes of a column."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.functions.numbers import as_integers
from headgate.columns.functions.registry import CallSite, for_each, function
from headgate.columns.logical_types import BIGINT, BINARY_STRING, DOUBLE, INT, INTEGERS, STRING, TEXTS, Kind, text
from headgate.columns.typed import Apply, Typed, Values

Bytes = npt.NDArray[np.uint8]

_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)


@function("bin")
def binary_digits(call: CallSite) -> Typed:
    """The binary digits of an integer; all 64 of a negative one."""
    call.expect_count(1)
    as_integers(call, 0)
    return call.apply(partial(_digits, _bits), STRING, [call.converted(0, BIGINT)])


@function("hex")
def hexadecimal_digits(call: CallSite) -> Typed:
    """The hexadecimal digits of an integer, all 16 of a negative one; of a text, two for each byte of its UTF-8."""
    call.expect_count(1)
    own = call.expect(0, (*INTEGERS, *TEXTS), "an integer or a text").type
    if own.is_text:
        return call.apply(_hex_of_texts, STRING)
    return call.apply(partial(_digits, _nibbles), STRING, [call.converted(0, BIGINT)])


def _bits(bytes_: Bytes) -> Bytes:
    return np.unpackbits(bytes_, axis=1) + np.uint8(ord("0"))


def _nibbles(bytes_: Bytes) -> Bytes:
    made = np.empty((len(bytes_), 2 * bytes_.shape[1]), np.uint8)
    made[:, ::2] = _HEX[bytes_ >> 4]
    made[:, 1::2] = _HEX[bytes_ & 15]
    return made


def _digits(digits: Any, values: Values) -> Values:
    if isinstance(values, pa.Scalar):
        return _digits(digits, pa.array([values.as_py()], values.type))[0]
    numbers = pc.fill_null(values, 0).to_numpy().astype(">i8")
    made = _texts(digits(numbers.view(np.uint8).reshape(-1, 8)))
    short = pc.utf8_ltrim(made, characters="0")
    return pc.if_else(pc.is_valid(values), pc.if_else(pc.equal(short, ""), "0", short), pa.scalar(None, pa.string()))


def _texts(characters: Bytes) -> pa.Array:
    """Return a text of each row of ASCII characters."""
    rows, length = characters.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(length)
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(characters.tobytes())])


def _hex_of_texts(values: Values) -> Values:
    if isinstance(values, pa.Scalar):
        return _hex_of_texts(pa.array([values.as_py()], pa.string()))[0]
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    data = values.buffers()[2]
    used = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data is not None else np.empty(0, np.uint8)
    made = _nibbles(used.reshape(-1, 1)).tobytes()
    own = ((offsets - offsets[0]) * 2).astype(np.int32)
    texts = pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(own), pa.py_buffer(made)])
    return pc.if_else(pc.is_valid(values), texts, pa.scalar(None, pa.string())) if values.null_count else texts


@function("unhex")
def bytes_of_digits(call: CallSite) -> Typed:
    """The bytes that hexadecimal digits stand for; NULL for other characters. Of an odd number, the first becomes 0."""
    call.expect_count(1)
    call.expect(0, TEXTS, "a text")
    given = [call.converted(0, STRING)]
    return call.apply(partial(for_each, _unhex, pa.binary()), BINARY_STRING, given, by_value=True, nullable=True)


_HEX_CHARACTERS: Final = frozenset("0123456789abcdefABCDEF")


def _unhex(digits: str) -> bytes | None:
    if not _HEX_CHARACTERS.issuperset(digits):
        return None
    return b"\0" + bytes.fromhex(digits[1:]) if len(digits) % 2 else bytes.fromhex(digits)


@function("rand", "rand_integer")
def random_number(call: CallSite) -> Typed:
    """A DOUBLE of at least 0 and below 1, or an INT of at least 0 and below the first argument; another for each row.

    With a seed, which is a constant and the last argument, each run makes the same numbers.
    """
    integers = call.function == "rand_integer"
    call.expect_count(integers, integers + 1)
    for index in range(len(call.arguments)):
        call.expect(index, (Kind.TINYINT, Kind.SMALLINT, Kind.INT), "INTs")
    seed = call.constant(integers, int, "a seed") if len(call.arguments) > integers else None
    numbers = None if seed is None else np.random.default_rng(seed % 2**32)
    given = (call.converted(0, INT),) if integers else ()
    nullable = any(own.type.nullable for own in given)
    return Apply(
        function=call.function,
        arguments=given,
        type=(INT if integers else DOUBLE).nulls(nullable),
        kernel=partial(_integers if integers else _doubles, numbers),
        can_fail=integers,
        deterministic=False,
    )


def _doubles(numbers: np.random.Generator | None, rows: int) -> Values:
    return pa.array((numbers or np.random.default_rng()).random(rows))


def _integers(numbers: np.random.Generator | None, rows: int, bound: Values) -> Values:
    bounds = pa.repeat(bound, rows) if isinstance(bound, pa.Scalar) else bound
    least = pc.min(bounds).as_py()
    if least is not None and least < 1:
        raise ValueError(f"rand_integer() takes a bound of at least 1, not {least}")
    made = (numbers or np.random.default_rng()).integers(0, pc.fill_null(bounds, 1).to_numpy(), dtype=np.int32)
    return pa.array(made, mask=pc.is_null(bounds).to_numpy(zero_copy_only=False))


_DASHES: Final = (8, 13, 18, 23)


@function("uuid")
def uuid(call: CallSite) -> Typed:
    """A random UUID of version 4, another for each row."""
    call.expect_count(0)
    own = text(36, fixed=True).nulls(nullable=False)
    return Apply(function="uuid", arguments=(), type=own, kernel=_uuids, deterministic=False)


def _uuids(rows: int) -> Values:
    made = np.frombuffer(bytearray(os.urandom(16 * rows)), np.uint8).reshape(rows, 16)
    made[:, 6] = made[:, 6] & 0x0F | 0x40
    made[:, 8] = made[:, 8] & 0x3F | 0x80
    characters = np.empty((rows, 36), np.uint8)
    characters[:, _DASHES] = ord("-")
    characters[:, [at for at in range(36) if at not in _DASHES]] = _nibbles(made)
    return pc.utf8_lower(_texts(characters))
