"""Hash codes, key groups and names of rows: the compiled functions return what Python does."""

from __future__ import annotations

import gc
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate.dataflow.partition import RouteCache
from headgate.errors import InternalError
from headgate.state.keygroups import group_of_key, groups_of_keys, key_group
from headgate.state.rocksdb.row_keys import KeyGroups
from headgate.types.typed_key import key_hash_code, typed
from tests.compiled import compiled_module

BITS = [2**power + more for power in (7, 8, 15, 16, 23, 31, 32, 39, 47, 55, 62, 63, 64, 80) for more in (-1, 0, 1)]
TEXTS = ["", "a", "\0", "\x7f", "\x80", "ÿ", "\ud800", "\udc80\ud800", "日本 🎈", "x" * 300]
KEYS = st.one_of(
    st.sampled_from(
        [0, *BITS, *(-number for number in BITS), *TEXTS, *(text.encode("utf-8", "ignore") for text in TEXTS)]
    ),
    st.integers(),
    st.text(st.characters(exclude_categories=())),
    st.binary(),
    st.tuples(st.integers(), st.text()),
    st.sampled_from([None, True, 1.0, 2.5, [1], {"a": None}]).map(typed),
)


def test_integers_at_every_edge_have_the_key_groups_of_python() -> None:
    native = compiled_module()
    for key in (0, *BITS, *(-number for number in BITS)):
        group = native.key_group(key, 2**15)
        assert group in (None, key_group(key_hash_code(key), 2**15)), key
        assert (group is None) is not (-(2**63) <= key < 2**63), key


@given(KEYS, st.integers(1, 2**15))
def test_the_key_group_is_that_of_python(key: Any, max_parallelism: int) -> None:
    found = compiled_module().key_group(key, max_parallelism)
    if found is None:
        assert type(key) not in (str, bytes)
        assert type(key) is not int or not -(2**63) <= key < 2**63
    else:
        assert found == key_group(key_hash_code(key), max_parallelism)
    assert RouteCache(3, max_parallelism, compiled_module())[key] == RouteCache(3, max_parallelism)[key]


@given(
    KEYS | st.sampled_from([True, 1.0, None, (True, 2.5), [1], Decimal("1.0"), date(2024, 2, 29)]),
    st.integers(1, 2**15),
)
def test_all_keys_have_one_group_in_compiled_code_and_in_python(key: Any, max_parallelism: int) -> None:
    assert groups_of_keys(max_parallelism, compiled_module())(key) == group_of_key(key, max_parallelism)


@given(st.lists(KEYS), st.integers(1, 2**15))
@example([], 1)
def test_rows_of_cells_have_the_names_that_python_gives(keys: list[Any], max_parallelism: int) -> None:
    owned = range(max_parallelism)
    named = [KeyGroups(owned, max_parallelism, native).cell_rows(list(keys)) for native in (None, compiled_module())]
    assert named[0] == named[1]


@given(st.lists(KEYS), st.integers(0, 127), st.integers(0, 128))
def test_the_first_key_of_another_subtask_is_named(keys: list[Any], start: int, end: int) -> None:
    outcomes: list[Any] = []
    for native in (None, compiled_module()):
        try:
            outcomes.append(KeyGroups(range(start, end), 128, native).cell_rows(list(keys)))
        except InternalError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_a_finaliser_may_add_keys_while_names_are_made() -> None:
    """The names are of no use then; the process survives."""
    keys: list[Any] = ["first"]

    class Adds:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            keys.extend(range(10_000))

    Adds()
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        names, _ = compiled_module().row_names(keys, 128, 0, 128)
    finally:
        gc.set_threshold(*thresholds)
    assert names[0] is not None


def test_wrong_arguments_are_refused() -> None:
    native = compiled_module()
    for arguments in (
        ((1,), 128, 0, 128),
        ([1], 0, 0, 1),
        ([1], 2**15 + 1, 0, 1),
        ([1], 128, -1, 1),
        ([1], 128, 0, 40_000),
    ):
        with pytest.raises(TypeError, match="row_names"):
            native.row_names(*arguments)
    for max_parallelism in (0, -1, 2**15 + 1):
        with pytest.raises(ValueError, match=str(max_parallelism)):
            native.key_group(1, max_parallelism)
    for function in (native.row_names, native.key_group):
        with pytest.raises(TypeError, match="arguments"):
            function()
