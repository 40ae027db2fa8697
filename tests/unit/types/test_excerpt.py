"""Excerpts of values: as `repr`, but never longer than asked for, and never at the cost of a large value."""

from __future__ import annotations

import datetime as dt
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.types.excerpt import excerpt
from headgate.types.row import Row


@dataclass
class Order:
    id: int
    items: list[int]
    secret: str = field(default="x", repr=False)


@dataclass
class Own:
    id: int

    def __repr__(self) -> str:
        return "mine"


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no")


plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.frozensets(st.integers(), max_size=3)
        | st.sets(st.integers(), max_size=3)
        | st.builds(lambda value: Row(a=value), inner)
        | st.builds(lambda value: Row(value, 1), inner)
        | st.builds(Order, st.integers(), st.lists(st.integers()))
        | st.builds(deque, st.lists(inner, max_size=2))
    ),
    max_leaves=12,
)


@given(plain, st.integers(2, 200))
def test_it_is_the_beginning_of_repr(value: Any, characters: int) -> None:
    whole, found = repr(value), excerpt(value, characters)
    assert found == whole if len(whole) <= characters else len(found) == characters
    if "'" not in whole and '"' not in whole:  # a text that is cut may get other quotes
        assert whole.startswith(found.rstrip("…"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Own(1), "mine"),
        (Broken(), "<Broken, whose repr() raises ValueError>"),
        ([Broken()], "[<Broken, whose repr() raises ValueError>]"),
        (dt.date(2024, 2, 29), "datetime.date(2024, 2, 29)"),
        (Order(1, [2]), "Order(id=1, items=[2])"),
        ((1,), "(1,)"),
        (set(), "set()"),
    ],
)
def test_classes_of_ones_own_are_shown_as_they_want(value: Any, text: str) -> None:
    assert excerpt(value, 100) == text


def test_large_values_cost_no_more_than_their_excerpt() -> None:
    inner = [list(range(1000))] * 1000
    value = {"a": [inner] * 1000, "b": Row(x="y" * 10**7), "c": b"z" * 10**7}
    began = time.process_time()
    for _ in range(100):
        excerpt(value, 500)
    assert time.process_time() - began < 1


def test_what_contains_itself_comes_to_an_end() -> None:
    value: list[Any] = []
    value.append(value)
    assert excerpt(value, 500).startswith("[[[")
