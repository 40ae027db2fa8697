"""The key groups of Arrow columns are those of the values as Python objects."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.state.key_columns import column_groups
from headgate.state.keygroups import key_group
from headgate.types.keys import hash_code
from tests.compiled import compiled_module

_integers = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
COLUMNS = st.one_of(
    *(
        st.tuples(st.just(getattr(pa, name)()), st.lists(st.none() | st.integers(least, most)))
        for name in sorted(_integers)
        for bits in [int(name.rpartition("int")[2])]
        for least, most in [(0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)]
    ),
    st.tuples(st.just(pa.bool_()), st.lists(st.none() | st.booleans())),
    *(st.tuples(st.just(kind), st.lists(st.none() | st.text())) for kind in (pa.string(), pa.large_string())),
    *(st.tuples(st.just(kind), st.lists(st.none() | st.binary())) for kind in (pa.binary(), pa.large_binary())),
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.floats())),
    st.tuples(st.just(pa.decimal128(9, 2)), st.lists(st.none() | st.integers(-99, 99).map(Decimal))),
    st.tuples(st.just(pa.date32()), st.lists(st.none() | st.dates(dt.date(1900, 1, 1)))),
    st.tuples(st.just(pa.null()), st.lists(st.none())),
)


@given(COLUMNS, st.integers(0, 3), st.integers(0, 3), st.integers(1, 2**15), st.booleans())
def test_key_groups_are_those_of_the_values(
    made: tuple[pa.DataType, list[Any]], skipped: int, cut: int, max_parallelism: int, is_encoded: bool
) -> None:
    kind, values = made
    column = pa.array(values, kind)
    if is_encoded and not pa.types.is_null(kind):
        column = column.dictionary_encode()
    pieces = pa.chunked_array([column[skipped:], column[skipped : len(column) - cut]], column.type)
    expected = [key_group(hash_code(value), max_parallelism) for value in pieces.to_pylist()]
    for native in (None, compiled_module()):
        found = column_groups(pieces, max_parallelism, native)
        assert (found.type, found.null_count, found.to_pylist()) == (pa.int32(), 0, expected)


class Named(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.string(), "headgate.tests.named")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_types_of_others_and_values_that_no_row_has_are_read_in_python() -> None:
    named = pa.ExtensionArray.from_storage(Named(), pa.array(["a"]))
    unused = pa.DictionaryArray.from_arrays(pa.array([1, None]), pa.array([float("nan"), 2.0]))
    for native in (None, compiled_module()):
        assert column_groups(named, 128, native).to_pylist() == [key_group(hash_code("a"), 128)]
        expected = [key_group(hash_code(value), 128) for value in (2, None)]
        assert column_groups(unused, 128, native).to_pylist() == expected


def test_buffers_that_do_not_fit_are_refused() -> None:
    groups = compiled_module().column_groups
    eight, offsets = bytes(8), (0).to_bytes(4, "little") + (5).to_bytes(4, "little")
    assert len(groups("i", 0, None, None, eight, 0, 1, 128)) == 4
    for wrong in (
        ("i", 0, None, None, eight, 0, 2, 128),
        ("i", 0, None, None, eight, 1, 1, 128),
        ("i", 0, b"", None, eight, 0, 1, 128),
        ("i", 0, None, None, None, 0, 1, 128),
        ("i", 0, None, None, eight, -1, 1, 128),
        ("i", 0, None, None, eight, 0, -1, 128),
        ("i", 0, None, None, eight, 2**62, 2**62, 128),
        ("i", 0, None, None, eight, 0, 1, 0),
        ("s", 3, None, offsets, b"abcde", 0, 1, 128),
        ("s", 4, None, offsets, b"abcde", 0, 2, 128),
        ("s", 4, None, None, b"abcde", 0, 1, 128),
        ("s", 4, None, offsets, b"abcd", 0, 1, 128),
        ("s", 4, None, offsets, None, 0, 1, 128),
        ("s", 4, None, offsets[4:] + offsets[:4], b"abcde", 0, 1, 128),
        ("s", 8, None, b"\xff" * 16, b"abcde", 0, 1, 128),
    ):
        with pytest.raises(ValueError, match="column"):
            groups(*wrong)
    with pytest.raises(TypeError):
        groups("i", 0, 5, None, eight, 0, 1, 128)
