"""Keys as bytes: equal keys have equal bytes, and the key that was given first comes back as it was."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections import namedtuple
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.errors import SerializationError
from headgate.state.formats.key_codec import decode_key, decode_map_key, encode_key, encode_map_key, original
from headgate.types.keys import canonical_bytes
from headgate.types.row import Row
from headgate.types.typed_key import key_bytes, typed, untyped

Point = namedtuple("Point", ["x", "y"])


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    A = "a"


class Metres(float):
    pass


PLAIN = st.recursive(
    st.one_of(
        st.integers(),
        st.text(st.characters(exclude_categories=())),
        st.binary(),
        st.floats(allow_nan=False).filter(lambda number: not number.is_integer()),
    ),
    lambda inner: st.lists(st.none() | inner, max_size=3).map(tuple),
    max_leaves=5,
)
OTHER = st.one_of(
    st.booleans(),
    st.floats(allow_nan=False).filter(lambda number: number.is_integer()),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20),
    st.dates(),
    st.datetimes(),
    st.uuids(),
    st.sampled_from([Colour.RED, Level.LOW, Word.A, -0.0, Metres(2.5), Point(1, True), Row(a=1, b=(True,))]),
)
KEYS = PLAIN | OTHER | st.lists(PLAIN | OTHER, max_size=3).map(tuple)


def form(key: Any) -> Any:
    return type(key), repr(key), [form(item) for item in key] if isinstance(key, (tuple, Row)) else key


@given(KEYS)
@example(True)
@example(1.0)
@example((1, (1.0, True), None))
@example(())
@example(float("inf"))
@example("\ud800")
def test_a_key_comes_back_as_it_was(key: Any) -> None:
    assert form(decode_map_key(encode_map_key(key), original(key))) == form(key)
    looked_up = typed(key)
    assert form(untyped(decode_key(encode_key(looked_up), original(looked_up)))) == form(key)


@given(KEYS)
def test_the_bytes_of_keys_of_maps_are_the_canonical_ones(key: Any) -> None:
    assert encode_map_key(key) == canonical_bytes(key)
    assert encode_key(typed(key)) == key_bytes(typed(key))


@given(PLAIN)
def test_usual_keys_are_not_stored_twice(key: Any) -> None:
    assert original(key) is None


@given(OTHER)
def test_the_class_of_other_keys_is_stored_beside_them(key: Any) -> None:
    assert original(key) is not None
    assert original((1, key)) is not None


def test_equal_numbers_are_one_key_of_a_map_and_each_comes_back_with_its_class() -> None:
    forms = [1, 1.0, True, Decimal(1), Level.LOW]
    assert {encode_map_key(key) for key in forms} == {b"i\x01"}
    back = [decode_map_key(encode_map_key(key), original(key)) for key in forms]
    assert [type(key) for key in back] == [int, float, bool, Decimal, Level]


def test_equal_numbers_of_other_types_are_other_keys() -> None:
    forms = [1, 1.0, True, Decimal("1.0"), Decimal("1.00"), None]
    assert len({encode_key(typed(key)) for key in forms}) == len(forms)
    assert all(original(typed(key)) is None for key in forms)


def test_a_map_may_have_none_as_a_key() -> None:
    assert decode_map_key(encode_map_key(None), original(None)) is None


@pytest.mark.parametrize("key", [1j, float("nan"), object()])
def test_what_cannot_be_a_key_is_refused(key: Any) -> None:
    for encode in (encode_key, encode_map_key):
        with pytest.raises(SerializationError, match=r"; make it|; replace it"):
            encode(key)


def test_bytes_are_the_same_in_another_process() -> None:
    program = "\n".join(
        [
            "import datetime, decimal, uuid",
            "from headgate.state.formats.key_codec import encode_key, original",
            "from headgate.types.row import Row",
            "keys = [1, 1.0, True, -0.0, 2.5, decimal.Decimal('1.10'), 2**70, 'h\\xe9', b'x', ('a', (1, None)),",
            "        Row(a=1, b=True), datetime.date(2024, 2, 29), uuid.UUID(int=7)]",
            "print([(encode_key(key), original(key)) for key in keys])",
        ]
    )
    keys = [1, 1.0, True, -0.0, 2.5, Decimal("1.10"), 2**70, "h\xe9", b"x", ("a", (1, None))]
    keys += [Row(a=1, b=True), dt.date(2024, 2, 29), UUID(int=7)]
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == str([(encode_key(key), original(key)) for key in keys])


def test_not_a_number_comes_back_as_the_same_key() -> None:
    key = typed(float("nan"))
    assert original(key) is None
    assert decode_key(encode_key(key), None) == key
