"""Broadcast state: reading and writing it, and the side that only reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.errors import StateAccessError
from headgate.state.descriptors import MapStateDescriptor
from headgate.state.operator.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from headgate.types.typeinfo import Types

State = BroadcastState[str, int]
View = ReadOnlyBroadcastState[str, int]


def filled() -> State:
    state = State(MapStateDescriptor("rules", Types.STRING(), Types.LONG()), {})
    state.put("a", 1)
    state.put_all({"b": 2})
    state["c"] = 3
    return state


@pytest.mark.parametrize("view", [lambda state: state, State.read_only])
def test_both_sides_read_the_entries_in_the_order_of_their_keys(view: Callable[[State], View]) -> None:
    state = view(filled())
    assert list(state.items()) == [("a", 1), ("b", 2), ("c", 3)]
    assert list(state.keys()) == list(state) == ["a", "b", "c"]
    assert list(state.values()) == [1, 2, 3]
    assert (state.get("a"), state["a"], state.get("x"), state.get("x", 7)) == (1, 1, None, 7)
    assert (state.contains("a"), "a" in state, state.contains("x"), "x" in state) == (True, True, False, False)
    assert (len(state), state.is_empty()) == (3, False)


def test_keys_are_removed_one_by_one_or_all() -> None:
    state = filled()
    state.remove("a")
    state.remove("x")
    del state["b"]
    assert list(state) == ["c"]
    state.clear()
    assert state.is_empty()


def test_a_missing_key_is_an_error_only_in_brackets() -> None:
    with pytest.raises(KeyError):
        filled()["x"]


def test_none_is_a_value() -> None:
    state: BroadcastState[str, None] = BroadcastState(MapStateDescriptor("rules", Types.STRING(), Types.LONG()), {})
    state.put("a", None)
    assert state.contains("a")


def test_the_read_only_side_shows_what_is_written_later() -> None:
    state = filled()
    view = state.read_only()
    state.put("d", 4)
    assert view.get("d") == 4


@pytest.mark.parametrize(
    "write",
    [
        lambda view: view.put("a", 2),
        lambda view: view.put_all({"a": 2}),
        lambda view: view.remove("a"),
        lambda view: view.clear(),
        lambda view: view.__setitem__("a", 2),
        lambda view: view.__delitem__("a"),
    ],
)
def test_the_read_only_side_refuses_to_write_and_says_where_to(write: Callable[[Any], None]) -> None:
    state = filled()
    with pytest.raises(StateAccessError, match=r"'rules' cannot be written here.*process_broadcast_element"):
        write(state.read_only())
    assert list(state.items()) == [("a", 1), ("b", 2), ("c", 3)]
