"""The rules of ValueState that user code relies on."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.errors import StateAccessError
from tests.unit.state.backends import at, backend_of, get, put, value_state


def test_a_key_without_a_value_reads_as_none() -> None:
    backend = backend_of()
    assert get(backend, value_state(backend), "nobody") is None


@pytest.mark.parametrize("value", [0, 0.0, "", b"", False, [], {}, ()])
def test_a_false_value_is_a_value(value: Any) -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", value)
    assert get(backend, state, "k") == value
    assert len(backend) == 1


def test_none_clears_and_the_key_is_gone() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", 1)
    put(backend, state, "k", None)
    assert get(backend, state, "k") is None
    assert len(backend) == 0


def test_clear_touches_only_the_current_key() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "a", 1)
    put(backend, state, "b", 2)
    with at(backend, "a"):
        state.clear()
    assert (get(backend, state, "a"), get(backend, state, "b")) == (None, 2)


def test_clearing_one_state_leaves_the_other_of_the_same_key() -> None:
    backend = backend_of()
    one, other = value_state(backend, "one"), value_state(backend, "other")
    put(backend, one, "k", 1)
    put(backend, other, "k", 2)
    with at(backend, "k"):
        one.clear()
    assert (get(backend, one, "k"), get(backend, other, "k")) == (None, 2)


def test_a_value_set_again_after_clear_in_the_same_batch_stays() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", 1)
    with at(backend, "k"):
        state.clear()
        state.update(2)
    assert get(backend, state, "k") == 2


def test_a_key_cleared_twice_and_made_again_in_one_batch_is_one_key() -> None:
    backend = backend_of()
    state = value_state(backend)
    with at(backend, "k"):
        state.clear()
        state.clear()
        state.update(3)
    assert get(backend, state, "k") == 3
    assert len(backend) == 1


def test_reading_many_missing_keys_keeps_none_of_them() -> None:
    backend = backend_of()
    state = value_state(backend)
    with at(backend, *range(500)):
        assert state.value() is None
    assert len(backend) == 0


@pytest.mark.parametrize("use", ["value", "update", "update with None", "clear"])
def test_without_a_current_key_every_use_says_where_state_may_be_used(use: str) -> None:
    backend = backend_of()
    state = value_state(backend)
    calls = {
        "value": state.value,
        "update": lambda: state.update(1),
        "update with None": lambda: state.update(None),
        "clear": state.clear,
    }
    with pytest.raises(StateAccessError, match=r"only while a record is processed, .*not in open\(\)"):
        calls[use]()
    assert backend.emptied == []


def test_after_a_batch_there_is_no_current_key_any_more() -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, "k", 1)
    with pytest.raises(StateAccessError):
        state.value()


@pytest.mark.parametrize(("one", "same"), [(1, 1.0), (1, True), ((1, "a"), (1.0, "a")), (0.0, -0.0)])
def test_keys_that_are_equal_share_their_state(one: Any, same: Any) -> None:
    backend = backend_of()
    state = value_state(backend)
    put(backend, state, one, "here")
    assert get(backend, state, same) == "here"
    assert len(backend) == 1
