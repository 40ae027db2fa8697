"""Typed keys: which values are one key."""

from __future__ import annotations

import pickle
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import SerializationError
from headgate.types.keys import hash_code
from headgate.types.row import Row, make_row
from headgate.types.typed_key import TypedKey, all_typed, key_bytes, key_hash_code, typed, untyped

Point = namedtuple("Point", ["x", "y"])


class Level(IntEnum):
    LOW = 1


@dataclass
class Account:
    number: int
    owners: list[str]


SINGLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False),
    st.sampled_from([Decimal("1.0"), Decimal("1.00"), Decimal("0.5"), Level.LOW]),
    st.text(max_size=2),
    st.binary(max_size=2),
    st.dates(),
)
KEYS = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.tuples(inner, inner).map(lambda pair: Point(*pair)),
        st.lists(inner, max_size=2),
        st.dictionaries(st.text(max_size=1), inner, max_size=2),
        st.lists(inner, min_size=1, max_size=2).map(lambda values: Row(*values)),
    ),
    max_leaves=4,
)


def test_all_floats_that_are_no_number_are_one_key() -> None:
    one, other = float("nan"), -float("inf") + float("inf")
    assert typed(one) == typed(other) == pickle.loads(pickle.dumps(typed(one)))  # noqa: S301
    assert key_hash_code(one) == key_hash_code(typed(other))
    assert typed(one) != typed(1.0)


def test_a_whole_key_is_told_apart_by_its_type() -> None:
    keys = [1, True, 1.0, Decimal("1.0"), Decimal("1.00"), 0, 0.0, -0.0, None, (), [], {}, frozenset()]
    assert len(set(map(typed, keys))) == len(keys)
    assert len({key_hash_code(typed(key)) for key in keys[:5]}) == 1


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (1, Level.LOW),
        (1, np.int64(1)),
        (1.5, np.float64(1.5)),
        (True, np.bool_(True)),
        ((1, "a"), (True, "a")),
        ((1, (1,)), (1.0, [1][:0] or (True,))),
        (Point(1, 2), (1, 2)),
        ({1, 2}, frozenset({2, 1})),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
        (Account(1, ["ann"]), Account(1, ["ann"])),
        (Row(b=2, a=1), Row(a=1, b=2)),
    ],
    ids=str,
)
def test_these_are_one_key(one: Any, same: Any) -> None:
    assert typed(one) == typed(same)
    assert hash(typed(one)) == hash(typed(same))
    assert key_bytes(typed(one)) == key_bytes(typed(same))


@given(KEYS, KEYS)
def test_keys_are_one_exactly_when_their_bytes_are_and_then_have_one_hash(left: Any, right: Any) -> None:
    one, other = typed(left), typed(right)
    assert (one == other) == (key_bytes(one) == key_bytes(other))
    if one == other:
        assert hash(one) == hash(other)
        assert key_hash_code(one) == key_hash_code(other)


@given(KEYS)
def test_a_key_is_pickled_and_typed_again_without_a_change(key: Any) -> None:
    looked_up = typed(key)
    assert pickle.loads(pickle.dumps(looked_up)) == looked_up  # noqa: S301  # pickled just now
    assert typed(looked_up) is looked_up
    assert typed(untyped(looked_up)) == looked_up
    assert key_hash_code(looked_up) == hash_code(key)


@given(st.lists(KEYS, max_size=5))
def test_many_keys_are_typed_as_each_of_them(keys: list[Any]) -> None:
    assert all_typed(keys) == list(map(typed, keys))


def test_usual_keys_are_as_they_are() -> None:
    for keys in ([1, 2], ["a", 1, b"b"], [("a", 1), ("b", None)]):
        assert all_typed(keys) is keys


def test_a_key_shows_what_the_user_gave_and_keeps_a_copy_of_its_own() -> None:
    account, row = Account(1, ["ann"]), make_row(["a", [1]], ("name", "items"))
    keys = [typed(account), typed(row), typed((1, [account])), typed(Point(1, account))]
    account.owners.append("bob")
    row["items"].append(2)
    row["name"] = "b"
    assert [untyped(key) for key in keys] == [
        Account(1, ["ann"]),
        Row(name="a", items=[1]),
        (1, [Account(1, ["ann"])]),
        Point(1, Account(1, ["ann"])),
    ]
    untyped(keys[0]).owners.clear()
    assert repr(keys[0]) == repr(Account(1, ["ann"]))
    assert type(keys[0]) is TypedKey


def test_what_has_no_stable_bytes_is_refused() -> None:
    with pytest.raises(SerializationError, match="complex cannot be a key"):
        typed([1j])
