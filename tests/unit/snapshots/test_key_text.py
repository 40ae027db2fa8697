"""Keys as people type them: every way to write a key finds it, and tells where it is."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.snapshots.key_text import KeyText, is_plain
from headgate.state.keygroups import key_group
from headgate.types.keys import hash_code
from headgate.types.row import Row

GROUPS = 128


@dataclass(frozen=True)
class Place:
    x: int


simple = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys: st.SearchStrategy[Any] = simple | st.recursive(
    simple, lambda inner: st.tuples(inner) | st.tuples(inner, inner), max_leaves=4
)


@given(keys)
def test_a_plain_key_is_found_by_its_str_and_its_repr_in_its_key_group(key: Any) -> None:
    for text in (str(key), repr(key)):
        assert KeyText(text).stands_for(key)
        if is_plain(key):
            assert key_group(hash_code(key), GROUPS) in KeyText(text).key_groups(GROUPS)


@given(keys, keys)
def test_a_text_stands_for_no_other_key_that_is_written_in_another_way(one: Any, other: Any) -> None:
    if {str(one), repr(one)}.isdisjoint({str(other), repr(other)}):
        assert not KeyText(repr(one)).stands_for(other)


@pytest.mark.parametrize(
    "key",
    [
        dt.date(2024, 2, 29),
        dt.datetime(2024, 2, 29, 12),
        Decimal("1.50"),
        UUID(int=7),
        Row(name="ann", id=1),
        Row("ann", 1),
        Place(3),
        ["a", 1],
    ],
)
def test_other_keys_are_found_by_their_str_and_their_repr(key: Any) -> None:
    assert KeyText(str(key)).stands_for(key)
    assert KeyText(repr(key)).stands_for(key)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('["ann", 1]', ("ann", 1)),
        ('["ann", [1, 2]]', ("ann", (1, 2))),
        ('{"name": "ann", "id": 1}', Row(name="ann", id=1)),
        ('["ann", 1]', Row("ann", 1)),
        ('{"a": [1]}', {"a": [1]}),
    ],
)
def test_compound_keys_are_found_by_their_json(text: str, key: Any) -> None:
    assert KeyText(text).stands_for(key)
    assert KeyText(json.dumps(json.loads(text), indent=1)).stands_for(key)
    if isinstance(key, tuple):
        assert key_group(hash_code(key), GROUPS) in KeyText(text).key_groups(GROUPS)


@pytest.mark.parametrize(
    ("text", "key"), [("1", "01"), ("1", 1.0), ("1", True), ("true", True), ("[1]", 1), ('"a"', "a"), ("a", ("a",))]
)
def test_what_is_written_otherwise_is_another_key(text: str, key: Any) -> None:
    assert not KeyText(text).stands_for(key)


@pytest.mark.parametrize("text", ["(" * 5000, "[" * 5000, "1" * 5000, "9e9999", "\ud800", "", "\0"])
def test_no_text_is_an_error(text: str) -> None:
    assert not KeyText(text).stands_for("a")
    assert len(KeyText(text).key_groups(GROUPS)) > 0 or text == "\ud800"
