"""Codecs: whatever the declared type, a value comes back as it was."""

from __future__ import annotations

import math
import pickle
import struct
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.errors import SerializationError
from headgate.state.formats.codecs import Codec, codec_for, codec_for_columns, codec_for_items
from headgate.state.formats.schema import StateMeta
from headgate.types.row import Row, RowKind, make_row
from headgate.types.typeinfo import TypeInformation, Types
from tests.unit.state.types_and_values import TYPES, values

Point = namedtuple("Point", ["x", "y"])


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Metres(float):
    pass


class Name(str):
    __slots__ = ("mark",)


class Names(list[str]):
    pass


ROW = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
DECLARED = [
    Types.INT(),
    Types.BIG_INT(),
    Types.DOUBLE(),
    Types.STRING(),
    Types.BOOLEAN(),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.TUPLE([Types.LONG(), Types.STRING()]),
    Types.TUPLE([Types.LONG(), ROW]),
    Types.LIST(Types.LONG()),
    Types.MAP(Types.STRING(), Types.LONG()),
    ROW,
    Types.PICKLED_BYTE_ARRAY(),
    Types.SQL_DATE(),
]
ROWS = st.one_of(
    st.builds(lambda a, b: Row(a=a, b=b), st.integers(), st.text()),
    st.builds(lambda a, b: Row(b=b, other=a), st.integers(), st.text()),
    st.builds(lambda a, kind: Row.of_kind(kind, a), st.integers(), st.sampled_from(RowKind)),
    st.builds(lambda a, b: make_row((a, b), ("a", "b")), st.integers(), st.text()),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.binary(),
    st.binary().map(bytearray),
    st.decimals(allow_nan=False),
    st.dates(),
    st.sampled_from(
        [Colour.RED, Level.LOW, -0.0, 2**63, -(2**63), Metres(2.5), Name("n"), Point(1, 2.0), "\ud800", ""]
    ),
    ROWS,
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3).map(OrderedDict)
        | st.lists(st.text(), max_size=2).map(Names)
    ),
    max_leaves=6,
)


def form(value: Any) -> Any:
    """The value with everything about it that a user may see: exact classes, the bits of floats, kinds of rows."""
    kind = type(value)
    if kind is float:
        return kind, struct.pack("<d", value)
    if isinstance(value, Row):
        return kind, value._fields, value.get_row_kind(), form(value._values)
    if isinstance(value, (list, tuple)):
        return kind, [form(item) for item in value]
    if isinstance(value, dict):
        return kind, [(form(key), form(item)) for key, item in value.items()]
    return kind, repr(value), value


@given(st.sampled_from(DECLARED), ANYTHING)
@example(Types.DOUBLE(), math.nan)
@example(Types.DOUBLE(), True)
@example(Types.BOOLEAN(), 1)
@example(Types.BOOLEAN(), 1.0)
@example(Types.LONG(), Level.LOW)
@example(Types.LONG(), 2**63)
@example(Types.TUPLE([Types.LONG(), Types.STRING()]), Point(1, "x"))
@example(Types.TUPLE([Types.LONG(), ROW]), Point(1, Row(a=1, b="x")))
@example(Types.TUPLE([Types.LONG(), ROW]), [1, Row(a=1, b="x")])
@example(Types.TUPLE([Types.LONG(), ROW]), (1, [1, "x"]))
@example(Types.TUPLE([Types.LONG(), ROW]), (1, None))
def test_any_value_comes_back_as_it_was_whatever_the_declared_type(kind: TypeInformation, value: Any) -> None:
    codec = codec_for(kind)
    data = codec.encode(value)
    assert type(data) is bytes
    assert data
    assert form(codec.decode(data)) == form(value)


@given(st.data())
@pytest.mark.slow
def test_a_value_of_the_declared_type_comes_back_as_it_was(data: st.DataObject) -> None:
    kind = data.draw(TYPES)
    value = data.draw(values(kind))
    codec = codec_for(kind)
    assert form(codec.decode(codec.encode(value))) == form(value)


@given(st.lists(st.tuples(st.sampled_from(DECLARED), ANYTHING), min_size=1, max_size=4))
def test_columns_come_back_as_they_were(columns: list[tuple[TypeInformation, Any]]) -> None:
    codec = codec_for_columns([kind for kind, _ in columns])
    row = tuple(value for _, value in columns)
    assert form(codec.decode(codec.encode(row))) == form(row)


@pytest.mark.parametrize(
    ("kind", "value", "size"),
    [
        (Types.LONG(), 1, 9),
        (Types.DOUBLE(), 1.0, 9),
        (Types.STRING(), "hé", 4),
        (Types.BOOLEAN(), True, 1),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab", 3),
    ],
)
def test_scalars_are_small(kind: TypeInformation, value: Any, size: int) -> None:
    assert len(codec_for(kind).encode(value)) == size


def test_rows_are_stored_without_their_names() -> None:
    row = Row(a=1, b="x")
    assert len(codec_for(ROW).encode(row)) < len(pickle.dumps(row, 5)) / 2
    assert len(codec_for(Types.TUPLE([Types.LONG(), ROW])).encode((1, row))) < len(pickle.dumps((1, row), 5)) / 2


def test_single_columns_without_a_value_take_no_bytes() -> None:
    assert codec_for_columns([Types.LONG()]).encode((None,)) == b""


@pytest.mark.parametrize(
    ("kind", "type_info"),
    [
        ("value", Types.LONG()),
        ("list", Types.LIST(Types.LONG())),
        ("map", Types.MAP(Types.STRING(), Types.LONG())),
        ("reducing", Types.LONG()),
    ],
)
def test_items_of_each_kind_of_state_have_the_codec_of_their_own_type(kind: str, type_info: TypeInformation) -> None:
    codec = codec_for_items(StateMeta("s", kind, type_info))
    assert codec.encode(5) == codec_for(Types.LONG()).encode(5)
    expiring = codec_for_items(StateMeta("s", kind, type_info, ttl=True))
    assert expiring.decode(expiring.encode((1_000, 5))) == (1_000, 5)


@pytest.mark.parametrize("kind", [Types.LONG(), ROW, Types.PICKLED_BYTE_ARRAY(), Types.TUPLE([ROW])])
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: Row(a=1, b=value), lambda value: (value,)])
def test_what_cannot_be_pickled_is_named(kind: TypeInformation, wrap: Any) -> None:
    with pytest.raises(SerializationError, match=r"cannot be pickled: .*; keep plain data in state"):
        codec_for(kind).encode(wrap(lambda: None))


def test_the_given_loader_reads_everything_that_is_pickled() -> None:
    class Reader:
        """Counts what it reads."""

        def __init__(self) -> None:
            self.read = 0

        def __call__(self, data: bytes) -> Any:
            self.read += 1
            return pickle.loads(data)  # noqa: S301  # our own bytes

    pickles: list[tuple[TypeInformation, Any]] = [
        (Types.LONG(), Decimal(1)),
        (Types.DOUBLE(), "x"),
        (Types.STRING(), 1),
        (Types.BOOLEAN(), 0),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1]),
        (ROW, Row(a=1, b="x")),
        (ROW, Row(1, "x")),
        (ROW, 1),
        (Types.TUPLE([ROW]), (Row(a=1, b="x"),)),
        (Types.LIST(Types.LONG()), [1]),
    ]
    for kind, value in pickles:
        reader = Reader()
        codec: Codec = codec_for(kind, reader)
        assert codec.decode(codec.encode(value)) == value
        assert reader.read == 1
